"""The digest of a snapshot, over the names and contents of its documents."""

import hashlib
from collections.abc import Iterator, Mapping


class Digested(Mapping[str, bytes]):
    """The documents of a snapshot; each is digested when it is read, so that nothing has to be read twice."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._digests: dict[str, str] = {}

    def __getitem__(self, name: str) -> bytes:
        content = self._files[name]
        self._digests[name] = hashlib.sha256(content).hexdigest()
        return content

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def digest(self) -> str:
        """`sha256:…`, the same however the documents are packed or stored; those that nobody read yet are read."""
        for name in self._files:
            if name not in self._digests:
                self[name]
        listing = "".join(f"{self._digests[name]}  {name!r}\n" for name in sorted(self._files))
        return f"sha256:{hashlib.sha256(listing.encode('utf-8', 'surrogateescape')).hexdigest()}"
