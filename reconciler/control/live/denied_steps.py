"""Steps of removals that were denied: each is tried again after a while, not in every turn."""

from collections.abc import Callable

from reconciler.decisions.memory import BackoffState
from reconciler.decisions.situation.backoff import RULE
from reconciler.kube.connection.api import ApiError
from reconciler.providers.contract import WriteCode

_FORBIDDEN = 403


class DeniedSteps:
    """By node or target. This process alone remembers them: the next one asks once."""

    def __init__(self, now_seconds: Callable[[], int]) -> None:
        self._now_seconds = now_seconds
        self._states: dict[str, BackoffState] = {}

    def why(self, whose: str) -> str:
        """What was denied, while it is not tried again; empty if it may be tried."""
        state = self._states.get(whose)
        return state.reason if state is not None and self._now_seconds() < state.until_seconds else ""

    def note(self, whose: str, error: Exception | None = None, *, code: str = "", message: str = "") -> None:
        """The end of one step: an error, or the code and the message of its answer. One that is not denied forgets denials."""
        if code == WriteCode.DENIED or (isinstance(error, ApiError) and error.status == _FORBIDDEN):
            why = str(error) if error is not None else message
            self._states[whose] = RULE.after(self._states.get(whose), self._now_seconds(), why)
        else:
            self._states.pop(whose, None)

    def keep(self, whose: set[str]) -> None:
        """Forget all others."""
        self._states = {name: state for name, state in self._states.items() if name in whose}
