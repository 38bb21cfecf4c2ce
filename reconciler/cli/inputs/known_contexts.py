"""Contexts of kubeconfig files, for completion alone: what cannot be read has none."""

import os
from pathlib import Path
from typing import Any

import msgspec
import yaml


class _Context(msgspec.Struct):
    name: str = ""


class _Kubeconfig(msgspec.Struct):
    contexts: list[_Context] = msgspec.field(default_factory=list)


def known_contexts(kubeconfig: str | Path | None) -> list[str]:
    """The names, sorted: of one file, else of those in KUBECONFIG, else of `~/.kube/config`."""
    listed = os.environ.get("KUBECONFIG", "") or str(Path.home() / ".kube" / "config")
    files = [str(kubeconfig)] if kubeconfig else listed.split(os.pathsep)
    return sorted({context.name for file in files if file for context in _read(Path(file)).contexts if context.name})


def _read(file: Path) -> _Kubeconfig:
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return msgspec.convert(yaml.load(file.read_bytes(), loader), _Kubeconfig)  # noqa: S506 - a safe loader
    except (OSError, ValueError, yaml.YAMLError):
        return _Kubeconfig()
