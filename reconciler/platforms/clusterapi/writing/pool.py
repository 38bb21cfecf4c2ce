"""Removals from MachinePools without Machines: nobody can tell which instance the platform removes when the pool shrinks."""

from collections.abc import Callable

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.plan.plan import Bound
from reconciler.providers.answer import failed, unread
from reconciler.providers.contract import RemovalState, TargetRemoval, WriteCode, WriteResult
from reconciler.providers.machines.dialect import Reading
from reconciler.providers.machines.targets import MachineTargets
from reconciler.providers.ownership_guard import not_ours, objection
from reconciler.values.decoding import decoder
from reconciler.values.plural import count_text


class _NodeRef(msgspec.Struct):
    name: str = ""


class _Status(msgspec.Struct, rename="camel"):
    node_refs: list[_NodeRef] | None = None


class _Pool(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


_pool = decoder(_Pool)


class BlindRemovals:
    """Lowers the drained node's pool by one; the platform chooses the instance. `allowed` tells for each target whether a policy
    permits that.

    A mark needs a Machine, and here there is none. So a later process cannot tell whether the pool was lowered for a drained
    node. It gives up removals that it did not begin, uncordons their nodes, and never lowers the pool for them.
    """

    def __init__(self, targets: MachineTargets, allowed: Callable[[TargetRef], bool]) -> None:
        self._targets = targets
        self._allowed = allowed
        self._begun: dict[str, int | None] = {}
        """Node name -> the generation after the pool was lowered; None: not lowered yet."""

    def may_begin(self, target: TargetRef, node: str, bound: Bound) -> WriteResult:
        """Refused unless the policy allows removals without choice."""
        if not self._allowed(target):
            message = f"{target} has no Machine for node {node}: nobody can choose which one goes (scaleDown.withoutMachines)"
            return WriteResult(code=WriteCode.REFUSED, message=message)
        try:
            facts = self._targets.read(target).facts
        except (ApiError, UnreachableError) as error:
            return unread(error, str(target))
        wrong = objection(facts, bound)
        if wrong is None:
            self._begun[node] = None
        return wrong or WriteResult(generation=facts.generation)

    def step(self, target: TargetRef, node: str, floor: int) -> TargetRemoval:
        """Lower once."""
        if node not in self._begun:
            message = f"cannot tell whether {target} was lowered for {node} before the restart"
            return TargetRemoval(state=RemovalState.FAILED, code=WriteCode.UNKNOWN, message=message)
        lowered = self._begun[node]
        try:
            reading = self._targets.read(target)
        except (ApiError, UnreachableError) as error:
            result = unread(error, str(target))
            return TargetRemoval.waiting(result)
        if lowered is not None:
            return self._lowered(reading, node, lowered)
        replicas = reading.facts.replicas or 0
        wrong = not_ours(reading.facts)
        if wrong is None and replicas - 1 < floor:
            message = f"{target} has {count_text(replicas, 'replica')} and must keep {floor}"
            wrong = WriteResult(code=WriteCode.REFUSED, message=message)
        if wrong is None:
            try:
                applied = self._targets.apply(reading, replicas - 1)
            except (ApiError, UnreachableError) as error:
                wrong = failed(error, str(target))
                if wrong.code in (WriteCode.STALE, WriteCode.UNAVAILABLE):
                    return TargetRemoval.waiting(wrong)
            else:
                self._begun[node] = applied.generation
                return TargetRemoval(state=RemovalState.FINISHED, replicas=replicas - 1, generation=applied.generation)
        # An unknown outcome ends here too: another attempt might lower twice.
        del self._begun[node]
        return TargetRemoval.failed(wrong)

    def _lowered(self, reading: Reading, node: str, generation: int) -> TargetRemoval:
        """Finished, unless the pool has shrunk to its desired size and still has the node: then the node is uncordoned."""
        target, status = reading.facts.ref, _pool.decode(reading.body).status
        left = {reference.name for reference in status.node_refs or ()}
        if node in left and len(left) == reading.facts.replicas and reading.followed:
            del self._begun[node]
            message = f"{target} was lowered for {node}, and the platform took another instance"
            return TargetRemoval(state=RemovalState.FAILED, code=WriteCode.PASSED_OVER, message=message)
        return TargetRemoval(state=RemovalState.FINISHED, generation=generation)
