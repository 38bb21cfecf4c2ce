"""The promises that every source of policy keeps: what is in force is saved before it is used, and failures change nothing."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import msgspec

from reconciler.gitops.git.fault import Fault, FaultCode, SourceError, failed
from reconciler.gitops.sources.last_good import LastGood, LastGoodError, LastGoodStore, decode_last_good, encode_last_good
from reconciler.gitops.sources.standing import SourceEvent, Standing, refused, succeeded
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.kube.leading.state import StateObject, StateUnavailableError
from reconciler.policy.documents import Mode, PolicySet

# A policy whose mode is Observe, whatever it says.


class Policies(Protocol):
    """Where the policy in force comes from."""

    def current(self) -> PolicySet:
        """The policy in force."""


class ObservingPolicy:
    """What a process that only reads decides by: the plan is the same, and says that nothing is written."""

    def __init__(self, policies: Policies) -> None:
        self._policies = policies

    def current(self) -> PolicySet:
        """The policy in force, with mode Observe."""
        policy_set = self._policies.current()
        return msgspec.structs.replace(policy_set, policy=msgspec.structs.replace(policy_set.policy, mode=Mode.OBSERVE))


# The last good policy on the API server, in the same state object as the memory of the loop.

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


class NoPolicyError(Exception):
    """No policy has ever been good: nothing may be decided. The sentence says why."""


class PolicyInForce(ABC):
    """A policy that is followed. `current` and `standing` may be called from any thread; `poll` by one at a time.

    What is particular to a source is in `_look` and `_read_again`.
    """

    def __init__(
        self,
        source: str,
        store: LastGoodStore,
        clock: Callable[[], int],
        tell: Callable[[SourceEvent], None] | None,
    ) -> None:
        """`source` is its name in sentences, `clock` gives Unix time in whole seconds, `tell` is given what happens."""
        self._store = store
        self._clock = clock
        self._tell = tell or (lambda _: None)
        self._loaded = False
        self._policy: PolicySet | None = None
        self._kept: LastGood | None = None
        self._standing = Standing(source=source)

    def current(self) -> PolicySet:
        """The policy in force. Raises `NoPolicyError` until there is one: see `ready`."""
        if self._policy is None:
            fault = self._standing.fault
            raise NoPolicyError(fault.sentence if fault is not None else f"{self._standing.source} was not read yet")
        return self._policy

    @property
    def ready(self) -> bool:
        """Whether there is a policy to decide by."""
        return self._policy is not None

    @property
    def standing(self) -> Standing:
        """How the source stands, for conditions, metrics and pages."""
        return self._standing

    def poll(self) -> bool:
        """Look once; whether another policy is in force now. The first call begins with what the store holds. Never raises
        for what source, policy or store do."""
        before, now = self._policy, self._clock()
        try:
            self._restore()
            revision, signer = self._look(now)
            self._stand(succeeded(self._standing, revision, signer, now))
        except SourceError as error:
            if self._kept is not None and self._kept.revision != self._standing.revision:
                # A part of what is there came into force, or what another instance had saved.
                self._stand(succeeded(self._standing, self._kept.revision, self._kept.signer, now))
            self._stand(refused(self._standing, error.fault, now))
        except Exception as error:
            # The thread that follows must outlive a defect: it is told like any other fault, and tried again.
            message = f"{self._standing.source} could not be looked at: {type(error).__name__}: {error}"
            self._stand(refused(self._standing, Fault(code=FaultCode.UNREACHABLE, message=message), now))
        return self._policy is not before

    @property
    def revision(self) -> str:
        """The revision in force; empty: none is."""
        return self._kept.revision if self._kept is not None else ""

    @abstractmethod
    def _look(self, now_seconds: int) -> tuple[str, str]:
        """`_take` what is there and may be used; its revision, and who signed it. Raises `SourceError` for what is refused."""

    @abstractmethod
    def _read_again(self, kept: LastGood) -> PolicySet | None:
        """The policy that was in force before; None when that was one of another source. Raises `SourceError` or `ValueError`
        for what cannot be read any more."""

    def _take(self, policy: PolicySet, kept: LastGood) -> None:
        """Save it, then bring it into force, so that a restart at any moment begins with it. Raises `SourceError`."""
        try:
            self._store.save(kept)
        except LastGoodError as error:
            # Another instance may have led and saved meanwhile: the next look begins with what is there.
            self._loaded = False
            message = f"the new policy cannot be saved, so it is not used: {error}"
            raise SourceError(Fault(code=FaultCode.NOT_SAVED, message=message, revision=kept.revision)) from None
        self._policy, self._kept = policy, kept

    def _restore(self) -> None:
        """Once, and again where saving failed: the policy of before. An unreadable store is read again. A damaged one is reported
        and given up, since nobody but us can fix it."""
        if self._loaded:
            return
        first = self._policy is None
        try:
            kept = self._store.load()
            policy = self._read_again(kept) if kept is not None else None
            if policy is not None:
                self._policy, self._kept = policy, kept
        except LastGoodError as error:
            if not error.damaged:
                raise failed(FaultCode.NOT_SAVED, f"the policy that was in force before cannot be read: {error}") from None
            self._damaged(f"{error}: the source is read afresh")
        except (SourceError, ValueError) as error:
            why = error.fault.sentence if isinstance(error, SourceError) else str(error)
            self._damaged(f"the policy of before the restart cannot be used any more: {why}")
        self._loaded = True
        if first and self._kept is not None:
            kept = self._kept
            self._standing = Standing(
                source=self._standing.source, revision=kept.revision, signer=kept.signer, success_seconds=kept.read_seconds
            )

    def _damaged(self, message: str) -> None:
        self._tell(SourceEvent(type="Warning", reason="LastGoodDamaged", message=message))

    def _stand(self, change: tuple[Standing, tuple[SourceEvent, ...]]) -> None:
        self._standing, events = change
        for event in events:
            self._tell(event)
