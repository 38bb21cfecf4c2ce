"""Node pools of Crusoe Managed Kubernetes as targets, and their machines."""

from reconciler.cluster.target import Machine, TargetFacts, TargetRef
from reconciler.cluster.values.instant import unix_seconds
from reconciler.cluster.values.selection import label_pairs
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.platforms.crusoe.facts import wire
from reconciler.platforms.crusoe.facts.failures import launch_failure
from reconciler.platforms.crusoe.facts.ownership import cautions, keeps_nodes, owner, stops, unseen, writers
from reconciler.platforms.crusoe.facts.rooms import rooms
from reconciler.platforms.crusoe.facts.states import GOING, LACKING, STOPPED, bare
from reconciler.platforms.crusoe.facts.template import template
from reconciler.platforms.crusoe.facts.view import CrusoeView
from reconciler.platforms.crusoe.kinds import NODE_POOL

PROVIDER_ID = "crusoe://"


def reference(pool: wire.NodePool, view: CrusoeView) -> TargetRef:
    """The pool by location and name."""
    return TargetRef(kind=NODE_POOL, region=view.location(pool), name=pool.name)


def facts(pool: wire.NodePool, view: CrusoeView) -> TargetFacts:
    """The facts of one pool. The labels of its nodes are in `labels`, because discovery selects by them."""
    place = reference(pool, view)
    nowhere = () if place.region else ("its location is unknown: none of its machines and no cluster was captured",)
    return TargetFacts(
        ref=place,
        uid=pool.id,
        replicas=pool.count,
        read_seconds=pool.read_seconds,
        labels=label_pairs(pool.node_labels or {}),
        template=template(pool, view),
        owner=owner(pool),
        writers=writers(pool, view),
        unseen=unseen(view),
        launch_failure=launch_failure(pool, view),
        cautions=cautions(pool, view),
        rooms=rooms(pool, view),
        unrecorded_owner="a node pool of Crusoe does not record who owns its count",
        keeps_nodes=keeps_nodes(pool, view),
        clusters=(pool.cluster_id,) if pool.cluster_id else (),
        problems=(*nowhere, *stops(pool, view)),
    )


def machines(pool: wire.NodePool, view: CrusoeView) -> list[Machine]:
    """One row per machine. The pool's count does not include stopped machines, machines that are being deleted, and those that it
    was lowered for."""
    target = reference(pool, view)
    return [_machine(name, view, target, lowered=view.lowered_for(pool, name)) for name in pool.instance_ids or ()]


def _machine(name: str, view: CrusoeView, target: TargetRef, *, lowered: bool) -> Machine:
    instance, node = view.instances.get(name), view.nodes.get(name)
    state = bare(instance.state) if instance is not None else ""
    return Machine(
        namespace=target.region,
        name=name,
        target=target,
        node=node.name if node is not None else "",
        provider_id=f"{PROVIDER_ID}{name}",
        created_seconds=_seconds(instance.created_at) if instance is not None else 0,
        deleting=lowered or state in GOING or state in STOPPED,
        delete_marked=name in view.behaviour.cancelled,
        failed="its machine lacks resources (BLOCKED)" if state == LACKING else "",
        phase=state,
    )


def _seconds(text: str) -> int:
    try:
        return unix_seconds(text) if text else 0
    except UnreadableError:
        return 0
