"""The promises that every source of policy keeps: what is in force is saved before it is used, and failures change nothing."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from reconciler.gitops.git.fault import Fault, FaultCode, SourceError, failed
from reconciler.gitops.sources.last_good import LastGood, LastGoodError, LastGoodStore
from reconciler.gitops.sources.standing import SourceEvent, Standing, refused, succeeded
from reconciler.policy.documents import PolicySet


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
