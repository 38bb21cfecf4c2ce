"""How node pools and the objects around them are read from the answers of Crusoe's API.

All its lists are called `items`. A snapshot keeps each list below its own key, which names the kind.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from reconciler.cluster.platform_reading import Key, KindObjects, Objects, PlatformObjects, Rows
from reconciler.cluster.targets.machine_rows import normalized_provider_id
from reconciler.platforms.crusoe.facts import pool, wire
from reconciler.platforms.crusoe.facts.ownership import PHASES, REMEDIATION_PHASE
from reconciler.platforms.crusoe.facts.shown import shown, words_of_instance, words_of_pool
from reconciler.platforms.crusoe.facts.states import bare
from reconciler.platforms.crusoe.facts.view import CrusoeView
from reconciler.platforms.crusoe.kinds import (
    BEHAVIOUR,
    CAPACITY,
    CLUSTER,
    INSTANCE,
    MACHINE_TYPE,
    NODE_POOL,
    OPERATION,
    REMEDIATION,
    REMEDIATION_KEYS,
    RESERVATION,
)


def rows(objects: Objects) -> Rows:
    """Pools and their machines. Crusoe lists a deleted pool for a while."""
    seen = view(objects)
    return Rows(
        targets=[pool.facts(item, seen) for item in seen.pools],
        machines=[row for item in seen.pools for row in pool.machines(item, seen)],
    )


def view(objects: Objects) -> CrusoeView:
    """Everything that was read, by its lookup key. Ids of machines are compared in lower case: some hosts report theirs in
    capitals."""
    nodes = ((normalized_provider_id(node.provider_id).lower(), node) for node in objects.nodes)
    return CrusoeView(
        pools=tuple(item for item in objects.of(NODE_POOL).values() if bare(item.state) != "DELETED"),
        instances={item.id: item for item in objects.of(INSTANCE).values()},
        clusters={item.id: item for item in objects.of(CLUSTER).values()},
        reservations={item.id: item for item in objects.of(RESERVATION).values()},
        stock={(item.type, item.location): item.quantity for item in objects.of(CAPACITY).values()},
        types={item.product_name: item for item in objects.of(MACHINE_TYPE).values()},
        operations=tuple(objects.of(OPERATION).values()),
        remediations=tuple(objects.of(REMEDIATION).values()),
        behaviour=next(iter(objects.of(BEHAVIOUR).values()), wire.Behaviour()),
        captured=objects.captured - {NODE_POOL},
        nodes={name: node for name, node in nodes if name},
        shapes=objects.shapes,
    )


def _kind(read: type[msgspec.Struct], key: Callable[[Any], Key]) -> KindObjects:
    return KindObjects(type=read, key=key, shown=partial(shown, read))


OBJECTS = PlatformObjects(
    kinds={
        NODE_POOL: KindObjects(
            type=wire.NodePool,
            key=lambda item: ("", item.id),
            shown=partial(shown, wire.NodePool),
            words_of=words_of_pool,
        ),
        INSTANCE: KindObjects(
            type=wire.Instance,
            key=lambda item: ("", item.id),
            shown=partial(shown, wire.Instance),
            words_of=words_of_instance,
        ),
        CLUSTER: _kind(wire.Cluster, lambda item: ("", item.id)),
        CAPACITY: _kind(wire.Capacity, lambda item: (item.location, item.type)),
        RESERVATION: _kind(wire.Reservation, lambda item: ("", item.id)),
        MACHINE_TYPE: _kind(wire.MachineType, lambda item: ("", item.product_name)),
        OPERATION: _kind(wire.PoolOperation, lambda item: ("", item.operation_id)),
        REMEDIATION: _kind(wire.ClusterOperation, lambda item: ("", item.operation_id)),
        BEHAVIOUR: _kind(wire.Behaviour, lambda _: ("", "")),
    },
    rows=rows,
    words=(REMEDIATION_PHASE, *(f"{REMEDIATION_KEYS}{word}" for word in ("scheduled", "draining", "maintenance")), *PHASES),
)
