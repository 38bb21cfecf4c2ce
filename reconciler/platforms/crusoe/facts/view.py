"""What is known beside the pools: what the facts of one pool are read against."""

from collections.abc import Mapping

import msgspec

from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.platforms.crusoe.facts import wire
from reconciler.platforms.crusoe.facts.states import counts

KEEPS, TRIMS = "Keeps", "Trims"


BESIDE = ("CrusoeInstance", "CrusoeClusterOperation")
"""What is read beside the pools, so that nobody who sizes them is overlooked."""


class CrusoeView(msgspec.Struct, frozen=True, kw_only=True):
    """`pools` are all that were read, `instances`, `clusters`, `reservations` and `types` by their ids, `stock` by type and
    location, `operations` and `remediations` as listed. `captured` says which kinds were read at all, `nodes` are those of the
    cluster by the id of their machine, which index `shapes`."""

    pools: tuple[wire.NodePool, ...] = ()
    instances: Mapping[str, wire.Instance] = {}
    clusters: Mapping[str, wire.Cluster] = {}
    reservations: Mapping[str, wire.Reservation] = {}
    stock: Mapping[tuple[str, str], int] = {}
    types: Mapping[str, wire.MachineType] = {}
    operations: tuple[wire.PoolOperation, ...] = ()
    remediations: tuple[wire.ClusterOperation, ...] = ()
    behaviour: wire.Behaviour = wire.Behaviour()
    captured: frozenset[str] = frozenset(BESIDE)
    nodes: Mapping[str, Node] = {}
    shapes: tuple[NodeShape, ...] = ()

    def location(self, pool: wire.NodePool) -> str:
        """Where a pool is: its cluster says it, else its machines, else those of another pool of its cluster."""
        cluster = self.clusters.get(pool.cluster_id)
        if cluster is not None and cluster.location:
            return cluster.location
        beside = (one for one in self.pools if one.cluster_id == pool.cluster_id)
        places = (
            self.instances[name].location for one in (pool, *beside) for name in one.instance_ids or () if name in self.instances
        )
        return next((place for place in places if place), "")

    def state(self, machine: str) -> str:
        """The state of a machine; empty where it was not read."""
        found = self.instances.get(machine)
        return found.state if found is not None else ""

    def lowered_for(self, pool: wire.NodePool, machine: str) -> bool:
        """Whether the count was lowered already for a machine that is to go and still runs."""
        return pool.count < self.behaviour.leaving.get(machine, 0)

    def counted(self, pool: wire.NodePool) -> tuple[str, ...]:
        """The machines that the count of a pool speaks of."""
        return tuple(name for name in pool.instance_ids or () if counts(self.state(name)))

    def asked(self, pool: wire.NodePool) -> int:
        """How many machines the pool is yet to get."""
        return max(0, pool.count - len(self.counted(pool)))
