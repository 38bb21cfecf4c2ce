"""The embedded cluster behind the same contract as real ones."""

from collections.abc import Sequence

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.plan.plan import Bound
from reconciler.providers.contract import NodeRemoval, RemovalProgress, RemovalState, ViewUnavailableError, WriteResult
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.writes import SimulatedWrites, Written


class SimulatedPort:
    """A `ClusterPort` over a `SimulatedCluster`. The clock stops while the loop decides. `outage` makes the view unavailable,
    with that message."""

    def __init__(self, cluster: SimulatedCluster, owner: str = "simulation") -> None:
        self._cluster = cluster
        self._writes = SimulatedWrites(cluster, owner, by_itself=False)
        self.outage = ""

    def observe(self) -> World:
        """The cluster as it is at this instant."""
        if self.outage:
            raise ViewUnavailableError(self.outage)
        return self._cluster.world()

    def now_seconds(self) -> int:
        """The virtual clock."""
        return self._cluster.now_seconds

    def resize(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        """An apply that does not force."""
        return _result(self._writes.resize(target, replicas, bound))

    def adopt(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        """Make the field ours with its value."""
        return _result(self._writes.adopt(target, replicas, bound))

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """Remove our marks."""
        return _result(self._writes.release(target, bound))

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> WriteResult:
        """Delete the machines and lower replicas, in one step."""
        return _result(self._writes.cancel(target, machines, replicas, bound))

    def remove_nodes(self, removals: Sequence[NodeRemoval]) -> tuple[WriteResult, ...]:
        """Begin the drains; they go on while virtual time passes."""
        return tuple(_result(self._writes.remove_node(one.target, one.node, one.bound)) for one in removals)

    def call_off(self, target: TargetRef, node: str, why: str) -> None:
        """End the drain at once."""
        self._writes.call_off(target, node, why)

    def continue_removals(self) -> tuple[RemovalProgress, ...]:
        """Report how far each removal is, and hand on empty nodes. Evictions go on by themselves here."""
        self._writes.finish_empty()
        ended = tuple(
            RemovalProgress(
                target=end.target,
                node=end.node,
                state=RemovalState.FAILED if end.code else RemovalState.FINISHED,
                replicas=end.replicas,
                generation=end.generation,
                code=end.code,
                message=end.message,
            )
            for end in self._writes.ended()
        )
        draining = tuple(
            RemovalProgress(target=target, node=node, state=RemovalState.DRAINING, remaining=left, message=refusal)
            for target, node, left, refusal in self._writes.draining()
        )
        return (*ended, *draining)


def _result(written: Written) -> WriteResult:
    return WriteResult(code=written.code, message=written.message, generation=written.generation)
