"""What is known in addition to the pools. The facts of one pool are judged with it."""

from collections.abc import Mapping

import msgspec

from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.platforms.crusoe.facts import wire
from reconciler.platforms.crusoe.facts.states import counts

KEEPS, TRIMS = "Keeps", "Trims"


BESIDE = ("CrusoeInstance", "CrusoeClusterOperation")
"""The kinds that are read in addition to the pools, so that no other writer is overlooked."""


class CrusoeView(msgspec.Struct, frozen=True, kw_only=True):
    """`pools` are all that were read. `instances`, `clusters`, `reservations` and `types` are keyed by their ids, `stock` by type
    and location. `operations` and `remediations` are as listed. `captured` names the kinds that were read at all. `nodes` are the
    cluster's nodes by the id of their machine; they index `shapes`."""

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
        """The location of a pool: from its cluster, else from its machines, else from another pool of its cluster."""
        cluster = self.clusters.get(pool.cluster_id)
        if cluster is not None and cluster.location:
            return cluster.location
        beside = (one for one in self.pools if one.cluster_id == pool.cluster_id)
        places = (
            self.instances[name].location for one in (pool, *beside) for name in one.instance_ids or () if name in self.instances
        )
        return next((place for place in places if place), "")

    def state(self, machine: str) -> str:
        """The state of a machine; empty if it was not read."""
        instance = self.instances.get(machine)
        return instance.state if instance is not None else ""

    def lowered_for(self, pool: wire.NodePool, machine: str) -> bool:
        """Whether the count was already lowered for a machine that is to be removed and still runs."""
        return pool.count < self.behaviour.leaving.get(machine, 0)

    def counted(self, pool: wire.NodePool) -> tuple[str, ...]:
        """The machines that the count of a pool includes."""
        return tuple(name for name in pool.instance_ids or () if counts(self.state(name)))

    def asked(self, pool: wire.NodePool) -> int:
        """How many machines the pool still waits for."""
        return max(0, pool.count - len(self.counted(pool)))
