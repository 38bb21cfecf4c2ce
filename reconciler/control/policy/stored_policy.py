"""The last good policy on the API server, in the object that also stores the loop's memory."""

import threading
from contextlib import suppress
from typing import Protocol

from reconciler.gitops.sources.last_good import LastGood, LastGoodError, LastGoodStore, decode_last_good, encode_last_good
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.kube.leading.state import StateObject, StateUnavailableError

PART = "policy"


class Parts(Protocol):
    """Bytes under names, as a state object keeps them."""

    def load(self, part: str) -> bytes | None:
        """As it was last saved, None when it never was. Raises `StateUnavailableError`."""

    def save(self, part: str, content: bytes) -> bool:
        """Replace it; false when it was that already. Raises `StateUnavailableError`."""


class LockedState:
    """One state object for two threads: the loop's memory and the policy that is followed. Reads and writes of the two take
    turns, since both go to one ConfigMap under the version that was read last. `saves` counts what was written."""

    def __init__(self, state: StateObject) -> None:
        self._state = state
        self._lock = threading.Lock()
        self.saves = 0

    def load(self, part: str) -> bytes | None:
        """As `StateObject.load`."""
        with self._lock:
            return self._state.load(part)

    def save(self, part: str, content: bytes) -> bool:
        """As `StateObject.save`."""
        with self._lock:
            saved = self._state.save(part, content)
            self.saves += saved
            return saved


class StateLastGoodStore:
    """A `LastGoodStore` over the state object, or what keeps parts as it does."""

    def __init__(self, state: Parts) -> None:
        self._state = state

    def load(self) -> LastGood | None:
        """What was last saved; None at the first start. Raises `LastGoodError`."""
        try:
            content = self._state.load(PART)
        except StateUnavailableError as error:
            raise LastGoodError(str(error), damaged=error.damaged) from None
        return None if content is None else decode_last_good(content)

    def save(self, last_good: LastGood) -> None:
        """Replace it. Raises `LastGoodError`."""
        try:
            self._state.save(PART, encode_last_good(last_good))
        except (StateUnavailableError, NotLeaderError) as error:
            raise LastGoodError(str(error)) from None


class FileBesideState:
    """A `LastGoodStore` of two. A file that somebody named counts. `status` reads the state object, and a process without the
    file begins with it."""

    def __init__(self, file: LastGoodStore, state: LastGoodStore) -> None:
        self._file = file
        self._state = state

    def load(self) -> LastGood | None:
        """What the file has, else the state. Raises `LastGoodError`."""
        return self._file.load() or self._state.load()

    def save(self, last_good: LastGood) -> None:
        """Into both; the state as far as it can be written now. Raises `LastGoodError` for the file."""
        self._file.save(last_good)
        with suppress(LastGoodError):
            self._state.save(last_good)
