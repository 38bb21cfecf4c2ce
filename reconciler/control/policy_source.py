"""The policy in force, followed from its source: the last good one, whatever happens there. Failures change nothing."""

import threading
from collections.abc import Callable
from typing import Protocol

from reconciler.gitops.acceptance import accepted, restored
from reconciler.gitops.fault import Fault, FaultCode, SourceError
from reconciler.gitops.last_good import LastGood, LastGoodError, LastGoodStore
from reconciler.gitops.source import Source
from reconciler.gitops.standing import SourceEvent, Standing, refused, succeeded
from reconciler.policy.documents import PolicySet


class NoPolicyError(Exception):
    """No policy has ever been good: nothing may be decided. The sentence says why."""


class FollowedPolicy:
    """A `PolicySource`. `current` and `standing` may be called from any thread; `poll` by one at a time.

    A policy comes into force only once it is saved, so that a restart at any moment begins with it, and so that history and
    groups are always judged against what was really in force.
    """

    def __init__(
        self,
        source: Source,
        store: LastGoodStore,
        clock: Callable[[], int],
        *,
        name: str | None = None,
        allow_no_groups: bool = False,
        tell: Callable[[SourceEvent], None] | None = None,
    ) -> None:
        """`clock` gives Unix time in whole seconds; `name` chooses one of several policies; `tell` is given what happens."""
        self._source = source
        self._store = store
        self._clock = clock
        self._name = name
        self._allow_no_groups = allow_no_groups
        self._tell = tell
        self._loaded = False
        self._policy: PolicySet | None = None
        self._last_good: LastGood | None = None
        self._standing = Standing(source=source.name)

    def current(self) -> PolicySet:
        """The policy in force. Raises `NoPolicyError` until there is one: see `ready`."""
        if self._policy is None:
            fault = self._standing.fault
            raise NoPolicyError(fault.sentence if fault is not None else f"{self._source.name} was not read yet")
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
        for what source, tree or store do."""
        now = self._clock()
        before = self._policy
        try:
            self._restore()
            known = self._last_good
            # The history of another repository, branch or place tells nothing about this one.
            revision = known.revision if known is not None and known.source == self._source.name else None
            fetched = self._source.fetch(revision)
            taken = known is not None and self._policy is not None and revision == fetched.revision
            if not taken or fetched.problems or (known is not None and fetched.files != known.files):
                judged = accepted(
                    fetched, self._source.name, self._name, now, self._policy, allow_no_groups=self._allow_no_groups
                )
                self._save(judged.last_good)
                self._policy, self._last_good = judged.policy, judged.last_good
            standing, events = succeeded(self._standing, fetched.revision, fetched.signer, now)
        except SourceError as error:
            standing, events = refused(self._standing, error.fault, now)
        except Exception as error:
            # The thread that follows must outlive a defect: it is told like any other fault, and tried again.
            fault = Fault(code=FaultCode.UNREACHABLE, message=f"it could not be looked at: {type(error).__name__}: {error}")
            standing, events = refused(self._standing, fault, now)
        self._standing = standing
        for event in events:
            self._say(event)
        return self._policy is not before

    def _restore(self) -> None:
        """Once, and again where saving failed: the policy of before. An unreadable store is asked again; a damaged one is said
        and given up, since nobody but us can mend it."""
        if self._loaded:
            return
        first = self._policy is None
        try:
            self._last_good = self._store.load()
            if self._last_good is not None:
                self._policy = restored(self._last_good, self._name)
        except LastGoodError as error:
            if not error.damaged:
                fault = Fault(code=FaultCode.NOT_SAVED, message=f"what was in force before cannot be read: {error}")
                raise SourceError(fault) from None
            self._say(SourceEvent(type="Warning", reason="LastGoodDamaged", message=f"{error}: the source is read afresh"))
        except SourceError as error:
            message = f"the policy of before the restart cannot be used any more: {error.fault.sentence}"
            self._say(SourceEvent(type="Warning", reason="LastGoodDamaged", message=message))
        self._loaded = True
        if first and self._last_good is not None and self._policy is not None:
            self._standing = Standing(
                source=self._source.name, revision=self._last_good.revision, signer=self._last_good.signer,
                success_seconds=self._last_good.read_seconds,
            )  # fmt: skip

    def _save(self, last_good: LastGood) -> None:
        try:
            self._store.save(last_good)
        except LastGoodError as error:
            # Another instance may have led and saved meanwhile: the next look begins with what is there.
            self._loaded = False
            message = f"the new policy cannot be saved, so it is not used: {error}"
            raise SourceError(Fault(code=FaultCode.NOT_SAVED, message=message, revision=last_good.revision)) from None

    def _say(self, event: SourceEvent) -> None:
        if self._tell is not None:
            self._tell(event)


class Polled(Protocol):
    """What a watch looks at."""

    @property
    def standing(self) -> Standing:
        """How the source stands."""

    def poll(self) -> bool:
        """Look once; whether another policy is in force now."""


class SourceWatch:
    """Polls on a thread of its own, at the interval and whenever `notify` is called. `changed` is called after a poll that
    brought another policy into force."""

    def __init__(self, policy: Polled, wait_seconds: Callable[[Standing], float], changed: Callable[[], None]) -> None:
        """`wait_seconds` gives the time to the next poll (see `gitops/polling.py`, randomness included)."""
        self._policy = policy
        self._wait_seconds = wait_seconds
        self._changed = changed
        self._due = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="policy-source", daemon=True)

    def start(self) -> None:
        """Begin; the first poll is at once."""
        self._thread.start()

    def notify(self) -> None:
        """Look soon: somebody says that there is something new. Cheap, from any thread; many calls make one poll."""
        self._due.set()

    def stop(self, patience_seconds: float | None = None) -> None:
        """End after a poll that is going on, or when it has taken longer than that."""
        self._stopped = True
        self._due.set()
        if self._thread.ident is not None:
            self._thread.join(patience_seconds)

    def _run(self) -> None:
        while not self._stopped:
            self._due.clear()
            if self._policy.poll():
                self._changed()
            self._due.wait(self._wait_seconds(self._policy.standing))
