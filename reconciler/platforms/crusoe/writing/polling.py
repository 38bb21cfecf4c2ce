"""Node pools as a part of the live view: asked again and again while the policy in force names any."""

import threading
import time
from collections.abc import Callable

import msgspec
from msgspec import Raw

from reconciler.cluster.snapshots.document import Document
from reconciler.kube.watching.stream_state import Phase, StreamState
from reconciler.platforms.crusoe.kinds import NODE_POOL
from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.asking import Known
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.notes import Keeper, Notes, UnnotedError
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
    """A `PolledSource`. Without a policy, or with one that names nothing of Crusoe, nothing is asked, nor waited for."""

    def __init__(
        self,
        account: Account,
        keeper: Keeper,
        policy: Callable[[], PolicySet | None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._policy = policy
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._known = Known(account, Notes(keeper))
        self._documents: tuple[Document, ...] = ()
        self._failure = ""
        self._asks = 0
        self._wake = threading.Event()
        self._stopping = False
        self._changed: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._run, name="crusoe", daemon=True)
        account.on_write(self._wrote)

    def start(self, changed: Callable[[], None]) -> None:
        """Ask from now on; `changed` is called after every answer that says something new."""
        self._changed = changed
        self._thread.start()

    def stop(self) -> None:
        """Ask no more."""
        self._stopping = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def ask(self) -> bool:
        """One round; whether something has changed. What fails is told by `states`."""
        if not named(self._policy()):
            with self._lock:
                changed, self._documents, self._failure = bool(self._documents), (), ""
            return changed
        try:
            news, failure = self._known.ask(self._monotonic()), ""
        except (CrusoeError, UnnotedError) as error:
            news, failure = False, str(error)
        with self._lock:
            changed = news or failure != self._failure
            self._failure = failure
            self._asks += 1
            if news:
                self._documents = _documents(self._known)
        return changed

    def states(self) -> tuple[StreamState, ...]:
        """Synced while the pools were listed not long ago, also where the platform throttles; what is written is read anew."""
        if not named(self._policy()):
            return ()
        with self._lock:
            heard, failure = self._known.heard, self._failure
            count = len(self._known.items().get(NODE_POOL, ()))
        age = -1.0 if heard is None else self._monotonic() - heard
        return (
            StreamState(
                collection=_COLLECTION,
                phase=Phase.WAITING if heard is None else Phase.SYNCED,
                objects=count,
                heard_seconds=age,
                event_seconds=age,
                lists=0 if heard is None else 1,
                list_calls=self._asks,
                message=failure if heard is None else "",
            ),
        )

    def documents(self) -> tuple[Document, ...]:
        """The last whole answers."""
        with self._lock:
            return self._documents

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be read, though the pools could."""
        return self._known.problems

    def _wrote(self) -> None:
        self._known.wrote()
        self._wake.set()

    def _run(self) -> None:
        while not self._stopping:
            self._wake.clear()
            if self.ask():
                self._changed()
            self._wake.wait(MOVING_SECONDS if self._known.heard is None or self._known.moving() else RESTING_SECONDS)


def _documents(known: Known) -> tuple[Document, ...]:
    return tuple(
        Document(file="crusoe", api_version="", kind=kind, items=[Raw(msgspec.json.encode(item)) for item in items], is_list=True)
        for kind, items in sorted(known.items().items())
    )
