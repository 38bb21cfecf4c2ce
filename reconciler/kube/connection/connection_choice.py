"""Which cluster is used, and with which identity: kubeconfig files, their contexts, or the pod's service account."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from reconciler.values.yaml_events import LOADER

_DEFAULT_FILE = "~/.kube/config"
_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"


class ConnectionConfigError(Exception):
    """No usable configuration. The message states what was tried and what to do. It never has a credential."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """`files` as one path list (empty: the pod's service account) and the context in it; `server` and `user` for messages.

    `runs_program` says that the user's credentials come from a program. `secret` is the namespace and name of the Secret that
    holds the kubeconfig instead of files.
    """

    files: str = ""
    secret: str = ""
    context: str = ""
    server: str = ""
    user: str = ""
    runs_program: bool = False


def choose(kubeconfig: str | None, context: str | None, environment: Mapping[str, str]) -> Choice:
    """What `--kubeconfig` and `--context` mean in this environment.

    In this order: the file that is named, the files in KUBECONFIG, `~/.kube/config` if it is there, the pod's service
    account. If several files are listed, the first one that sets a value wins, as in kubectl. Raises
    `ConnectionConfigError`.
    """
    listed = kubeconfig or environment.get("KUBECONFIG", "")
    if not listed:
        default = Path(_DEFAULT_FILE).expanduser()
        if default.is_file():
            listed = str(default)
        elif environment.get(_IN_CLUSTER) and context is None:
            return Choice(server="in-cluster")
        else:
            raise ConnectionConfigError(
                f"no cluster configured: --kubeconfig and KUBECONFIG are not set, {_DEFAULT_FILE} does not exist, "
                "and this process is not in a pod with a service account"
            )
    return _in_files([part for part in listed.split(os.pathsep) if part], context)


def _in_files(paths: list[str], context: str | None) -> Choice:
    existing = [path for path in (Path(part).expanduser() for part in paths) if path.is_file()]
    if not existing:
        raise ConnectionConfigError(f"kubeconfig {', '.join(paths)}: no such file")
    contexts: dict[str, Any] = {}
    clusters: dict[str, Any] = {}
    users: dict[str, Any] = {}
    current = ""
    for path in existing:
        content = kubeconfig_content(path)
        current = current or str(content.get("current-context") or "")
        for kept, key in ((contexts, "contexts"), (clusters, "clusters"), (users, "users")):
            for entry in content.get(key) or ():
                if isinstance(entry, dict):
                    kept.setdefault(str(entry.get("name", "")), entry.get(key[:-1]) or {})
    files = os.pathsep.join(str(path) for path in existing)
    names = ", ".join(sorted(contexts)) or "none"
    name = context or current
    if not name:
        raise ConnectionConfigError(f"kubeconfig {files}: no current-context is set. Choose one of: {names}")
    if name not in contexts:
        raise ConnectionConfigError(f'kubeconfig {files}: unknown context "{name}". Choose one of: {names}')
    cluster, user = str(contexts[name].get("cluster", "")), str(contexts[name].get("user", ""))
    if not clusters.get(cluster, {}).get("server"):
        raise ConnectionConfigError(f'kubeconfig {files}: context "{name}" names cluster "{cluster}", which has no server')
    if user and user not in users:
        raise ConnectionConfigError(f'kubeconfig {files}: context "{name}" names user "{user}", which does not exist')
    runs = "exec" in users.get(user, {})
    return Choice(files=files, context=name, server=str(clusters[cluster]["server"]), user=user, runs_program=runs)


def kubeconfig_content(path: Path) -> dict[str, Any]:
    """A kubeconfig file as it is written. Raises `ConnectionConfigError`.

    It belongs to the user and names programs to run. The parser's own safe loader reads it, without bounds of ours.
    """
    try:
        content = yaml.load(path.read_bytes(), LOADER)  # noqa: S506 - a safe loader
    except OSError as error:
        raise ConnectionConfigError(f"kubeconfig {path}: cannot read it: {error.strerror}") from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        # The text of the error quotes the line, and the line may have a token.
        raise ConnectionConfigError(f"kubeconfig {path}{where}: invalid YAML") from None
    if not isinstance(content, dict):
        raise ConnectionConfigError(f"kubeconfig {path}: invalid kubeconfig")
    return content
