"""Node pools as a part of the live view, polled while the policy in force names any."""

import threading
import time
from collections.abc import Callable, Mapping

from reconciler.cluster.snapshots.document import Document
from reconciler.cluster.unread import Unread
from reconciler.kube.watching.asking_thread import AskingThread
from reconciler.kube.watching.polled_source import GARBAGE
from reconciler.kube.watching.stream_state import StreamState, polled_state
from reconciler.platforms.crusoe.kinds import NODE_POOL
from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.asking import Known
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.notes import Keeper, Notes
from reconciler.policy.documents import PolicySet

MOVING_SECONDS, RESTING_SECONDS = 10.0, 30.0
_PROVIDER = "crusoe"
_COLLECTION = "node pools of Crusoe"


def named(policy: PolicySet | None) -> bool:
    """Whether a policy names or discovers node pools."""
    if policy is None:
        return False
    return any(group.target.provider == _PROVIDER for group in policy.groups) or any(
        item.provider == _PROVIDER for item in policy.policy.discovery
    )


class CrusoePoll:
    """A `PolledSource`. Without a policy, or with one that names nothing of Crusoe, it asks nothing and waits for nothing."""

    def __init__(
        self,
        account: Account,
        keeper: Keeper,
        policy: Callable[[], PolicySet | None],
        monotonic: Callable[[], float] = time.monotonic,
        wall_seconds: Callable[[], float] = time.time,
        *,
        shares: bool = False,
    ) -> None:
        """`shares`: other loops of this process ask for the same."""
        self._account = account
        self._policy = policy
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._known = Known(account.shared() if shares else account, Notes(keeper), wall_seconds)
        self._documents: tuple[Document, ...] = ()
        self._failure = ""
        self._asks = 0
        self._thread = AskingThread("crusoe", self.ask, self._pause_seconds)
        account.on_write(self._wrote)

    def start(self, changed: Callable[[], None]) -> None:
        """Start to ask; `changed` is called after every answer with news."""
        self._thread.start(changed)

    def stop(self) -> None:
        """Stop asking."""
        self._account.end(self._wrote)
        self._thread.stop()

    def ask(self) -> bool:
        """One round; returns whether something has changed. `states` reports what fails."""
        if not named(self._policy()):
            with self._lock:
                changed, self._documents, self._failure = bool(self._documents), (), ""
            return changed
        try:
            news, failure = self._known.ask(self._monotonic()), ""
        except CrusoeError as error:
            news, failure = False, str(error)
        except GARBAGE as error:
            news, failure = False, f"an answer cannot be read: {type(error).__name__}: {error}"
        with self._lock:
            changed = news or failure != self._failure
            self._failure = failure
            self._asks += 1
            if news:
                self._documents = self._known.documents()
        return changed

    def states(self) -> tuple[StreamState, ...]:
        """Synced while the pools were listed recently, even if the platform throttles. A write reads its pool again."""
        if not named(self._policy()):
            return ()
        with self._lock:
            heard, failure = self._known.heard, self._failure
            count = len(self._known.items().get(NODE_POOL, ()))
        age = None if heard is None else self._monotonic() - heard
        return (polled_state(_COLLECTION, age, objects=count, asks=self._asks, failure=failure),)

    def unread(self, doubtful: Mapping[str, str]) -> tuple[Unread, ...]:
        """All node pools: one account has them."""
        return tuple(Unread(kind=NODE_POOL, why=why) for why in doubtful.values())

    def documents(self) -> tuple[Document, ...]:
        """The last complete answers."""
        with self._lock:
            return self._documents

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be read, although the pools could."""
        return self._known.problems

    def _wrote(self) -> None:
        self._known.wrote()
        self._thread.wake()

    def _pause_seconds(self) -> float:
        return MOVING_SECONDS if self._known.heard is None or self._known.moving() else RESTING_SECONDS
