"""The digest of a snapshot, over the names and contents of its documents."""

import hashlib
from collections.abc import Callable, Iterator, Mapping

from reconciler.cluster.snapshots.apart import Apart

_LARGE_BYTES = 64 << 20
"""To digest so much takes 40 ms, several times as long as another process needs to start."""


class Digested(Mapping[str, bytes]):
    """The documents of a snapshot; each is digested when it is read, so that nothing has to be read twice. `apart` digests large
    ones meanwhile."""

    def __init__(self, files: Mapping[str, bytes], apart: Apart | None = None) -> None:
        self._files = files
        self._apart = apart
        self._digests: dict[str, str] = {}
        self._awaited: dict[str, Callable[[], str | None]] = {}

    def __getitem__(self, name: str) -> bytes:
        content = self._files[name]
        if self._apart is not None and len(content) >= _LARGE_BYTES:
            self._awaited[name] = self._apart(lambda: _hexdigest(content))
        else:
            self._digests[name] = _hexdigest(content)
        return content

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def digest(self) -> str:
        """`sha256:…`, the same however the documents are packed or stored; those that nobody read yet are read."""
        for name, awaited in self._awaited.items():
            self._digests[name] = awaited() or _hexdigest(self._files[name])
        self._awaited.clear()
        for name in self._files:
            if name not in self._digests:
                self._digests[name] = _hexdigest(self._files[name])
        listing = "".join(f"{self._digests[name]}  {name!r}\n" for name in sorted(self._files))
        return f"sha256:{hashlib.sha256(listing.encode('utf-8', 'surrogateescape')).hexdigest()}"


def _hexdigest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
