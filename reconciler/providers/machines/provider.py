"""The writes on targets of one platform whose machines are objects of an API server."""

from collections.abc import Mapping

from reconciler.cluster.target import TargetRef
from reconciler.plan.plan import Bound
from reconciler.providers.contract import LeavingMachine, TargetRemoval, WriteCode, WriteResult
from reconciler.providers.machines.cancellation import MachineCancellations
from reconciler.providers.machines.marks import MachineMarks
from reconciler.providers.machines.platform_hearing import PlatformHearing
from reconciler.providers.machines.removal import MachineRemovals
from reconciler.providers.machines.targets import MachineTargets


class MachineProvider:
    """A `TargetProvider`. `owner` (the policy's name) is in the marks on Machines, so two reconcilers leave each other's alone.
    `hearing` tells when the platform has seen marks and replicas may be lowered."""

    def __init__(self, targets: MachineTargets, owner: str, hearing: PlatformHearing) -> None:
        self._targets = targets
        marks = MachineMarks(targets, owner)
        self._removals = MachineRemovals(targets, marks, hearing)
        self._cancellations = MachineCancellations(targets, self._removals, marks, hearing)

    def resize(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """Use a server-side apply of replicas alone, never forced."""
        return self._targets.resize(target, replicas, bound, annotations)

    def adopt(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """Remove others' claims on the field, then record ours; the value stays."""
        return self._targets.adopt(target, replicas, bound, annotations)

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """Remove our annotations and our claim; the value stays."""
        return self._targets.release(target, bound)

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> WriteResult:
        """Delete exactly the machines that never became nodes."""
        return self._cancellations.cancel(target, machines, replicas, bound)

    def may_begin(self, target: TargetRef, machine: str, node: str, bound: Bound) -> WriteResult:
        """Whether the machine of the node may be removed, as far as that is known before the node is empty."""
        if not machine:
            message = f"{target} has no Machine for node {node}: nobody can choose which one goes"
            return WriteResult(code=WriteCode.REFUSED, message=message)
        return self._removals.may_begin(target, machine, node, bound)

    def step(self, target: TargetRef, leaving: tuple[LeavingMachine, ...], floor: int) -> tuple[TargetRemoval, ...]:
        """Mark the machines, lower replicas once for all of them, and report how far each is."""
        return self._removals.step(target, leaving, floor)

    def abandon(self, target: TargetRef, machine: str) -> WriteResult:
        """Remove our mark, unless replicas were lowered for it."""
        return self._removals.abandon(target, machine) if machine else WriteResult()

    def marked_by(self, target: TargetRef, machine: str) -> str:
        """The policy in our program's mark, whichever it is."""
        return self._removals.marked_by(target, machine)
