"""Pods that no node can take -> new nodes: tiers in order, inside a tier the expander's choice, several groups a plan."""

from array import array
from collections import Counter
from collections.abc import Collection, Container, Iterator, Sequence

import msgspec

from reconciler.cluster.nodes.node import ZONE_LABEL, NodeShape
from reconciler.decisions.demand.queue import Queue, Served
from reconciler.decisions.demand.refutations import Refutations
from reconciler.decisions.demand.rejections import rejections
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.cost.posed_problem import Solver
from reconciler.decisions.growth.cost.rearrange import Rearranged, may_gain, rearrange
from reconciler.decisions.growth.cost.tier_growth import GrownNode, Growth
from reconciler.decisions.growth.expanders import Choice, choose, expanders_in_force
from reconciler.decisions.growth.filling import Filling
from reconciler.decisions.growth.open_domains import open_domains, shut_domains, spread_keys
from reconciler.decisions.growth.options import options_of
from reconciler.decisions.growth.other_groups import others_of
from reconciler.decisions.growth.promises import Keeping, keep_promises
from reconciler.decisions.growth.shortlist import Shortlist
from reconciler.decisions.growth.siblings import next_group, siblings
from reconciler.decisions.growth.zones import place, rejection
from reconciler.decisions.limits import UNKNOWN_SHAPE
from reconciler.decisions.platform_rules import rules_of
from reconciler.decisions.reasons.pods import (
    NONE,
    GroupRejects,
    GroupsExhausted,
    NewNode,
    NoGroupFits,
    NotExamined,
    ResourceNotOffered,
    RoomOnNode,
    RoomOnUpcoming,
    ShareUsed,
    SizeDoubtful,
    TemplateRefuted,
)
from reconciler.decisions.reasons.sizes import BelowMin as BelowMinReason
from reconciler.decisions.reasons.sizes import (
    CameElsewhere,
    GrownForShare,
    GrownWhole,
    MinNotReached,
    PendingPods,
    ReservedFirst,
    ZoneTried,
)
from reconciler.decisions.situation.evidence import contradictions
from reconciler.decisions.tier_shares import ShareShort
from reconciler.plan.plan import PodOutcome
from reconciler.plan.reason import Because, Reason
from reconciler.policy.documents import Expander, Tier
from reconciler.scheduling.packing import label_keys


def heal_minimums(draft: Draft) -> None:
    """Groups below their minimum are brought to it in one write, as far as maximum and limits allow."""
    for group in draft.groups:
        missing = group.group.min_size - group.desired
        if missing <= 0 or group.held_why or group.group.facts is None:
            continue
        below = BelowMinReason(current=group.desired, min=group.group.min_size)
        template = group.group.template
        refusal: Because | None
        if template is None:
            # A size needs no template; only limits on capacity would.
            room, refusal = draft.limits.room(group.group, UNKNOWN_SHAPE, missing)
            if room > 0:
                draft.raise_size(group, room)
                draft.limits.count(group.group, UNKNOWN_SHAPE, room)
                group.reasons.append(below.reason())
        else:
            room, refusal = draft.room(group, template)
            if room > 0:
                draft.grow(group, template, draft.step(group, template, min(missing, room)))
                group.reasons.append(below.reason())
        if room < missing and refusal is not None:
            short = MinNotReached(reached=group.desired, min=group.group.min_size, bound=refusal.sentence())
            group.reasons.append(short.reason())


def fill_existing(draft: Draft, queue: Queue, keeping: Keeping = Keeping.NOT) -> None:
    """Pods that a node which is there, or on its way, or was just decided has room for. `keeping`: how those that were promised
    a node take it before others look for room."""
    upcoming = {node: group for group in draft.groups for node in (*group.upcoming_nodes, *group.new_nodes)}

    def serve(node: int) -> Served:
        return served_by_room(draft, node, upcoming.get(node))

    unlikely = {group.position: nodes for group in draft.groups if (nodes := _for_minimum(draft, group))}

    def avoided(shape: int) -> set[int]:
        tried = (nodes for position, nodes in unlikely.items() if draft.was_tried(draft.groups[position], shape))
        return {node for nodes in tried for node in nodes}

    keep_promises(draft, queue, serve, keeping, avoided)
    for shape, count in queue.waiting():
        if not draft.shares.spend_first(shape, draft.namespace(shape), draft.state.node_count):
            continue
        apart = avoided(shape)
        left = [node for node in range(draft.state.node_count) if node not in apart] if apart else None
        queue.take_on(shape, place(draft, shape, count, left), serve)


def served_by_room(draft: Draft, node: int, coming: GroupDraft | None) -> Served:
    """The outcome of pods on a node that is there, or that is upcoming in the group `coming`."""
    name = draft.state.name(node)
    if coming is None:
        return Served(outcome=PodOutcome.FITS_EXISTING, node=name, reasons=(RoomOnNode(node=name).reason(),))
    reason = RoomOnUpcoming(node=name, group=coming.group.name).reason()
    return Served(outcome=PodOutcome.FITS_UPCOMING, group=coming.group.name, reasons=(reason,))


def grow_for(draft: Draft, queue: Queue) -> None:
    """New nodes, tier by tier; in a tier one option after the other until none serves a pod that is left.

    If the next option would leave another tier with less than its share, that tier grows first. If it cannot serve any of the
    pods, the option is taken all the same: no pod waits for a share.
    """
    refutations = Refutations(draft)
    opened: list[int] = []
    _grow_tiers(draft, queue, refutations, opened)
    shut_domains(draft, opened)
    if opened and spread_keys(draft, [shape for shape, _ in queue.waiting()]):
        # Pods kept their distance from domains that got no node.
        _fill_freed(draft, queue, Growth(draft))
        _grow_tiers(draft, queue, refutations, None)


def _grow_tiers(draft: Draft, queue: Queue, refutations: Refutations, opened: list[int] | None) -> None:
    """Grow tier by tier. `opened` takes the nodes that represent domains which groups could open. None: no such domain counts."""
    unable: set[int] = set()
    for rank in sorted({group.group.tier_rank for group in draft.groups}):
        before = [(len(group.new_nodes), len(group.reasons)) for group in draft.groups]
        first: dict[int, Tier] = {}
        while (short := _grow_rank(draft, queue, rank, refutations, unable, opened)) is not None:
            added = draft.added
            draft.ceiling = added + max(1, short.missing // _STEPS)
            _grow_rank(draft, queue, short.rank, refutations, None, opened)
            draft.ceiling = None
            if draft.added == added:
                unable.add(short.rank)
            first[short.rank] = short.tier
        for group, (nodes, reasons) in zip(draft.groups, before, strict=True):
            if group.group.tier_rank in first and len(group.new_nodes) > nodes:
                _tell_share(group, nodes, reasons, first[group.group.tier_rank], instead=draft.policy.tiers[rank].name)
    for group in _tried(draft) if queue.waiting() else ():
        draft.second_turn.add(group.position)
        _fill_for_minimum(draft, queue, group)
        _grow_rank(draft, queue, group.group.tier_rank, refutations, None, opened)
    draft.second_turn.clear()


def _tried(draft: Draft) -> list[GroupDraft]:
    """Groups that failed, the one that failed longest ago first. Those that are still backed off come last: they only have room
    on nodes that they need for their minimum."""
    failures = draft.memory.last_failures
    tried = [group for group in draft.groups if group.group.name in failures]
    return sorted(tried, key=lambda group: (draft.growth_stop(group) is not None, failures[group.group.name], group.position))


def _for_minimum(draft: Draft, group: GroupDraft) -> tuple[int, ...]:
    """Nodes to come that the group needs for its minimum alone. If it failed, it asks for them again and again."""
    if group.group.name not in draft.memory.last_failures or group.situation.current > group.group.min_size:
        return ()
    return (*group.upcoming_nodes, *group.new_nodes)


def _fill_for_minimum(draft: Draft, queue: Queue, group: GroupDraft) -> None:
    nodes = _for_minimum(draft, group)
    for shape, count in queue.waiting() if nodes else ():
        if draft.shares.spend(shape, draft.namespace(shape), len(nodes)):
            queue.take_on(shape, place(draft, shape, count, nodes), lambda node: served_by_room(draft, node, group))


_STEPS = 4
"""A tier gets a quarter of what it lacks for its share at a time. If its machines are larger, fewer of them leave fewer pods for
the other tier, and so it needs fewer in the end."""


def _tell_share(group: GroupDraft, nodes: int, reasons: int, tier: Tier, instead: str) -> None:
    """Add the reason for growth to a share. `nodes` and `reasons` are how many of each the group had before. The reasons of
    several steps become one."""
    steps = [reason.data for reason in group.reasons[reasons:] if reason.code == PendingPods.code]
    if len(steps) > 1:
        others = [reason for reason in group.reasons[reasons:] if reason.code != PendingPods.code]
        pods, grown = (sum(int(str(step[name])) for step in steps) for name in ("pods", "nodes"))
        told = {name: tuple(map(str, value)) for name, value in steps[0].items() if isinstance(value, tuple)}
        merged = PendingPods(pods=pods, nodes=grown, expander=str(steps[0]["expander"]), **told)
        group.reasons[reasons:] = [merged.reason(), *others]
    because = GrownForShare(nodes=len(group.new_nodes) - nodes, tier=tier.name, percent=tier.share_percent, instead=instead)
    group.reasons.append(because.reason())


def _grow_rank(
    draft: Draft,
    queue: Queue,
    rank: int,
    refutations: Refutations,
    unable: Collection[int] | None,
    opened: list[int] | None,
) -> ShareShort | None:
    """Grow the groups of one tier until no option is left. If the next one would take from the share of another tier, growth ends
    with that tier. Tiers `unable` to serve these pods do not count (None: all tiers). `opened`: see `_grow_tiers`."""
    tier = [group for group in draft.groups if group.group.tier_rank == rank and draft.growth_stop(group) is None]
    if opened is not None:
        opened += open_domains(draft, tier, [shape for shape, _ in queue.waiting()])
    expanders = expanders_in_force(draft.policy.expanders, (group.group.price_micros for group in tier))
    if (short := _take_reserved(draft, queue, tier, expanders, refutations, unable)) is not None:
        return short
    growth = Growth(draft)
    before = queue.taken, [len(group.reasons) for group in draft.groups]
    short = _grow_tier(draft, queue, tier, growth, expanders, refutations, unable)
    mixes = expanders[0] in (Expander.LEAST_COST, Expander.LEAST_WASTE) and not draft.work.exhausted
    grown = growth.nodes() if mixes and may_gain(draft, tier, growth) else []
    if _may_mix(draft, tier, grown, refutations):
        rearranged = rearrange(draft, tier, growth, expanders[0], grown, queue.waiting())
        if rearranged is not None:
            _serve_again(draft, queue, rearranged, *before)
        if rearranged is not None and rearranged.bought is not None:
            short = _grow_tier(draft, queue, tier, growth, expanders, refutations, unable)
    return short


def grow_cheapest(draft: Draft, queue: Queue, tier: list[GroupDraft], solve: Solver) -> list[GrownNode]:
    """Grow priced groups, as if they were one tier, at the least cost for the pods of a queue; the new nodes."""
    refutations, growth = Refutations(draft), Growth(draft)
    expanders = expanders_in_force((Expander.LEAST_COST,), (group.group.price_micros for group in tier))
    _grow_tier(draft, queue, tier, growth, expanders, refutations, None)
    grown = growth.nodes()
    if not queue.waiting() and may_gain(draft, tier, growth) and _may_mix(draft, tier, grown, refutations):
        better = rearrange(draft, tier, growth, expanders[0], grown, solve=solve)
        if better is not None and better.bought is not None:
            return [*better.stay, *better.bought]
    return grown


def _take_reserved(
    draft: Draft,
    queue: Queue,
    tier: list[GroupDraft],
    expanders: tuple[Expander, ...],
    refutations: Refutations,
    unable: Collection[int] | None,
) -> ShareShort | None:
    """Grow into the free reserved capacity of a tier first: it is paid for whether it is used or not. No better mix is looked for
    afterwards, because the prices of nodes would not count here. Shares count as in `_grow_rank`."""
    free = [(group, group.desired, draft.limits.reserved(group.group)) for group in tier]
    reserved = [group for group, _, left in free if left > 0]
    if not reserved:
        return None
    draft.reserved_only = True
    short = _grow_tier(draft, queue, reserved, Growth(draft), expanders, refutations, unable)
    draft.reserved_only = False
    for group, before, left in free:
        facts = group.group.facts
        if group.desired > before and facts is not None:
            first = ReservedFirst(nodes=group.desired - before, room=facts.reserved[0].name, left=left)
            group.reasons.append(first.reason())
    return short


def _may_mix(draft: Draft, tier: list[GroupDraft], nodes: list[GrownNode], refutations: Refutations) -> bool:
    """Whether a better mix than these nodes may be looked for.

    The search asks templates alone, so that no node may refute one of them for the pods that move. It also keeps no order of
    nodes, from which zones follow where pods mind the zone.
    """
    on_new = {(node.position, shape) for node in set(nodes) for shape, _ in node.load}
    if any(draft.groups[position].order is not None and shape in draft.zone_minded for position, shape in on_new):
        return False
    moved = {shape for _, shape in on_new}
    waiting = [(shape, 1) for shape in moved]
    return bool(moved) and not any(_tried_for(draft, one, waiting) or refutations.refutes_any(one, moved) for one in tier)


def _grow_tier(
    draft: Draft,
    queue: Queue,
    tier: list[GroupDraft],
    growth: Growth,
    expanders: tuple[Expander, ...],
    refutations: Refutations,
    unable: Collection[int] | None,
) -> ShareShort | None:
    pending = [draft.state.pod_shape(shape) for shape, _ in queue.waiting()]
    # Of the pods that run only anti-affinity reaches new nodes; taking all that they look at costs nothing and is safe.
    templates = [group.group.template for group in tier if group.group.template is not None]
    keys = draft.keys_of_all | label_keys([*pending, *draft.claiming], templates)
    near = draft.policy.near_tie_percent
    filling = Filling(draft)
    shortlist = Shortlist(tier, keys, expanders, near)
    refuted = {group.position: tried for group in tier if (tried := _tried_for(draft, group, queue.waiting()))}
    while waiting := [(shape, pods) for shape, pods in queue.waiting() if draft.shares.open(shape, draft.namespace(shape))]:
        options = options_of(draft, shortlist.groups(sum(pods for _, pods in waiting)), waiting, keys, filling, refuted)
        if draft.work.exhausted:
            break
        if not shortlist.learn(options):
            continue
        if not options:
            break
        choice = choose(options, expanders, near)
        group = draft.groups[choice.option.position]
        vain = frozenset(shape for shape, _ in choice.option.bindings.served if refutations.of(group, shape) is not None)
        for shape in vain:
            _note(draft, group, shape, refutations)
        if vain:
            refuted[group.position] = refuted.get(group.position, frozenset()) | vain
            continue
        short = draft.tier_shares.first_short(group.group, choice.option.nodes, unable) if unable is not None else None
        if short is not None:
            return short
        _commit(draft, queue, choice, others_of(draft, options, waiting) if queue.names_others else ())
        _fill_freed(draft, queue, growth)
    return None


def _tried_for(draft: Draft, group: GroupDraft, waiting: Sequence[tuple[int, int]]) -> frozenset[int]:
    if group.group.name not in draft.memory.last_failures:
        return frozenset()
    return frozenset(shape for shape, _ in waiting if draft.was_tried(group, shape))


def _serve_again(
    draft: Draft, queue: Queue, rearranged: Rearranged, taken_before: dict[int, int], reasons_before: list[int]
) -> None:
    """Pods of this tier whose nodes were chosen again get the new nodes, and the groups get the new reasons."""
    names = [group.group.name for group in draft.groups]
    if rearranged.bought is None:
        for position in {node.position for node in rearranged.stay}:
            draft.groups[position].reasons.append(rearranged.because.reason())
        return
    left = Counter[tuple[int, str | None]]()
    for node in rearranged.stay:
        left.update({(shape, names[node.position]): pods for shape, pods in node.load})
    moved: dict[int, list[tuple[Served, int]]] = {}
    grown = [
        (draft.groups[position], [node for node in rearranged.bought if node.position == position])
        for position in sorted({node.position for node in rearranged.bought})
    ]
    for group, mine in grown:
        served = _served_by_new(group, rearranged.expander)
        load = Counter[int]()
        for node in mine:
            for shape, pods in node.load:
                load[shape] += pods
        for shape, pods in load.items():
            moved.setdefault(shape, []).append((served, pods))
    reduced: set[str | None] = set()

    def staying(shape: int, entry: Served, pods: int) -> int:
        if entry.outcome is not PodOutcome.TRIGGERS_SCALE_UP:
            return pods
        stay = min(pods, max(0, left[shape, entry.group]))
        left[shape, entry.group] -= stay
        if stay < pods:
            reduced.add(entry.group)
        return stay

    queue.serve_again(taken_before, staying, moved)
    for group, count in zip(draft.groups, reasons_before, strict=True):
        if group.group.name in reduced:
            del group.reasons[count:]
            _tell_growth(group, [node for node in rearranged.stay if node.position == group.position], rearranged.expander, ())
    for group, mine in grown:
        _tell_growth(group, mine, rearranged.expander, rearranged.compared)
        group.reasons.extend(one.reason() for one in (rearranged.because, rearranged.gap) if one is not None)


def _tell_growth(
    group: GroupDraft, nodes: list[GrownNode], expander: str, compared: tuple[str, ...], others: tuple[str, ...] = ()
) -> None:
    if nodes:
        pods = sum(count for node in nodes for _, count in node.load)
        because = PendingPods(pods=pods, nodes=len(nodes), expander=expander, compared=compared, others=others)
        group.reasons.append(because.reason())


def _served_by_new(group: GroupDraft, expander: str) -> Served:
    reason = NewNode(group=group.group.name, tier=group.group.tier, expander=expander).reason()
    return Served(outcome=PodOutcome.TRIGGERS_SCALE_UP, group=group.group.name, reasons=(reason,))


def _fill_freed(draft: Draft, queue: Queue, growth: Growth) -> None:
    """The last choice may have made room for pods with a spread or affinity constraint. One more pod in a zone allows one in the
    others."""
    bought: dict[int, GroupDraft] = {}
    upcoming: dict[int, GroupDraft] = {}
    for shape, count in queue.waiting():
        pod = draft.state.pod_shape(shape)
        if not (pod.spread or pod.affinity) or not draft.shares.spend(shape, pod.namespace, draft.state.node_count):
            continue
        for node, placed in place(draft, shape, count):
            growth.note(shape, node, placed)
            bought = bought or {node: group for group in draft.groups for node in group.new_nodes}
            upcoming = upcoming or {node: group for group in draft.groups for node in group.upcoming_nodes}
            group = bought.get(node)
            served = served_by_room(draft, node, upcoming.get(node)) if group is None else _served_by_new(group, "")
            queue.take(shape, placed, served)


def _commit(draft: Draft, queue: Queue, choice: Choice, others: tuple[str, ...]) -> None:
    """Carry the chosen option out node by node, shared with siblings where the policy balances."""
    option = choice.option
    group = draft.groups[option.position]
    together, apart = siblings(draft, group)
    together = tuple(one for one in together if one is group or not _tried_for(draft, one, option.bindings.served))
    fixed = any(one.order is not None for one in together) and any(
        shape in draft.zone_minded for shape, _ in option.bindings.served
    )
    shares = _share(draft, queue, choice, together) if len(together) > 1 and not fixed else _keep(draft, queue, choice)
    for position, (nodes, pods) in shares.items():
        pending = PendingPods(
            pods=pods, nodes=nodes, expander=choice.expander, compared=choice.compared, others=others, apart=apart
        )
        draft.groups[position].reasons.append(pending.reason())
    needed = option.bindings.opened
    if group.group.whole and needed < option.nodes:
        group.reasons.append(GrownWhole(nodes=option.nodes, needed=needed, max=group.group.max_size).reason())


def _keep(draft: Draft, queue: Queue, choice: Choice) -> dict[int, tuple[int, int]]:
    """All nodes of the option for its own group; (nodes, pods) by the position of the group."""
    option = choice.option
    group = draft.groups[option.position]
    template = group.group.template
    if template is None:
        return {}
    nodes = draft.grow(group, template, option.nodes)
    filled = option.bindings
    draft.state.bind_list(array("i", [nodes[number] for number in filled.nodes]), filled.shapes, filled.counts)
    served = _served_by_new(group, choice.expander)
    for shape, pods in filled.served:
        queue.take(shape, pods, served)
    return {group.position: (option.nodes, option.pods)}


def _share(draft: Draft, queue: Queue, choice: Choice, together: tuple[GroupDraft, ...]) -> dict[int, tuple[int, int]]:
    """The nodes of the option one by one over the siblings; (nodes, pods) by the position of each that got some."""
    option = choice.option
    group = draft.groups[option.position]
    loads: list[list[tuple[int, int]]] = [[] for _ in range(option.nodes)]
    for shape, ordinal, count in option.bindings:
        loads[ordinal].append((shape, count))
    served: dict[int, Served] = {}
    shares: dict[int, tuple[int, int]] = {}
    for load in loads:
        taker = _grow_by_one(draft, group, next_group(draft, group, together), load)
        place = taker.position
        if place not in served:
            served[place] = _served_by_new(taker, choice.expander)
        for shape, count in load:
            queue.take(shape, count, served[place])
        nodes, pods = shares.get(place, (0, 0))
        shares[place] = (nodes + 1, pods + sum(count for _, count in load))
    return shares


def _grow_by_one(draft: Draft, chosen: GroupDraft, sibling: GroupDraft, load: list[tuple[int, int]]) -> GroupDraft:
    """One more node with its pods: of the sibling whose turn it is when all of them run there, else of the chosen one."""
    template = sibling.group.template
    if sibling is not chosen and template is not None:
        mark = draft.state.mark()
        trial = draft.state.add_node("balance", template, sibling.daemons)
        fits = all(sum(n for _, n in draft.state.place(shape, pods, [trial])) == pods for shape, pods in load)
        draft.state.undo(mark)
        if not fits:
            sibling, template = chosen, chosen.group.template
    if template is not None:
        (node,) = draft.grow(sibling, template, 1)
        for shape, pods in load:
            draft.state.bind(shape, node, pods)
    return sibling


_MOST_RESOURCES = 5
"""Of those that no group offers so many are named: a pod may ask for thousands."""
_A_NAMED_RESOURCE = 25
"""Steps to look up who declares a resource, and to write the reason."""


def explain_rest(draft: Draft, queue: Queue) -> None:
    """Every pod that is left gets all its reasons: which groups would not run it and why, which may not grow and why."""
    refutations = Refutations(draft)
    shapes = (shape for group in draft.groups for shape in (group.group.template, group.group.stated) if shape is not None)
    offered = {name for shape in shapes for name, _ in shape.allocatable.items()}
    kinds = sorted({group.group.target.kind for group in draft.groups})
    for shape, count in queue.waiting():
        draft.shares.book()
        if draft.work.exhausted:
            reason = NotExamined(spent=draft.work.budget).reason()
            queue.take(shape, count, Served(outcome=PodOutcome.UNPLACEABLE, reasons=(reason,)))
            continue
        namespace = draft.namespace(shape)
        if not draft.shares.open(shape, namespace):
            draft.shares.delay(namespace, count)
            spent = draft.shares.spent.get(namespace, 0)
            reason = ShareUsed(namespace=namespace, share=draft.shares.each, spent=spent).reason()
            queue.take(shape, count, Served(outcome=PodOutcome.UNPLACEABLE, reasons=(reason,)))
            continue
        able, details = _why_no_group(draft, shape, refutations)
        there = len(draft.world.nodes)
        rejection_texts = rejections(draft, shape, range(there)) if draft.shares.spend(shape, namespace, there) else ()
        if able:
            first = GroupsExhausted(groups=able, nodes=there, rejections=rejection_texts).reason()
        else:
            first = NoGroupFits(groups=len(draft.groups), nodes=there, rejections=rejection_texts).reason()
        lacking = () if able or not offered else _not_offered(draft, shape, offered, kinds)
        queue.take(shape, count, Served(outcome=PodOutcome.UNPLACEABLE, reasons=(first, *lacking, *details)))


def _not_offered(draft: Draft, shape: int, offered: Container[str], kinds: Sequence[str]) -> tuple[Reason, ...]:
    """What of the requests no group has, with the keys that would declare it for targets of these kinds."""
    names = [name for name, _ in draft.state.pod_shape(shape).requests.items() if name not in offered][:_MOST_RESOURCES]
    if not draft.shares.spend(shape, draft.namespace(shape), _A_NAMED_RESOURCE * len(names)):
        return ()
    reasons = []
    devices = any(group.group.template is not None and group.group.template.devices for group in draft.groups)
    for name in names:
        served = draft.state.is_served(name)
        if served and devices:
            # Each group says for itself which of its devices would not do.
            continue
        keys = [rules.declares(name) for kind in kinds if (rules := rules_of(kind)) is not None]
        own = ("template.devices of the policy",) if served else ()
        declaring_keys = (*own, f"template.capacity of the policy ({name})", *dict.fromkeys(key for key in keys if key))
        reasons.append(ResourceNotOffered(resource=name, keys=declaring_keys).reason())
    return tuple(reasons)


def _note(draft: Draft, group: GroupDraft, shape: int, refutations: Refutations) -> None:
    seen = refutations.of(group, shape)
    if isinstance(seen, TemplateRefuted):
        draft.refuted[group.position, shape] = seen


def _note_smaller(draft: Draft, group: GroupDraft, shape: int, rejected: Because) -> None:
    """A node that has less than the template promises, so that the pod would be accepted again once the node is gone."""
    stated = group.group.stated
    if stated is None or stated == group.group.template or not isinstance(rejected, GroupRejects):
        return
    mark = draft.state.mark()
    fits = draft.state.fits(shape, draft.state.add_node(f"{group.group.name}-try", stated, group.daemons))
    draft.state.undo(mark)
    if fits and group.group.made_of_template:
        node = min(group.group.made_of_template)
        draft.refuted[group.position, shape] = TemplateRefuted(group=group.group.name, node=node, why=rejected.why)


def _contradicted(draft: Draft, group: GroupDraft, template: NodeShape, shape: int) -> Iterator[CameElsewhere]:
    """What keeps the group from growing for a pod that would run in a zone where its nodes did not come."""
    for zone, why in contradictions(draft.memory, str(group.group.target), draft.now_seconds):
        mark = draft.state.mark()
        there = msgspec.structs.replace(template, labels=tuple(sorted({**dict(template.labels), ZONE_LABEL: zone}.items())))
        fits = draft.state.fits(shape, draft.state.add_node(f"{group.group.name}-try", there, group.daemons))
        draft.state.undo(mark)
        if fits:
            yield why


def _why_no_group(draft: Draft, shape: int, refutations: Refutations) -> tuple[tuple[str, ...], tuple[Reason, ...]]:
    able: list[str] = []
    details: list[Reason] = []
    for group in draft.groups:
        stop = draft.growth_stop(group)
        template = group.group.template
        if template is None:
            details.extend(one.reason() for one in draft.growth_stops(group))
            continue
        if (unknown := draft.probes.get((group.position, shape))) is not None:
            details.append(unknown.reason())
            if isinstance(unknown, SizeDoubtful) and (rejected := rejection(draft, group, template, shape)) is not None:
                _note_smaller(draft, group, shape, rejected)
            if unknown.step == NONE:
                _, refusal = draft.room(group, template)
                details.extend(one.reason() for one in (stop, refusal) if one is not None)
            continue
        rejected = rejection(draft, group, template, shape)
        if rejected is not None:
            _note_smaller(draft, group, shape, rejected)
            details.append(rejected.reason())
            details.extend(one.reason() for one in _contradicted(draft, group, template, shape))
            continue
        refuted = refutations.of(group, shape)
        if refuted is not None:
            _note(draft, group, shape, refutations)
            details.append(refuted.reason())
            continue
        able.append(group.group.name)
        if shape in draft.zone_minded and draft.tries_again(group, draft.coming(group), shape):
            details.append(ZoneTried(group=group.group.name).reason())
        room, refusal = draft.room(group, template)
        details.extend(one.reason() for one in (stop, refusal if room <= 0 else None) if one is not None)
    return tuple(able), tuple(details)
