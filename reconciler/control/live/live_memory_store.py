"""The loop's memory on the API server."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from reconciler.control.turn.memory_store import StoreUnavailableError
from reconciler.decisions.memory import MEMORY_VERSION, Memory
from reconciler.kube.connection.api import Api
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.kube.leading.state import StateObject, StateUnavailableError
from reconciler.values.decoding import decode

PART = "memory"


class State(Protocol):
    """Parts of a state object, by name."""

    def load(self, part: str) -> bytes | None:
        """The part as last saved. Raises `StateUnavailableError`."""

    def save(self, part: str, content: bytes) -> bool:
        """Replace it. Raises `StateUnavailableError`."""


class LiveMemoryStore:
    """A `MemoryStore` over a `StateObject`. `problem` says what was wrong with a memory that had to be begun afresh.

    If a memory cannot be read, one iteration does nothing and reports it. The next begins with an empty memory. Acting at once
    would hide the loss; waiting for ever would stop a loop for what only delays it. An empty memory starts every timer again: the
    loop removes and retries later than it would have, never earlier than a policy allows. A memory that a later version wrote is
    never thrown away: the loop waits for that version, or for a person.
    """

    def __init__(self, state: State, term: Callable[[], int] = lambda: 0) -> None:
        """In one `term` of leading (0: none) nobody else writes the state, so that it is read once."""
        self._state = state
        self._term = term
        self._known: tuple[int, bytes] = 0, b""
        self._reported = False
        self.problem = ""

    def load(self) -> Memory:
        """The memory last saved. Raises `StoreUnavailableError`."""
        term = self._term()
        if term and self._known[0] == term:
            return decode(self._known[1], Memory)
        try:
            content = self._state.load(PART)
            memory = self._decoded(content) if content is not None else Memory()
            self._known = term if content is not None else 0, content or b""
            return memory
        except StateUnavailableError as error:
            if error.damaged and self._reported:
                return Memory()
            self._reported = error.damaged
            self.problem = str(error) if error.damaged else ""
            afresh = ". The next turn begins with an empty memory" if error.damaged else ""
            raise StoreUnavailableError(f"{error}{afresh}") from error

    def save(self, memory: Memory) -> None:
        """Replace it; equal memories are not written again. Raises `StoreUnavailableError`."""
        content, term, self._known = msgspec.json.encode(memory, order="sorted"), self._term(), (0, b"")
        try:
            self._state.save(PART, content)
        except (StateUnavailableError, NotLeaderError) as error:
            raise StoreUnavailableError(str(error)) from error
        self._reported = False
        self._known = term, content

    def _decoded(self, content: bytes) -> Memory:
        try:
            memory = decode(content, Memory)
        except msgspec.DecodeError as error:
            raise StateUnavailableError(f"the memory is damaged: {error}", damaged=True) from None
        if memory.version > MEMORY_VERSION:
            raise StateUnavailableError(
                f"the memory has version {memory.version}, which a later release wrote. This version reads {MEMORY_VERSION}"
            )
        return memory


def remembered_targets(api: Api, namespace: str, loop: str) -> Callable[[], tuple[str, ...]]:
    """A function that returns the targets of the groups at the last decision, of this process or an earlier one. It raises
    `StateUnavailableError`. It reads the state by itself and remembers nothing: only the loop keeps what it has seen of its
    memory, and reports damage."""
    state = StateObject(api, namespace, loop)

    def ask() -> tuple[str, ...]:
        try:
            content = state.load(PART)
            return tuple(decode(content, Memory).known_groups) if content is not None else ()
        except msgspec.DecodeError:
            return ()
        except StateUnavailableError as error:
            if not error.damaged:
                raise
            return ()

    return ask
