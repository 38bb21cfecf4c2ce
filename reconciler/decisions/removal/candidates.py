"""Which nodes could leave at all: how they are used, and what keeps them whatever happens elsewhere."""

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.denials import REMOVAL, denied_now
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.reasons.amounts import permille_text
from reconciler.decisions.removal.disruption import DisruptionLedger
from reconciler.decisions.removal.ignored_pods import ignored_pods, requests_of
from reconciler.decisions.removal.load import NodeLoads
from reconciler.decisions.removal.utilization import has_gpu, utilization_permille
from reconciler.plan.plan import Blocker, NodeState
from reconciler.policy.documents import RemovalReason

SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
DELAY_DELETION_PREFIX = "delay-deletion.cluster-autoscaler.kubernetes.io/"


class Candidate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One node as a removal sees it.

    `reason` is why its own use would let it go (None: it is used, or nobody's), `above_max` that its group is too large;
    `pods` are all pods on it by index, `moving` those by shape that need another place; `blockers` what keeps the node
    whatever happens elsewhere.
    """

    index: int
    group: GroupDraft | None
    state: NodeState
    utilization_permille: int | None
    reason: RemovalReason | None
    above_max: bool
    moving: dict[int, int]
    evicted: dict[int, int]
    pods: tuple[int, ...]
    blockers: tuple[Blocker, ...]


def look_at_nodes(draft: Draft, ledger: DisruptionLedger) -> tuple[Candidate, ...]:
    """Every node of the World, in its order."""
    loads = NodeLoads(draft, ledger)
    return tuple(_look_at(draft, loads, index) for index in range(len(draft.world.nodes)))


def _look_at(draft: Draft, loads: NodeLoads, index: int) -> Candidate:
    world = draft.world
    shape = world.node_shapes[world.nodes[index].shape]
    where = draft.members.group_of[index]
    group = draft.groups[where] if where >= 0 else None
    load = loads.of(index, shape)
    ignored = ignored_pods(world, group.group if group is not None else None, load.pods, draft.cutoff)
    utilization = (
        utilization_permille(shape, load.requested, requests_of(world, ignored))
        if ignored
        else utilization_permille(shape, load.requested)
    )
    state = draft.states[index]
    reason = _reason(draft, group, state, utilization, index, moving=bool(load.moving))
    above_max = group is not None and group.situation.size > group.group.max_size
    if state is NodeState.IN_USE and not load.moving:
        state = NodeState.EMPTY
    elif state is NodeState.IN_USE and reason is RemovalReason.UNDERUTILIZED:
        state = NodeState.UNDERUTILIZED
    own = _own_blockers(draft, group, index, state, utilization, used=reason is None and not above_max)
    return Candidate(
        index=index,
        group=group,
        state=state,
        utilization_permille=utilization,
        reason=reason,
        above_max=above_max,
        moving=load.moving,
        evicted=load.evicted,
        pods=load.pods,
        blockers=(*own, *load.blockers),
    )


def _reason(
    draft: Draft, group: GroupDraft | None, state: NodeState, utilization: int | None, index: int, *, moving: bool
) -> RemovalReason | None:
    if group is None:
        return None
    low = utilization is not None and utilization <= 10 * threshold_percent(draft, group, index)
    if state is NodeState.UNREADY:
        return RemovalReason.UNREADY if low else None
    if not moving:
        return RemovalReason.EMPTY
    return RemovalReason.UNDERUTILIZED if low else None


def threshold_percent(draft: Draft, group: GroupDraft, index: int) -> int:
    """The utilization threshold that applies to one node."""
    shape = draft.world.node_shapes[draft.world.nodes[index].shape]
    if has_gpu(shape):
        return group.group.gpu_utilization_threshold_percent
    return group.group.utilization_threshold_percent


def _own_blockers(
    draft: Draft,
    group: GroupDraft | None,
    index: int,
    state: NodeState,
    utilization: int | None,
    *,
    used: bool,
) -> list[Blocker]:
    """What keeps the node itself, before any pod."""
    if group is None:
        return [Blocker(code="NotManaged", message="no node group of this policy holds it")]
    found = keepers(draft.world, group.group, group.held_why, index)
    if (denied := denied_now(draft.memory, REMOVAL, str(group.group.target), draft.now_seconds)) is not None:
        found.append(Blocker(code=denied.code, message=denied.sentence()))
    if state is NodeState.LEAVING:
        found.append(Blocker(code="Leaving", message="it is leaving already"))
    elif state is NodeState.NOT_STARTED:
        found.append(Blocker(code="NotStarted", message="it has not started yet"))
    elif used:
        percent = threshold_percent(draft, group, index)
        share = "unknown" if utilization is None else permille_text(utilization)
        found.append(Blocker(code="NotUnderutilized", message=f"used at {share}, above the threshold {percent}%"))
    return found


def keepers(world: World, group: EffectiveGroup, held_why: str, index: int) -> list[Blocker]:
    """What keeps a node of a group whatever runs on it: a hold (`held_why`, empty for none), the group's settings and target,
    annotations of the node."""
    found: list[tuple[str, str]] = []
    if held_why:
        found.append(("GroupHeld", held_why))
    if not group.removals_enabled:
        found.append(("ScaleDownDisabled", f"scaleDown.mode of {group.name} is Disabled"))
    if group.facts is not None and group.facts.rolling_out:
        found.append(("RolloutInProgress", f"{group.name} is rolling out a new revision"))
    if group.facts is not None and group.facts.keeps_nodes and world.nodes[index].name not in group.facts.keeps_nodes_but:
        found.append(("TargetKeepsNodes", group.facts.keeps_nodes))
    if group.facts is not None and not group.facts.selectable and not group.platform_chooses:
        why = f"{group.target} has no Machines, so that nobody can choose which node it loses"
        found.append(("NotSelectable", f"{why}; scaleDown.withoutMachines of {group.name} is Block"))
    if not found and not world.nodes[index].annotations:
        return []
    annotations = dict(world.nodes[index].annotations)
    if annotations.get(SCALE_DOWN_DISABLED) == "true":
        found.append(("ScaleDownDisabledAnnotation", f"annotation {SCALE_DOWN_DISABLED} is true"))
    delays = sorted(key for key in annotations if key.startswith(DELAY_DELETION_PREFIX))
    if delays:
        found.append(("DelayDeletion", f"annotation {delays[0]} asks to wait"))
    return [Blocker(code=code, message=message) for code, message in found]
