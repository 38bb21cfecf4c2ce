"""Contexts of kubeconfig files, for shell completion. A file that cannot be read has none."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


def known_contexts(kubeconfig: str | Path | None) -> list[str]:
    """The names, sorted: of one file, else of those in KUBECONFIG, else of `~/.kube/config`."""
    listed = os.environ.get("KUBECONFIG", "") or str(Path.home() / ".kube" / "config")
    files = [str(kubeconfig)] if kubeconfig else listed.split(os.pathsep)
    return sorted({name for file in files if file for name in _contexts(Path(file))})


def _contexts(file: Path) -> list[str]:
    from reconciler.kube.connection.connection_choice import ConnectionConfigError, kubeconfig_content

    try:
        contexts = kubeconfig_content(file).get("contexts")
    except ConnectionConfigError:
        return []
    entries = contexts if isinstance(contexts, list) else []
    return [str(entry["name"]) for entry in entries if isinstance(entry, dict) and entry.get("name")]
