"""Who else sizes a node pool. A count has no field manager, so this module looks for every possible writer."""

from collections.abc import Iterator

from reconciler.cluster.target import Caution, OtherWriter, OwnerEvidence
from reconciler.platforms.crusoe.facts import wire
from reconciler.platforms.crusoe.facts.rooms import reserved
from reconciler.platforms.crusoe.facts.states import ROTATING, RUNNING, STOPPED, bare
from reconciler.platforms.crusoe.facts.view import BESIDE, KEEPS, TRIMS, CrusoeView
from reconciler.platforms.crusoe.kinds import REMEDIATION_KEYS

REMEDIATION_PHASE = f"{REMEDIATION_KEYS}phase"
_WATCHED = "monitored"
PHASES = (_WATCHED, "cordoned", "draining", "force-draining", "action-running", "uncordoning")
_UNDER_WAY = "IN_PROGRESS"
_CHECKLIST = "see the checklist of examples/crusoe"


def owner(pool: wire.NodePool) -> OwnerEvidence:
    """A state in which nobody may write holds the pool; so does an unknown state."""
    state = bare(pool.state)
    paused = (
        ""
        if state in (RUNNING, ROTATING, "DELETING")
        else f"its state is {state or 'unknown'}, and the loop writes only RUNNING pools"
    )
    return OwnerEvidence(paused=paused, deleting=state == "DELETING")


def unseen(view: CrusoeView) -> str:
    """Which evidence of other writers was not captured; empty if all of it was."""
    missing = [kind for kind in BESIDE if kind not in view.captured]
    if not missing:
        return ""
    return (
        f"{' and '.join(missing)} {'was' if len(missing) == 1 else 'were'} not captured, so it is unknown which machines run "
        "and who replaces them: put them into the snapshot (examples/crusoe explains how)"
    )


def writers(pool: wire.NodePool, view: CrusoeView) -> tuple[OtherWriter, ...]:
    """Everyone who sets its count, or replaces its machines."""
    return tuple(sorted(_writers(pool, view)))


def _writers(pool: wire.NodePool, view: CrusoeView) -> Iterator[OtherWriter]:
    if bare(pool.state) == ROTATING:
        yield OtherWriter(by="rotation", evidence="its state is ROTATING: Crusoe replaces its machines by itself")
    config = pool.autoscaling_config
    if config is not None and config.enabled:
        evidence = f"autoscaling_config: the platform's autoscaler sizes it, {config.min_node_size} to {config.max_node_size}"
        yield OtherWriter(by="Crusoe's autoscaler", evidence=evidence)
    for operation in view.remediations:
        if operation.state == _UNDER_WAY and _concerns(operation, pool, view):
            evidence = f"AutoClusters operation {operation.operation_id} is under way: it replaces machines by itself"
            yield OtherWriter(by="AutoClusters", evidence=evidence)
    yield from _remediated(pool, view)


def _remediated(pool: wire.NodePool, view: CrusoeView) -> Iterator[OtherWriter]:
    """Nodes that Crusoe's remediation has cordoned, drains or resets. SOURCE: the taints and phases of its CronJob. `monitored`
    is the phase of a node to which nothing is done."""
    for name in pool.instance_ids or ():
        node = view.nodes.get(name)
        if node is None:
            continue
        shape = view.shapes[node.shape]
        phase = shape.label(REMEDIATION_PHASE) or ""
        signs = [f"taint {taint.key}" for taint in shape.taints if taint.key.startswith(REMEDIATION_KEYS)]
        signs += [f"label {REMEDIATION_PHASE}={phase}"] if phase not in ("", _WATCHED) else []
        if signs:
            evidence = (
                f"node {node.name} has {' and '.join(signs)}: Crusoe's remediation drains it and resets its machine by itself"
            )
            yield OtherWriter(by="node remediation", evidence=evidence)


def _concerns(operation: wire.ClusterOperation, pool: wire.NodePool, view: CrusoeView) -> bool:
    """Whether it names the pool or one of its machines. An operation that names nothing of any pool may concern all."""
    text = bytes(operation.metadata).decode(errors="replace")

    def named(one: wire.NodePool) -> bool:
        return any(name in text for name in (one.id, *(one.instance_ids or ())))

    return named(pool) or not any(named(one) for one in view.pools)


def keeps_nodes(pool: wire.NodePool, view: CrusoeView) -> str:
    """Why no node of the pool may be removed now; empty if one may."""
    passed = view.behaviour.passed_over.get(pool.id, "")
    if passed:
        return f"when its count was lowered, the platform took a machine that nobody had drained: {passed}"
    if view.behaviour.lowering == KEEPS:
        return ""
    if view.behaviour.lowering == TRIMS:
        return "if its count is lowered here, the platform chooses the machine that it deletes"
    return f"it is not known whether the platform deletes a machine when a count is lowered ({_CHECKLIST}, CRUSOE_LOWERING)"


def cautions(pool: wire.NodePool, view: CrusoeView) -> tuple[Caution, ...]:
    """What the pool's owners should know, although it does not hold the pool."""
    return tuple(sorted(_cautions(pool, view)))


def _cautions(pool: wire.NodePool, view: CrusoeView) -> Iterator[Caution]:
    cluster = view.clusters.get(pool.cluster_id)
    addons = [name for name in (cluster.add_ons if cluster is not None else None) or () if "autoscaler" in name.lower()]
    if addons:
        yield Caution(
            code="AutoscalerAddOn",
            message=f"its cluster has the add-on {addons[0]}: every pool of the cluster is a group of that autoscaler",
            advice="run one autoscaler: hold these groups with a reason and an end, or remove the add-on",
        )
    yield Caution(
        code="Experimental",
        message="the calls that write node pools of Crusoe were tried only on a server of our own",
        advice=f"{_CHECKLIST} before mode Enforce",
    )


def stops(pool: wire.NodePool, view: CrusoeView) -> tuple[str, ...]:
    """Sentences about machines that are stopped, or about to be: the count asks for others in their place.

    SOURCE: the incident that this platform's part began with. One of two reserved machines was stopped for repair, and its
    replacement took its place in the reservation. Then the stopped one could not start, because the stock was empty.
    """
    sentences = []
    for name in sorted(pool.instance_ids or ()):
        node, state = view.nodes.get(name), bare(view.state(name))
        called = f"the machine of node {node.name}" if node is not None else f"machine {name}"
        if state in STOPPED:
            others = len(view.counted(pool))
            brings = (
                "asks for its replacement" if others < pool.count else f"keeps {others} other{'' if others == 1 else 's'} running"
            )
            sentences.append(f"{called} is {state}, so count {pool.count} {brings}{_room(pool, view)}")
        elif node is not None and not node.ready and not node.deleting:
            sentences.append(
                f"node {node.name} is not ready. If its machine is stopped, count {pool.count} asks for the replacement"
                f"{_taken(pool, view)}. Lower it first{_unknown(view)}"
            )
    return tuple(sentences)


def _room(pool: wire.NodePool, view: CrusoeView) -> str:
    """Whether a stopped machine can be started again."""
    reservation = view.reservations.get(pool.reservation_id or "")
    if reservation is None:
        return ""
    room = reserved(reservation, view)
    return f". Reservation {reservation.id} has {'room' if room.left else 'no room'} to start it again: {room.why}"


def _unknown(view: CrusoeView) -> str:
    return "" if view.behaviour.lowering == KEEPS else f", if that deletes no machine ({_CHECKLIST}, CRUSOE_LOWERING)"


def _taken(pool: wire.NodePool, view: CrusoeView) -> str:
    reservation = view.reservations.get(pool.reservation_id or "")
    if reservation is None:
        return ""
    return f", which takes its place in reservation {reservation.id} ({reservation.quantity} machines)"
