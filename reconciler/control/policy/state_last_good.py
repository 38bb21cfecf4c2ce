"""The last good policy on the API server, in the same state object as the memory of the loop."""

import threading
from typing import Protocol

from reconciler.gitops.sources.last_good import LastGood, LastGoodError, decode_last_good, encode_last_good
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
    turns, since both go to one ConfigMap under the version that was read last."""

    def __init__(self, state: StateObject) -> None:
        self._state = state
        self._lock = threading.Lock()

    def load(self, part: str) -> bytes | None:
        """As `StateObject.load`."""
        with self._lock:
            return self._state.load(part)

    def save(self, part: str, content: bytes) -> bool:
        """As `StateObject.save`."""
        with self._lock:
            return self._state.save(part, content)


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
