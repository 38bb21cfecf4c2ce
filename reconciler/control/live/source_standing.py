"""The state of the policy's source, stored with the loop's memory, for a policy without an object of its own."""

import msgspec

from reconciler.control.live.live_memory_store import State
from reconciler.gitops.sources.standing import Condition, Standing
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.kube.leading.state import StateUnavailableError
from reconciler.values.decoding import decode
from reconciler.values.instant import UnixSeconds

PART = "conditions"


class StandingEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The conditions of a source; `since_seconds` is when its fault began (0: it has none)."""

    source: str
    revision: str = ""
    since_seconds: UnixSeconds = 0
    conditions: tuple[Condition, ...] = ()


class StandingRecord:
    """Written best effort and only when it says something new: another look tells it again."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._written: StandingEntry | None = None

    def save(self, standing: Standing) -> None:
        """Keep it. Never raises for what a server does."""
        entry = StandingEntry(
            source=standing.source,
            revision=standing.revision,
            since_seconds=standing.since_seconds,
            conditions=standing.conditions(),
        )
        if entry == self._written:
            return
        try:
            self._state.load(PART)
            self._state.save(PART, msgspec.json.encode(entry))
        except (StateUnavailableError, NotLeaderError):
            return
        self._written = entry


def standing_in(state: State) -> StandingEntry | None:
    """What was last kept; None when nothing was, or nothing that can be read. Raises `StateUnavailableError`."""
    content = state.load(PART)
    if content is None:
        return None
    try:
        return decode(content, StandingEntry)
    except msgspec.MsgspecError:
        return None
