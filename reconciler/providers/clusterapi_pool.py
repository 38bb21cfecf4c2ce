"""Removals from MachinePools without Machines: nobody can say which instance the platform takes when the pool shrinks."""

from reconciler.cluster.target import TargetRef
from reconciler.kube.api import ApiError, UnreachableError
from reconciler.plan.plan import Bound
from reconciler.providers.answer import failed, unread
from reconciler.providers.clusterapi_targets import ClusterApiTargets
from reconciler.providers.contract import RemovalState, TargetRemoval, WriteCode, WriteResult
from reconciler.providers.ownership_guard import not_ours, objection


class BlindRemovals:
    """Refused unless allowed; then the drained node's pool is lowered by one and the platform chooses.

    There is no Machine that could carry a mark, so that nothing on the API objects tells a later process whether the pool was
    lowered for a drained node. What this process did not begin it therefore gives up and opens again, and never lowers for.
    """

    def __init__(self, targets: ClusterApiTargets, *, allowed: bool) -> None:
        self._targets = targets
        self._allowed = allowed
        self._begun: dict[str, int | None] = {}
        """Node name -> the generation that the lowering made; None: not lowered yet."""

    def may_begin(self, target: TargetRef, node: str, bound: Bound) -> WriteResult:
        """Refused unless removals without choice are allowed."""
        if not self._allowed:
            message = f"{target} has no Machine for node {node}: which one goes could not be chosen"
            return WriteResult(done=False, code=WriteCode.REFUSED, message=message)
        try:
            facts = self._targets.read(target).facts
        except (ApiError, UnreachableError) as error:
            return unread(error, str(target))
        wrong = objection(facts, bound)
        if wrong is None:
            self._begun[node] = None
        return wrong or WriteResult(done=True, generation=facts.generation)

    def step(self, target: TargetRef, node: str, floor: int) -> TargetRemoval:
        """Lower once."""
        if node not in self._begun:
            message = f"whether {target} was lowered for {node} before the restart cannot be told"
            return TargetRemoval(state=RemovalState.FAILED, code=WriteCode.UNKNOWN, message=message)
        lowered = self._begun[node]
        if lowered is not None:
            return TargetRemoval(state=RemovalState.FINISHED, generation=lowered)
        try:
            reading = self._targets.read(target)
        except (ApiError, UnreachableError) as error:
            result = unread(error, str(target))
            return TargetRemoval(state=RemovalState.DRAINING, code=result.code, message=result.message)
        replicas = reading.facts.replicas or 0
        wrong = not_ours(reading.facts)
        if wrong is None and replicas - 1 < floor:
            message = f"{target} has {replicas} replicas and must keep {floor}"
            wrong = WriteResult(done=False, code=WriteCode.REFUSED, message=message)
        if wrong is None:
            try:
                applied = self._targets.apply(reading, replicas - 1)
            except (ApiError, UnreachableError) as error:
                wrong = failed(error, str(target))
                if wrong.code in (WriteCode.STALE, WriteCode.UNAVAILABLE):
                    return TargetRemoval(state=RemovalState.DRAINING, code=wrong.code, message=wrong.message)
            else:
                self._begun[node] = applied.generation
                return TargetRemoval(state=RemovalState.FINISHED, replicas=replicas - 1, generation=applied.generation)
        # An outcome that nobody knows ends here too: to try again might lower twice.
        del self._begun[node]
        return TargetRemoval(state=RemovalState.FAILED, code=wrong.code, message=wrong.message)
