"""The certificates and tokens that a kubeconfig names, as they are in it or in the files next to it. Programs are not run."""

import base64
import binascii
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from reconciler.cli.inputs.connections import IN_CLUSTER, ConnectionChoice
from reconciler.control.credential_ends import Credentials
from reconciler.kube.connection.connection_choice import Choice, ConnectionConfigError, choose, kubeconfig_content
from reconciler.values.credential_end import LARGEST_BYTES


def kubeconfig_credentials(given: ConnectionChoice, environment: Mapping[str, str]) -> tuple[Credentials, ...]:
    """Those of the workload cluster, and of the management cluster where it is another one. A kubeconfig that cannot be used is
    left out: connecting says why."""
    asked = [(given.kubeconfig, given.context)]
    if given.management_kubeconfig is not None or given.management_context is not None:
        asked.append((given.management_kubeconfig or given.kubeconfig, given.management_context))
    return tuple(dict.fromkeys(found for file, context in asked for found in _found(file, context, environment)))


def _found(file: str | None, context: str | None, environment: Mapping[str, str]) -> Iterator[Credentials]:
    if file == IN_CLUSTER:
        return
    try:
        choice = choose(file, context, environment)
        if choice.files:
            yield _credentials(choice)
    except ConnectionConfigError:
        return


class _Entry:
    """The keys of a cluster or a user, and the directory that their paths are relative to."""

    def __init__(self, values: Mapping[str, object], directory: Path) -> None:
        self._values = values
        self._directory = directory

    def text(self, key: str) -> str:
        """Empty for any other value."""
        value = self._values.get(key)
        return value if isinstance(value, str) else ""

    def data(self, key: str) -> bytes:
        """What is embedded or linked under a key. Raises `ValueError` with why it cannot be read."""
        if embedded := self.text(f"{key}-data"):
            try:
                return base64.b64decode("".join(embedded.split()), validate=True)
            except (binascii.Error, ValueError):
                raise ValueError(f"{key}-data is not base64") from None
        named = self.text(key)
        if not named:
            return b""
        try:
            with (self._directory / Path(named).expanduser()).open("rb") as stream:
                return stream.read(LARGEST_BYTES + 1)
        except (OSError, ValueError, RuntimeError) as error:
            raise ValueError(f"{key}: {getattr(error, 'strerror', None) or 'no such file'}") from None


def _credentials(choice: Choice) -> Credentials:
    """Raises `ConnectionConfigError`."""
    entries: dict[tuple[str, str], _Entry] = {}
    for path in (Path(part) for part in choice.files.split(os.pathsep)):
        content = kubeconfig_content(path)
        for kind in ("context", "cluster", "user"):
            listed = content.get(f"{kind}s")
            for item in listed if isinstance(listed, list) else ():
                values = item.get(kind) if isinstance(item, dict) else None
                if isinstance(values, dict):
                    # Of several files, the first one that sets a value wins.
                    entries.setdefault((kind, str(item.get("name", ""))), _Entry(values, path.parent))
    nothing = _Entry({}, Path())
    context = entries.get(("context", choice.context), nothing)
    cluster = entries.get(("cluster", context.text("cluster")), nothing)
    user = entries.get(("user", context.text("user")), nothing)
    problems: list[str] = []
    certificate, authority = (
        _read(entry, key, problems) for entry, key in ((user, "client-certificate"), (cluster, "certificate-authority"))
    )
    # Whoever renews a token replaces it in its file.
    token = "" if user.text("tokenFile") else user.text("token")
    return Credentials(
        where=f"kubeconfig {choice.files}, context {choice.context}", certificate=certificate, authority=authority, token=token,
        problems=tuple(problems),
    )  # fmt: skip


def _read(entry: _Entry, key: str, problems: list[str]) -> bytes:
    try:
        return entry.data(key)
    except ValueError as error:
        problems.append(str(error))
        return b""
