"""Auto Scaling groups as targets that are written.

AWS has no precondition: it cannot refuse a write because a group has changed since it was read. So every write follows its own
read, in the same moment. A call that cannot be undone (it ends an instance) names the exact instance. The remaining gap is the
time between the two calls.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.decisions.groups.cluster_names import CLUSTER_MARK, cluster_mark
from reconciler.decisions.ownership.owner import OUR_MARKS, POLICY_MARK, policy_mark
from reconciler.plan.plan import Bound
from reconciler.platforms.aws.facts.ownership import WRITTEN
from reconciler.platforms.aws.kinds import READ_LAG_SECONDS
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.beside_groups import BesideGroups
from reconciler.platforms.aws.writing.calls import Answer, Aws, AwsError
from reconciler.platforms.aws.writing.cancellation import Cancellations, may_unshield, shielded_since
from reconciler.platforms.aws.writing.fresh import Reading, group_members, read, read_alone
from reconciler.platforms.aws.writing.growth import launch, launches_at_once, set_desired
from reconciler.platforms.aws.writing.marks import delete_tags, ours, set_tags, written
from reconciler.platforms.aws.writing.removal import Removals
from reconciler.platforms.aws.writing.write_answer import ERRORS, failed, unread
from reconciler.providers.cloud_writes import CloudWrites
from reconciler.providers.contract import LeavingMachine, TargetRemoval, WriteCode, WriteResult
from reconciler.providers.ownership_guard import objection, of_another_cluster

_READS = ("Describe", "Get")
_AGAIN_SECONDS, _DENIED_SECONDS = 10, 60
"""The time between two looks at what a cancellation has left, and how much longer it is after a denial."""
_CANCEL_CALLS, _FINISH_CALLS = 5, 3
"""How many calls of its own each takes at most, as a rule."""


class _Guarded:
    """An `Aws` that asks the guard before every call that writes."""

    def __init__(self, aws: Aws, guard: Callable[[], None]) -> None:
        self._aws = aws
        self._guard = guard

    def call(self, service: str, action: str, **parameters: object) -> Answer:
        """Forward the call. Raises what the guard raises."""
        if not action.startswith(_READS):
            self._guard()
        return self._aws.call(service, action, **parameters)


class AwsProvider:
    """A `TargetProvider`. `role_of` returns the role for a target (empty: the process's own identity). `guard` raises if this
    process may not write (it does not lead)."""

    def __init__(
        self,
        accounts: Accounts,
        role_of: Callable[[TargetRef], str] = lambda _: "",
        guard: Callable[[], None] = lambda: None,
        cluster: str = "",
        loop: str = "",
    ) -> None:
        """In a fleet, `cluster` is the Cluster whose loop writes. `loop` tells the loops of one process apart."""
        self._cluster = cluster
        self._loop = loop
        self._accounts = accounts
        self._role_of = role_of
        self._guard = guard
        self._writes = CloudWrites(self._read, ERRORS)
        self._removals = Removals(self._aws, self._read, foreign=self._foreign)
        self._next_look: dict[TargetRef, int] = {}
        self._finished: dict[TargetRef, int] = {}
        self._around: dict[tuple[str, str], BesideGroups] = {}

    def resize(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """Upwards only, after the judged read. Removals name each instance."""

        def write(aws: Aws, reading: Reading) -> WriteResult:
            if (wrong := objection(reading.facts, bound)) is not None:
                return wrong
            if replicas < reading.item.desired_capacity:
                message = f"{target}: AWS would choose which instances go at desired capacity {replicas}"
                return WriteResult(code=WriteCode.REFUSED, message=message)
            if replicas > reading.item.max_size:
                message = f"{target}: {replicas} is above its MaxSize {reading.item.max_size}"
                return WriteResult(code=WriteCode.REFUSED, message=message)
            signed = self._sign(aws, reading, replicas, annotations or {})
            try:
                result = launch(aws, reading, replicas) if launches_at_once(reading) else set_desired(aws, reading, replicas)
            except AwsError as error:
                result = failed(error, str(target))
            if signed and (result.replicas is not None or not (result.done or result.code == WriteCode.UNKNOWN)):
                self._correct(aws, reading, result.replicas)
            return result

        return self._judged(target, write)

    def adopt(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """An Auto Scaling group does not record who owns its desired capacity, so there is nothing to take over."""
        try:
            there = read(self._aws(target), target) is not None
        except AwsError as error:
            return unread(error, str(target))
        if not there:
            return WriteResult(code=WriteCode.NOT_FOUND, message=f"{target} does not exist")
        message = f"{target}: an Auto Scaling group has no owner to take it over from"
        return WriteResult(code=WriteCode.REFUSED, message=message)

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """Remove our tags; desired capacity stays."""

        def write(aws: Aws, reading: Reading) -> WriteResult:
            if shielded_since(reading.facts) is not None and self._marked(reading.facts):
                # Only its tag shows that the protection of the instances is ours.
                message = f"{target}: the scale-in protection of a cancellation is not removed yet"
                return WriteResult(code=WriteCode.UNAVAILABLE, message=message)
            # In a fleet, only the mark of the cluster shows that they are ours: all its loops may have one policy.
            marks = ours(dict(reading.facts.annotations)) if self._marked(reading.facts) else ()
            if marks:
                delete_tags(aws, target.name, marks)
            return WriteResult()

        return self._judged(target, write)

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> WriteResult:
        """Withdraw requests that never got an instance; no running instance ends for it. They may wait while AWS is asked for
        much else."""
        if not self._spare(target, _CANCEL_CALLS):
            message = f"{target}: its failed requests wait, because AWS is asked for much else at the moment"
            return WriteResult(code=WriteCode.UNAVAILABLE, message=message)

        def write(aws: Aws, reading: Reading) -> WriteResult:
            wrong = objection(reading.facts, bound)
            if wrong is None and replicas < reading.item.min_size:
                message = f"{target}: {replicas} is below its MinSize {reading.item.min_size}"
                wrong = WriteResult(code=WriteCode.REFUSED, message=message)
            return wrong or Cancellations(aws).cancel(reading, machines, replicas)

        return self._judged(target, write)

    def concealed(self, target: TargetRef, provider_ids: Sequence[str]) -> WriteResult | None:
        """As `FindsNodes.concealed` says."""
        try:
            found = group_members(self._aws(target), target, provider_ids, self._beside(target))
        except AwsError as error:
            return unread(error, f"the groups of Nodes that belong to no group which was read, before {target} is lowered")
        if not found:
            return None
        message = f"{target}: its description does not show {', '.join(found)} yet, and their Nodes have joined"
        return WriteResult(code=WriteCode.STALE, message=message)

    def finish(self, targets: Sequence[TargetFacts], now_seconds: int) -> None:
        """Remove the protection that cancellations left, once AWS has acted."""
        due = [
            facts.ref
            for facts in targets
            if may_unshield(facts, now_seconds) and self._marked(facts) and self._may_finish(facts, now_seconds)
        ]
        due = [target for target in due if self._spare(target, _FINISH_CALLS)]
        self.expect(due)
        for target in due:
            self._next_look[target] = now_seconds + _AGAIN_SECONDS
            # A later iteration tries again. What stays protected meanwhile is safe.
            with suppress(msgspec.ValidationError):
                aws = self._aws(target)
                try:
                    reading = read_alone(aws, target, self._beside(target))
                    if reading is None or (self._marked(reading.facts) and Cancellations(aws).recover(reading)):
                        self._finished[target] = now_seconds
                except AwsError as error:
                    self._next_look[target] += _DENIED_SECONDS if error.denied else 0
            self._accounts.wrote(target.region, target.name, loop=self._loop)

    def expect(self, targets: Sequence[TargetRef]) -> None:
        """As `WritesTogether.expect`."""
        for place in {(target.region, self._role_of(target)) for target in targets}:
            names = (target.name for target in targets if (target.region, self._role_of(target)) == place)
            self._around.setdefault(place, BesideGroups()).expect(names)

    def _may_finish(self, facts: TargetFacts, now_seconds: int) -> bool:
        """Not again on a read that may be older than what was done, nor right after a try."""
        done = self._finished.get(facts.ref)
        late = done is None or facts.read_seconds > done + READ_LAG_SECONDS
        return late and now_seconds >= self._next_look.get(facts.ref, 0)

    def may_begin(self, target: TargetRef, machine: str, node: str, bound: Bound) -> WriteResult:
        """Whether the instance behind the node may be removed."""
        return self._removals.may_begin(target, machine, bound)

    def step(self, target: TargetRef, leaving: tuple[LeavingMachine, ...], floor: int) -> tuple[TargetRemoval, ...]:
        """End exactly these instances; desired capacity falls with each."""
        removals = self._removals.step(target, leaving, floor)
        self._accounts.wrote(target.region, target.name, loop=self._loop)
        return removals

    def abandon(self, target: TargetRef, machine: str) -> WriteResult:
        """Nothing is marked before an instance is removed, so there is nothing to undo."""
        return WriteResult()

    def marked_by(self, target: TargetRef, machine: str) -> str:
        """Nobody: instances have no marks of ours."""
        return ""

    def _spare(self, target: TargetRef, calls: int) -> bool:
        return self._accounts.of(target.region, self._role_of(target)).spare(calls)

    def _aws(self, target: TargetRef) -> Aws:
        return _Guarded(self._accounts.of(target.region, self._role_of(target)), self._guard)

    def _marked(self, facts: TargetFacts) -> bool:
        """Whether what a cancellation has left may be ours. In a fleet, a group that was grown has the mark of its cluster."""
        return cluster_mark(facts) == self._cluster

    def _foreign(self, facts: TargetFacts) -> WriteResult | None:
        return of_another_cluster(facts, self._cluster)

    def _read(self, target: TargetRef) -> Reading | None:
        return read(self._aws(target), target, self._beside(target))

    def _beside(self, target: TargetRef) -> BesideGroups:
        place = target.region, self._role_of(target)
        return self._around.setdefault(place, BesideGroups())

    def _judged(self, target: TargetRef, write: Callable[[Aws, Reading], WriteResult]) -> WriteResult:
        aws = self._aws(target)

        def judged(reading: Reading) -> WriteResult:
            if may_unshield(reading.facts, reading.date_seconds) and self._marked(reading.facts):
                Cancellations(aws).recover(reading)
                reading = self._read(target) or reading
            return write(aws, reading)

        def tried(reading: Reading) -> None:
            if self._foreign(reading.facts) is None:
                self._accounts.wrote(target.region, target.name, others=bool(reading.facts.writers), loop=self._loop)

        return self._writes.judged(target, lambda reading: self._foreign(reading.facts) or judged(reading), tried)

    def _sign(self, aws: Aws, reading: Reading, desired: int, annotations: Mapping[str, str]) -> bool:
        """Record what is about to be written, by which policy and why, before the write. If the process ends in between, the mark
        is too high, but it blames nobody. Returns whether the tags were written. If they were not, but the policy's mark is
        already there, the write goes on without them. Raises `AwsError`."""
        tags = {key: text for key, text in annotations.items() if key in OUR_MARKS}
        try:
            set_tags(aws, reading.facts.ref.name, {**tags, WRITTEN: written(desired, reading.date_seconds)})
        except AwsError:
            there = {POLICY_MARK: policy_mark(reading.facts), CLUSTER_MARK: cluster_mark(reading.facts)}
            if any(tags.get(key, "") not in ("", text) for key, text in there.items()):
                raise
            return False
        return True

    def _correct(self, aws: Aws, reading: Reading, came: int | None) -> None:
        """Restore the previous mark after a refused write. After a short one, the mark is what came (`came`)."""
        before = dict(reading.facts.annotations).get(WRITTEN, "")
        text = before if came is None else written(came, reading.date_seconds)
        with suppress(AwsError):
            if text:
                set_tags(aws, reading.facts.ref.name, {WRITTEN: text})
            else:
                delete_tags(aws, reading.facts.ref.name, (WRITTEN,))
