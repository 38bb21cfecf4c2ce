"""Pods that mind the zone, on nodes of which nobody can say yet in which zone they will come."""

from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.nodes.node import ZONE_LABEL, NodeShape
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.draft import NOT_OPEN, Draft, GroupDraft, OpenZones
from reconciler.decisions.reasons.pods import TEMPORARY_TAINT, GroupRejects, ZoneNotCertain
from reconciler.plan.reason import Because
from reconciler.scheduling.label_match import selects
from reconciler.scheduling.verdict import Rejection
from reconciler.values.clauses import clauses


def place(
    draft: Draft,
    shape: int,
    count: int,
    nodes: Sequence[int] | None = None,
    elsewhere: Mapping[int, OpenZones] | None = None,
) -> Sequence[tuple[int, int]]:
    """As `SchedulingState.place`; of pods that mind the zone as many go on nodes whose zones are open as run there in any case.

    `elsewhere` are such nodes (None: those of the draft).
    """
    state = draft.state
    if shape not in draft.zone_minded:
        return state.place(shape, count, nodes)
    elsewhere = draft.elsewhere() if elsewhere is None else elsewhere
    if not elsewhere:
        return state.place(shape, count, nodes)
    every = range(state.node_count) if nodes is None else nodes
    certain = [node for node in every if node not in elsewhere]
    pods = count
    # Pods on nodes whose zones are open count in one zone or in another.
    minded = [opened for opened in dict.fromkeys(elsewhere.values()) if opened.loaded and _is_minded(draft, shape, opened)]
    if minded:
        mark = state.mark()
        pods = sum(bound for _, bound in state.place(shape, count, certain))
        state.undo(mark)
    for opened in minded:
        pods = _in_any_case(draft, shape, pods, opened, certain) if pods else 0
    placements = list(state.place(shape, pods, certain)) if pods else []
    left = count - sum(bound for _, bound in placements)
    together: dict[OpenZones, list[int]] = {}
    for node in every:
        if node in elsewhere:
            together.setdefault(elsewhere[node], []).append(node)
    for opened, among in together.items():
        fits = left and any(state.fits(shape, node) for node in among)
        if fits and (pods := _in_any_case(draft, shape, left, opened, among)):
            placements.extend(state.place(shape, pods, among))
            left = count - sum(bound for _, bound in placements)
    return placements


def _is_minded(draft: Draft, shape: int, opened: OpenZones) -> bool:
    """Whether a pod on another node minds the zone of some pod that is on these."""
    pod, there = draft.state.pod_shape(shape), {other for node in opened.nodes for other, _ in draft.state.bound(node)}
    if pod.affinity or pod.anti_affinity:
        return True
    for other in map(draft.state.pod_shape, there - opened.fixed):
        spread = other.namespace == pod.namespace and any(selects(rule.selector, other.labels) for rule in pod.spread)
        if spread or other.anti_affinity:
            return True
    return False


def _in_any_case(draft: Draft, shape: int, count: int, opened: OpenZones, among: Sequence[int]) -> int:
    """How many of the pods run on some of the nodes, in whichever zones these come."""
    state, pods = draft.state, count
    for way in opened.ways:
        mark = state.mark()
        moved = _moved(draft, opened, way)
        pods = sum(placed for _, placed in state.place(shape, pods, [moved.get(node, node) for node in among]))
        state.undo(mark)
        if not pods:
            break
    return pods


def _moved(draft: Draft, opened: OpenZones, way: Sequence[NodeShape]) -> dict[int, int]:
    """Put nodes to come where they are otherwise; the number that each has then. Pods of one zone are on its node."""
    state = draft.state
    zones = {node: state.shape_of(node) for node in opened.nodes}
    loads = {node: state.bound(node) for node in opened.nodes}
    for node, load in loads.items():
        state.leave(node)
        for bound, times in load:
            state.unbind(bound, node, times)
    moved = {}
    for node, zone in zip(opened.nodes, way, strict=True):
        staying = [pair for pair in loads[node] if pair[0] not in opened.fixed]
        for other, load in loads.items():
            if zones[other] == zone or (other == node and zones[node] not in way):
                staying.extend(pair for pair in load if pair[0] in opened.fixed)
        pods = [bound for bound, times in staying for _ in range(times)]
        moved[node] = state.add_node(f"{state.name(node)}-elsewhere", zone, pods)
    return moved


def open_zones(draft: Draft, groups: Sequence[GroupDraft], keys: frozenset[str], known: set[tuple[str, str]]) -> list[int]:
    """Make the zones that the platform fills known to the scheduling state, by a closed node without room in each new one.
    Returns these nodes."""
    opened = []
    for group in groups:
        if group.order is None or group.group.template is None or draft.room(group, group.group.template)[0] <= 0:
            continue
        for zone, shape in group.group.in_zones:
            own = {pair for pair in shape.labels if pair[0] in keys}
            if not own <= known:
                known |= own
                empty = msgspec.structs.replace(shape, allocatable=Resources(), capacity=Resources())
                opened.append(draft.state.add_node(f"{group.group.name}-{zone}-domain", empty))
                draft.state.close(opened[-1])
    return opened


def rejection(draft: Draft, group: GroupDraft, template: NodeShape, shape: int) -> Because | None:
    """What the next node of the group has against the pod, in some zone that it may come in; None when it would run there."""
    landing = draft.next_landing(group) if shape in draft.zone_minded else None
    state, mark = draft.state, draft.state.mark()
    node = state.add_node(_trial(group), template if landing is None else landing.shape, group.daemons)
    verdicts = [(_zone(draft, node), state.verdict(shape, node))]
    opened = draft.elsewhere(group, [node]).get(node, NOT_OPEN) if landing is not None else NOT_OPEN
    for way in opened.ways:
        before = state.mark()
        other = _moved(draft, opened, way)[node]
        verdicts.append((_zone(draft, other), state.verdict(shape, other)))
        state.undo(before)
    state.undo(mark)
    refused = [(zone, verdict) for zone, verdict in verdicts if verdict]
    if not refused:
        return None
    zone, verdict = refused[0]
    if landing is None or (len(refused) == len(verdicts) and _nowhere(draft, group, shape)):
        return GroupRejects(group=group.group.name, plugins=tuple(one.plugin for one in verdict), why=_text(group, verdict))
    zones = tuple(dict.fromkeys(zone for zone, _ in verdicts))
    return ZoneNotCertain(group=group.group.name, zones=zones, zone=zone, why=_text(group, verdict))


def _zone(draft: Draft, node: int) -> str:
    return draft.state.shape_of(node).label(ZONE_LABEL) or ""


def _nowhere(draft: Draft, group: GroupDraft, shape: int) -> bool:
    """Whether the pod would run in none of the zones of the group."""
    for _, node_shape in group.group.in_zones:
        mark = draft.state.mark()
        fits = draft.state.fits(shape, draft.state.add_node(_trial(group), node_shape, group.daemons))
        draft.state.undo(mark)
        if fits:
            return False
    return True


def _writes_taints(group: GroupDraft) -> bool:
    """Whether the policy itself says which taints new nodes have."""
    return len(group.group.chains.get("template.taints", ())) > 1


def _trial(group: GroupDraft) -> str:
    return f"{group.group.name}-try"


_MOST_CHARACTERS = 2_000


def _text(group: GroupDraft, verdict: Sequence[Rejection]) -> str:
    """Without what nobody reads: a rejection repeats what is written in a pod, for each group."""
    text = clauses(f"{rejection.message} [{rejection.plugin}]" for rejection in verdict)
    more = len(text) - _MOST_CHARACTERS
    if more <= 0 and [rejection.plugin for rejection in verdict] == ["TaintToleration"] and not _writes_taints(group):
        return f"{verdict[0].message} ({TEMPORARY_TAINT}) [TaintToleration]"
    return text if more <= 0 else f"{text[:_MOST_CHARACTERS]}… ({more} characters more)"
