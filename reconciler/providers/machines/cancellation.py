"""Taking back requests for nodes that never came: exactly their Machines go, and no running one."""

from reconciler.cluster.target import TargetRef
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.plan.plan import Bound
from reconciler.providers.answer import failed, unread
from reconciler.providers.contract import WriteCode, WriteResult
from reconciler.providers.machines.dialect import MachineReading, Reading
from reconciler.providers.machines.marks import MachineMarks, PlatformHearing
from reconciler.providers.machines.removal import MachineRemovals, rolling_out
from reconciler.providers.machines.targets import MachineTargets
from reconciler.providers.ownership_guard import objection


class MachineCancellations:
    """Cancellations. A process that ends between the marks and the write leaves marks of ours on Machines without node, which
    the next one takes back (`MachineRemovals.abandon`)."""

    def __init__(self, targets: MachineTargets, removals: MachineRemovals, marks: MachineMarks, hearing: PlatformHearing) -> None:
        self._targets = targets
        self._removals = removals
        self._marks = marks
        self._hearing = hearing

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> WriteResult:
        """As `ClusterPort.cancel` says."""
        try:
            reading = self._targets.read(target, rollout=True)
            read = [self._removals.machine(target, name) for name in machines]
            living = [found for found in read if found is not None and not found.deleting]
            wrong = objection(reading.facts, bound) or rolling_out(reading) or self._unfit(living)
            wrong = wrong or _not_alone(reading, frozenset(machines)) or self._too_many(reading, frozenset(machines), replicas)
        except (ApiError, UnreachableError) as error:
            return unread(error, str(target))
        if wrong is not None:
            return wrong
        if replicas == bound.replicas:
            return self._replace(reading, living)
        early = self._hearing.objection(target)
        if early is not None:
            return early
        marked: list[str] = []
        try:
            for found in living:
                marked.append(found.name)
                self._marks.put(reading, found)
            if marked:
                self._hearing.wait()
            return self._targets.apply(reading, replicas)
        except (ApiError, UnreachableError) as error:
            result = failed(error, str(target))
            if result.code != WriteCode.UNKNOWN:
                for name in marked:
                    self._removals.abandon(target, name)
            return result

    def _unfit(self, living: list[MachineReading]) -> WriteResult | None:
        for found in living:
            if found.node:
                message = f"Machine {found.name} has become node {found.node}"
                return WriteResult(code=WriteCode.STALE, message=message)
            foreign = self._marks.of_others(found)
            if foreign is not None:
                return foreign
        return None

    def _too_many(self, reading: Reading, cancelled: frozenset[str], replicas: int) -> WriteResult | None:
        beside = len(self._targets.dialect.living_machines(self._targets.api, reading.facts) - cancelled)
        if beside <= replicas:
            return None
        target = reading.facts.ref
        message = f"{target} has {beside} machines beside those that failed: at {replicas} replicas a running one would go"
        return WriteResult(code=WriteCode.STALE, message=message)

    def _replace(self, reading: Reading, living: list[MachineReading]) -> WriteResult:
        """Replicas stay: the set makes another Machine for each that is deleted."""
        dialect = self._targets.dialect
        for found in living:
            path = dialect.path("Machine", reading.facts.ref.namespace, found.name)
            options = {"preconditions": {"resourceVersion": found.resource_version}}
            try:
                self._targets.api.write("DELETE", path, options)
            except (ApiError, UnreachableError) as error:
                return failed(error, f"Machine {found.name}")
        return WriteResult(generation=reading.facts.generation)


def _not_alone(reading: Reading, cancelled: frozenset[str]) -> WriteResult | None:
    """Machines that might go instead of those that are cancelled: others that failed, or that bear a mark."""
    others = sorted((reading.failed | reading.marked) - cancelled)
    if not others:
        return None
    message = f"{reading.facts.ref}: Machine {', '.join(others)} would go as soon as those that are to be cancelled"
    return WriteResult(code=WriteCode.STALE, message=message)
