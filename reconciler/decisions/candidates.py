"""Which nodes could leave at all: how they are used, and what keeps them whatever happens elsewhere."""

from collections import Counter, defaultdict

import msgspec

from reconciler.cluster.resources import Resources
from reconciler.decisions.disruption import DisruptionLedger
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.drain import DrainJudge, Fate
from reconciler.decisions.reasons.amounts import permille_text
from reconciler.decisions.utilization import has_gpu, utilization_permille
from reconciler.plan.plan import Blocker, NodeState
from reconciler.policy.documents import RemovalReason

SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
DELAY_DELETION_PREFIX = "delay-deletion.cluster-autoscaler.kubernetes.io/"


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One node as a removal sees it.

    `reason` is why it could go by its own use (None: it is used), `above_max` that its group is too large; `pods` are
    all pods on it by index, `moving` those by shape that need another place; `blockers` what keeps the node whatever
    happens elsewhere.
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
    world, pods = draft.world, draft.world.pods
    judge = DrainJudge(world, draft.policy.drain, ledger, draft.now_seconds)
    on_node: dict[int, list[int]] = defaultdict(list)
    for index, node in enumerate(pods.node):
        if node >= 0:
            on_node[node].append(index)
    return tuple(_look_at(draft, judge, ledger, index, on_node.get(index, [])) for index in range(len(world.nodes)))


def _look_at(draft: Draft, judge: DrainJudge, ledger: DisruptionLedger, index: int, on_node: list[int]) -> Candidate:
    world, pods = draft.world, draft.world.pods
    shape = world.node_shapes[world.nodes[index].shape]
    where = draft.members.group_of[index]
    group = draft.groups[where] if where >= 0 else None
    running: Counter[int] = Counter()
    moving: Counter[int] = Counter()
    evicted: Counter[int] = Counter()
    blockers: list[Blocker] = []
    for pod in on_node:
        finished = pods.finished(pod)
        # A pod below the cut-off needs no other place and fills no node, but evicting it asks its budget like any other.
        expendable = world.pod_shapes[pods.shape[pod]].priority < draft.cutoff
        if not finished and not expendable:
            running[pods.shape[pod]] += 1
        verdict = judge.judge(pod)
        if verdict.fate is Fate.STAYS:
            continue
        if not finished:
            evicted[pods.shape[pod]] += 1
        if expendable:
            continue
        blockers.extend(Blocker(code=code, pod=pods.key(pod), message=message) for code, message in verdict.rules)
        if not finished:
            moving[pods.shape[pod]] += 1
    requested = Resources()
    for pod_shape, count in running.items():
        requested = requested.plus(world.pod_shapes[pod_shape].requests, count)
    for pod_shape in moving:
        unmodelled = draft.state.modelled(pod_shape)
        if unmodelled:
            key = next(pods.key(pod) for pod in on_node if pods.shape[pod] == pod_shape)
            message = f"it uses {unmodelled}, which is not modelled, so no other place is known for it"
            blockers.append(Blocker(code="NotModelled", pod=key, message=message))
    blockers.extend(_budget_blockers(draft, ledger, evicted, on_node))
    utilization = utilization_permille(shape, requested)
    state = draft.states[index]
    reason = _reason(draft, group, state, utilization, moving, index)
    above_max = group is not None and group.situation.size > group.group.max_size
    if state is NodeState.IN_USE and not moving:
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
        moving=dict(moving),
        evicted=dict(evicted),
        pods=tuple(on_node),
        blockers=(*own, *sorted(blockers)),
    )


def _budget_blockers(draft: Draft, ledger: DisruptionLedger, moving: Counter[int], on_node: list[int]) -> list[Blocker]:
    found = []
    pods = draft.world.pods
    for shape in moving:
        over = ledger.budgets_of(shape)
        if len(over) > 1:
            # Measured on kube-apiserver 1.36: the eviction of such a pod is answered with an error, whatever is left.
            key = next(pods.key(i) for i in on_node if pods.shape[i] == shape)
            names = ", ".join(ledger.budgets[index].name for index in over)
            message = f"several PodDisruptionBudgets cover it ({names}), which the eviction API refuses"
            found.append(Blocker(code="SeveralPdbs", pod=key, message=message))
    for index in ledger.short(moving):
        budget = ledger.budgets[index]
        needed = sum(count for shape, count in moving.items() if index in ledger.budgets_of(shape))
        pod = next(pods.key(i) for i in on_node if index in ledger.budgets_of(pods.shape[i]))
        allowed = ledger.left[index]
        message = f"PodDisruptionBudget {budget.namespace}/{budget.name} allows {max(0, allowed)} evictions, {needed} are needed"
        found.append(Blocker(code="NotEnoughPdb", pod=pod, message=message))
    return found


def _reason(
    draft: Draft, group: GroupDraft | None, state: NodeState, utilization: int | None, moving: Counter[int], index: int
) -> RemovalReason | None:
    if group is None or state in (NodeState.LEAVING, NodeState.NOT_STARTED, NodeState.UNMANAGED):
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
    node = draft.world.nodes[index]
    if group is None:
        return [Blocker(code="NotManaged", message="no node group of this policy holds it")]
    found: list[tuple[str, str]] = []
    if group.held_why:
        found.append(("GroupHeld", group.held_why))
    if not group.group.removals_enabled:
        found.append(("ScaleDownDisabled", f"scaleDown.mode of {group.group.name} is Disabled"))
    if group.group.facts is not None and group.group.facts.rolling_out:
        found.append(("RolloutInProgress", f"{group.group.name} is rolling out a new revision"))
    if group.group.facts is not None and not group.group.facts.selectable:
        found.append(("NotSelectable", f"{group.group.target} cannot remove a chosen node"))
    annotations = dict(node.annotations)
    if annotations.get(SCALE_DOWN_DISABLED) == "true":
        found.append(("ScaleDownDisabledAnnotation", f"annotation {SCALE_DOWN_DISABLED} is true"))
    delays = sorted(key for key in annotations if key.startswith(DELAY_DELETION_PREFIX))
    if delays:
        found.append(("DelayDeletion", f"annotation {delays[0]} asks to wait"))
    if state is NodeState.LEAVING:
        found.append(("Leaving", "it is leaving already"))
    elif state is NodeState.NOT_STARTED:
        found.append(("NotStarted", "it has not started yet"))
    elif used:
        percent = threshold_percent(draft, group, index)
        share = "unknown" if utilization is None else permille_text(utilization)
        found.append(("NotUnderutilized", f"used at {share}, above the threshold {percent}%"))
    return [Blocker(code=code, message=message) for code, message in found]
