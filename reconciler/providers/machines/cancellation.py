"""Withdraws requests for nodes that never came. Exactly their Machines go, and no running one."""

from reconciler.cluster.target import TargetRef
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.plan.plan import Bound
from reconciler.providers.answer import failed, unread
from reconciler.providers.contract import WriteCode, WriteResult
from reconciler.providers.machines.dialect import MachineReading, Reading
from reconciler.providers.machines.machine_rules import rolling_out
from reconciler.providers.machines.marks import MachineMarks
from reconciler.providers.machines.platform_hearing import PlatformHearing
from reconciler.providers.machines.removal import MachineRemovals
from reconciler.providers.machines.targets import MachineTargets
from reconciler.providers.ownership_guard import objection
from reconciler.values.plural import count_text


class MachineCancellations:
    """Cancellations. A process that ends between the marks and the write leaves marks of ours on Machines without a node. The
    next process removes them (`MachineRemovals.abandon`)."""

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
            living = [one for one in read if one is not None and not one.deleting]
            wrong = objection(reading.facts, bound) or rolling_out(reading) or self._unfit(living)
            wrong = wrong or _not_alone(reading, frozenset(machines)) or self._surplus(reading, frozenset(machines), replicas)
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
            for machine in living:
                marked.append(machine.name)
                self._marks.put(reading, machine)
            if marked:
                self._hearing.wait()
            joined = self._joined(target, marked)
            if joined is not None:
                for name in marked:
                    self._removals.abandon(target, name)
                return joined
            return self._targets.apply(reading, replicas)
        except (ApiError, UnreachableError) as error:
            result = failed(error, str(target))
            if result.code != WriteCode.UNKNOWN:
                for name in marked:
                    self._removals.abandon(target, name)
            return result

    def _unfit(self, living: list[MachineReading]) -> WriteResult | None:
        for machine in living:
            if machine.node:
                message = f"Machine {machine.name} has become node {machine.node}"
                return WriteResult(code=WriteCode.STALE, message=message)
            foreign = self._marks.of_others(machine)
            if foreign is not None:
                return foreign
        return None

    def _joined(self, target: TargetRef, marked: list[str]) -> WriteResult | None:
        """A machine that became a node while the platform heard of the marks: it may run pods by now."""
        read = [self._removals.machine(target, name) for name in marked]
        return self._unfit([one for one in read if one is not None and not one.deleting])

    def _surplus(self, reading: Reading, cancelled: frozenset[str], replicas: int) -> WriteResult | None:
        beside = len(self._targets.dialect.living_machines(self._targets.api, reading.facts) - cancelled)
        if beside <= replicas:
            return None
        target = reading.facts.ref
        has, would = count_text(beside, "machine"), count_text(replicas, "replica")
        message = f"{target} has {has} apart from those that failed, so {would} could end a running one"
        return WriteResult(code=WriteCode.STALE, message=message)

    def _replace(self, reading: Reading, living: list[MachineReading]) -> WriteResult:
        """Replicas stay: the set replaces each Machine that is deleted."""
        dialect = self._targets.dialect
        for machine in living:
            path = dialect.path("Machine", reading.facts.ref.namespace, machine.name)
            options = {"preconditions": {"resourceVersion": machine.resource_version}}
            try:
                self._targets.api.write("DELETE", path, options)
            except (ApiError, UnreachableError) as error:
                return failed(error, f"Machine {machine.name}")
        return WriteResult(generation=reading.facts.generation)


def _not_alone(reading: Reading, cancelled: frozenset[str]) -> WriteResult | None:
    """Machines that could go instead of the cancelled ones: others that failed, or that have a mark."""
    others = sorted((reading.failed | reading.marked) - cancelled)
    if not others:
        return None
    message = f"{reading.facts.ref}: Machine {', '.join(others)} could go instead of the ones to cancel"
    return WriteResult(code=WriteCode.STALE, message=message)
