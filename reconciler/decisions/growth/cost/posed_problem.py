"""Translates a draft to a problem in numbers, and back.

Pods under rules about zones (or other domains) take part, too. Each domain gets as many pods of each shape as before, so that
the counts behind these rules stay the same. Only `Odd` pods may change their domain.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType

import msgspec

from reconciler.cluster.values.resources import Resources
from reconciler.decisions.demand.worth import worth
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.cost.problem import Cap, Filling, Item, Mix, Offer, Problem
from reconciler.decisions.growth.cost.tier_growth import GrownNode
from reconciler.decisions.growth.expanders import bought_capacity, near_tie, wasted
from reconciler.policy.documents import Expander

Domain = tuple[str | None, ...]
"""Values of the topology keys that concern a shape, in order of the keys."""
Odd = Mapping[tuple[int, Domain], tuple[Domain, ...]]
"""By shape and domain the other domains in which one of its pods may be instead."""
NONE_ODD: Odd = {}
Solver = Callable[[], ModuleType | None]
_Asked = tuple[int, tuple[Domain, ...]]
"""A shape and the domains in which its pods may be."""


class Weighing(msgspec.Struct, frozen=True):
    """The weight of a node. For LeastCost it is its price. For LeastWaste it is the worth of its capacity, plus `a_node`, because
    each machine has to be booted, patched and watched. `requested` is the worth of what all pods request."""

    by: Expander
    requested: int = 0
    a_node: int = 0

    def of(self, group: GroupDraft) -> int | None:
        """None where the capacity is unknown of a node of the group counts."""
        if self.by is Expander.LEAST_COST:
            return group.group.price_micros
        template = group.group.template
        return None if template is None else _weight(worth(bought_capacity(template))) + self.a_node

    def sum(self, draft: Draft, nodes: Sequence[GrownNode]) -> int:
        """What all the nodes count."""
        by_group = Counter(node.position for node in nodes)
        return sum((self.of(draft.groups[position]) or 0) * count for position, count in by_group.items())

    def better(self, draft: Draft, ours: Sequence[GrownNode], others: Sequence[GrownNode]) -> bool:
        """Whether the first cost less, or as much with fewer nodes. For LeastWaste: waste less, near ties to fewer nodes."""
        if self.by is Expander.LEAST_COST:
            return (self.sum(draft, ours), len(ours)) < (self.sum(draft, others), len(others))
        less, more = (wasted(worth(capacity_of_problem(draft, nodes)), self.requested) for nodes in (ours, others))
        if len(ours) < len(others):
            return less <= more + near_tie(draft.policy.near_tie_percent)
        return less < more and (len(ours) == len(others) or less + near_tie(draft.policy.near_tie_percent) < more)


def _weight(amount: int) -> int:
    """A worth in micros, as prices are."""
    return amount // (1000 << 30)


def weighing(draft: Draft, groups: Sequence[GroupDraft], nodes: Sequence[GrownNode], by: Expander) -> Weighing:
    """LeastCost if the policy sets it and every group has a price, else LeastWaste next to `nodes`. There, one machine less
    counts `nearTiePercent` of the smallest machine: near ties go to fewer machines, as in a single choice."""
    if by is Expander.LEAST_COST and all(group.group.price_micros is not None for group in groups):
        return Weighing(by)
    requested = sum(
        worth(draft.state.pod_shape(shape).requests) * pods * times
        for node, times in Counter(nodes).items()
        for shape, pods in node.load
    )
    plain = Weighing(Expander.LEAST_WASTE, requested)
    smallest = min((plain.of(group) or 0 for group in groups), default=0)
    return msgspec.structs.replace(plain, a_node=smallest * draft.policy.near_tie_percent // 100)


class Posed(msgspec.Struct, frozen=True):
    """A problem and the meaning of its numbers: `shapes` by item, group `positions` by offer. A shape is several items if its
    pods are in several domains. `given` is the previous growth."""

    problem: Problem
    shapes: tuple[int, ...]
    positions: tuple[int, ...]
    given: Mix
    weigh: Weighing = Weighing(Expander.LEAST_COST)

    def nodes(self, mix: Mix) -> list[GrownNode]:
        """The nodes of a mix: by group in canonical order, full ones first."""
        grown = []
        for filling, times in sorted(mix, key=lambda pair: (pair[0].offer, [-pods for pods in pair[0].load])):
            load = Counter[int]()
            for shape, pods in zip(self.shapes, filling.load, strict=True):
                load[shape] += pods
            on_it = tuple(sorted((shape, pods) for shape, pods in load.items() if pods))
            grown += [GrownNode(self.positions[filling.offer], on_it)] * times
        return grown


def pose(
    draft: Draft,
    tier: Sequence[GroupDraft],
    nodes: Sequence[GrownNode],
    keys: Mapping[int, frozenset[str]],
    by: Expander = Expander.LEAST_COST,
    odd: Odd = NONE_ODD,
) -> Posed | None:
    """The pods of `nodes` over the groups of a tier, asked at the point before those nodes; `keys` are topology keys by shape.
    None when `nodes` are of a group that may not grow."""
    groups = [group for group in tier if group.group.template is not None and draft.room(group, group.group.template)[0] > 0]
    weigh = weighing(draft, groups, nodes, by)
    by_position = {group.position: index for index, group in enumerate(groups)}
    if any(node.position not in by_position for node in nodes):
        return None
    loads = _loads(draft, nodes, keys, odd)
    sums = Counter[_Asked]()
    for (_, load), times in loads.items():
        for one, pods in load:
            sums[one] += pods * times
    asked = tuple(sorted(sums, key=lambda one: (one[0], [[value or "" for value in domain] for domain in one[1]])))
    names = sorted({name for shape, _ in asked for name, _ in draft.state.pod_shape(shape).requests.items()})
    needs = {shape: _row(draft.state.pod_shape(shape).requests, names) for shape, _ in asked}
    offers, lets_in, left = [], [], []
    for group in groups:
        template, price = group.group.template, weigh.of(group)
        if template is None or price is None:
            continue
        mark = draft.state.mark()
        trial = draft.state.add_node(f"{group.group.name}-try", template, group.daemons)
        free = _row(template.allocatable.plus(draft.state.used(trial), -1), names)
        lets_in.append(
            [
                (draft.state.enters(shape, trial) and all(map(int.__le__, needs[shape], free)))
                if keys[shape]
                else draft.state.fits(shape, trial)
                for shape, _ in asked
            ]
        )
        draft.state.undo(mark)
        here = {one: domain_of_pod(group, one) for one in set(keys.values())}
        for index, (shape, domains) in enumerate(asked):
            if here[keys[shape]] not in domains:
                lets_in[-1][index] = False
        offers.append(Offer(price_micros=price, free=free, most=draft.room(group, template)[0]))
        left.append(draft.limits.left(group.group, template))
    items = tuple(
        Item(count=sums[one], need=needs[one[0]], offers=tuple(row[index] for row in lets_in)) for index, one in enumerate(asked)
    )
    pace = draft.addable()
    problem = Problem(items=items, offers=tuple(offers), caps=_caps(left, pace, sum(sums.values())))
    given: Counter[Filling] = Counter()
    for (position, load), times in loads.items():
        pods_of = dict(load)
        given[Filling(by_position[position], tuple(pods_of.get(one, 0) for one in asked))] += times
    positions = tuple(group.position for group in groups)
    return Posed(problem, tuple(shape for shape, _ in asked), positions, tuple(sorted(given.items())), weigh)


def _loads(
    draft: Draft, nodes: Sequence[GrownNode], keys: Mapping[int, frozenset[str]], odd: Odd
) -> Counter[tuple[int, tuple[tuple[_Asked, int], ...]]]:
    """How many nodes of the group at a position have a load. Of a shape with an odd pod in a domain, one node there has it."""
    loads, left = Counter[tuple[int, tuple[tuple[_Asked, int], ...]]](), dict(odd)
    for node, times in Counter(nodes).items():
        domains = {shape: domain_of_pod(draft.groups[node.position], keys[shape]) for shape, _ in node.load}
        load: dict[_Asked, int] = {(shape, (domains[shape],)): pods for shape, pods in node.load}
        moving = [pair for pair in domains.items() if pair in left] if left else []
        if times > bool(moving):
            loads[node.position, tuple(load.items())] += times - bool(moving)
        for shape, domain in moving:
            load[shape, (domain,)] -= 1
            load[shape, (domain, *left.pop((shape, domain)))] = 1
        if moving:
            loads[node.position, tuple(load.items())] += 1
    return loads


_FEW_NODES = 24
"""Among more nodes, one that is there for a pod in the wrong domain hardly counts."""
_RULES_OF_DOMAINS = frozenset({"InterPodAffinity", "PodTopologySpread"})


def odd_pods(draft: Draft, groups: Sequence[GroupDraft], nodes: Sequence[GrownNode], keys: Mapping[int, frozenset[str]]) -> Odd:
    """Pods that may change their domain: of four pods spread over three zones, two are in one of them, and it may be any. No
    domain gives a pod of a shape and gets one, or gets two. Asked while the draft has the nodes."""
    odd: dict[tuple[int, Domain], tuple[Domain, ...]] = {}
    state = draft.state
    for shape in sorted({shape for node in nodes for shape, _ in node.load}) if len(nodes) <= _FEW_NODES else ():
        if not keys[shape]:
            continue
        ways = {domain_of_pod(group, keys[shape]): group for group in reversed(groups) if group.group.template is not None}
        draft.work.spend(len(ways) ** 2)
        touched = set[Domain]()
        for home in ways:
            node = _node_with(draft, shape, [group for group in groups if domain_of_pod(group, keys[shape]) == home])
            if node is None or home in touched:
                continue
            mark = state.mark()
            state.unbind(shape, node)
            others = tuple(one for one in ways if one not in touched | {home} and _lets_in(draft, ways[one], shape))
            state.undo(mark)
            if others:
                touched.update((home, *others))
                odd[shape, home] = others
    return odd


def _node_with(draft: Draft, shape: int, groups: Sequence[GroupDraft]) -> int | None:
    return next((node for one in groups for node in one.new_nodes if dict(draft.state.bound(node)).get(shape)), None)


def _lets_in(draft: Draft, group: GroupDraft, shape: int) -> bool:
    """Whether no rule about the domain of a new node keeps the pod out."""
    template, state = group.group.template, draft.state
    if template is None:
        return False
    mark = state.mark()
    rejected = {one.plugin for one in state.verdict(shape, state.add_node(f"{group.group.name}-try", template, group.daemons))}
    state.undo(mark)
    return rejected.isdisjoint(_RULES_OF_DOMAINS)


def domain_of_pod(group: GroupDraft, keys: frozenset[str]) -> Domain:
    """The topology domain of a new node of this group, by these keys."""
    template = group.group.template
    return tuple(template.label(key) for key in sorted(keys)) if template is not None else ()


def _row(amounts: Resources, names: Sequence[str]) -> tuple[int, ...]:
    return tuple(amounts.get(name) for name in names)


def _caps(left: Sequence[dict[tuple[int, str], tuple[int, int]]], pace: int, most: int) -> tuple[Cap, ...]:
    """One cap per limit and resource that `most` nodes could reach, and the pace."""
    caps = []
    for key in sorted({key for row in left for key in row}):
        bound = next(row[key][0] for row in left if key in row)
        weights = tuple(row[key][1] if key in row else 0 for row in left)
        if max(weights) * most > bound:
            caps.append(Cap(bound=bound, weights=weights))
    if most > pace:
        caps.append(Cap(bound=pace, weights=(1,) * len(left)))
    return tuple(caps)


def capacity_of_problem(draft: Draft, nodes: Sequence[GrownNode]) -> Resources:
    """The capacity of these nodes together."""
    total = Resources()
    for position, node_count in Counter(node.position for node in nodes).items():
        template = draft.groups[position].group.template
        if template is not None:
            total = total.plus(bought_capacity(template), node_count)
    return total
