"""Where the loop's memory is stored between two decisions."""

from typing import Protocol

import msgspec

from reconciler.decisions.memory import Memory
from reconciler.values.decoding import decode


class StoreUnavailableError(Exception):
    """The memory cannot be read or written now; the message says why."""


class MemoryStore(Protocol):
    """Keeps one Memory. A write is complete when `save` returns: what depends on it may be done then."""

    def load(self) -> Memory:
        """The memory last saved; an empty one at the first start. Raises `StoreUnavailableError`."""

    def save(self, memory: Memory) -> None:
        """Replace it. Raises `StoreUnavailableError`."""


class InMemoryStore:
    """A store that keeps the encoded bytes, so that only what survives a restart is carried on."""

    def __init__(self) -> None:
        self._bytes = b""
        self.writes = 0

    def load(self) -> Memory:
        """Decode what was saved."""
        return decode(self._bytes, Memory) if self._bytes else Memory()

    def save(self, memory: Memory) -> None:
        """Encode; equal memories are not written again."""
        encoded = msgspec.json.encode(memory, order="sorted")
        if encoded != self._bytes:
            self._bytes = encoded
            self.writes += 1
