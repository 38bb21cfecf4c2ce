"""LeastCost and LeastWaste over mixes. The growth of a tier comes from one choice after the other. A mix of groups replaces it if
it costs less, wastes less, or does the same with fewer nodes.

A node takes part if the rules of its pods concern only their own node or domains of several nodes (spread or affinity over
zones). Nodes of pods with rules about the host, ports or volumes stay as they are. The mix places the same pods and may cost no
more than the greedy choices, so nothing that they serve is lost.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from types import ModuleType

import msgspec

from reconciler.cluster.values.resources import Resources
from reconciler.decisions.demand.worth import gpus_of, worth
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.cost.master import solver
from reconciler.decisions.growth.cost.mixes import Answer, least_cost
from reconciler.decisions.growth.cost.polish import work
from reconciler.decisions.growth.cost.problem import Cap, Filling, Item, Mix, Offer, Problem, reachable
from reconciler.decisions.growth.expanders import bought_capacity, near_tie, wasted
from reconciler.decisions.growth.open_domains import keeps_its_spread
from reconciler.decisions.growth.siblings import next_group, siblings
from reconciler.decisions.reasons.cost_choices import LeastCostMix, LeastWasteMix, SolverMissing
from reconciler.policy.documents import Expander
from reconciler.values.money import price_text

# What one tier has gained since a point: as a list of loaded nodes, to be taken back and given again otherwise.


class GrownNode(msgspec.Struct, frozen=True, order=True):
    """A new node of the group at `position` with its pods, (shape, count), those of DaemonSets left out."""

    position: int
    load: tuple[tuple[int, int], ...]


class Growth:
    """A point in a draft. Pods that went to nodes which were there before are noted, since taking back drops them as well."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._mark = draft.state.mark()
        self._nodes = draft.state.node_count
        self._size = draft.state.stack_size
        self._added = draft.added
        self._before = [(group.desired, len(group.new_nodes)) for group in draft.groups]
        self._elsewhere: list[tuple[int, int, int]] = []

    def note(self, shape: int, node: int, count: int) -> None:
        """Pods of a shape were bound to a node."""
        if node < self._nodes:
            self._elsewhere.append((shape, node, count))

    def bought(self) -> tuple[set[int], list[int]]:
        """Shapes of all pods that were bound, and the positions of groups with new nodes. Neither looks at each node."""
        grown = [
            group.position
            for group, (_, count) in zip(self._draft.groups, self._before, strict=True)
            if len(group.new_nodes) > count
        ]
        return set(self._draft.state.bound_since(self._size)[1]), grown

    def nodes(self) -> list[GrownNode]:
        """All new nodes in the order in which they came."""
        draft = self._draft
        numbers = sorted(
            (node, group.position)
            for group, (_, count) in zip(draft.groups, self._before, strict=True)
            for node in group.new_nodes[count:]
        )
        daemons = [Counter(group.daemons) for group in draft.groups]
        loads = {node: {shape: -count for shape, count in daemons[place].items()} for node, place in numbers}
        # All that is on these nodes came after the point.
        for node, shape, count in zip(*draft.state.bound_since(self._size), strict=True):
            if node in loads:
                loads[node][shape] = loads[node].get(shape, 0) + count
        return [GrownNode(place, tuple(sorted(pair for pair in loads[node].items() if pair[1] > 0))) for node, place in numbers]

    def take_back(self) -> None:
        """The draft as it was at the point, but for reasons and served pods."""
        draft = self._draft
        for group, (desired, count) in zip(draft.groups, self._before, strict=True):
            template = group.group.template
            if template is not None and len(group.new_nodes) > count:
                draft.limits.count(group.group, template, count - len(group.new_nodes))
                draft.tier_shares.count(group.group, count - len(group.new_nodes))
                del group.new_nodes[count:]
                group.desired = desired
        draft.added = self._added
        draft.state.undo(self._mark)

    def give(self, nodes: Iterable[GrownNode]) -> bool:
        """Grow by these nodes from the point on; False (and an undefined draft: take back) where a bound refuses one."""
        draft = self._draft
        for shape, place, count in self._elsewhere:
            draft.state.bind(shape, place, count)
        return all(self.add(node, sum(1 for _ in alike)) for node, alike in groupby(nodes))

    def add(self, node: GrownNode, times: int) -> bool:
        """Grow by so many equal nodes; False, and none of them, where a bound refuses that many."""
        draft = self._draft
        group = draft.groups[node.position]
        template = group.group.template
        if template is None or draft.room(group, template)[0] < times:
            return False
        numbers = draft.grow(group, template, times)
        places = array("i", [number for number in numbers for _ in node.load])
        shapes, counts = (array("i", [pair[part] for pair in node.load]) * len(numbers) for part in (0, 1))
        draft.state.bind_list(places, shapes, counts)
        return True


# From a draft to a problem in numbers, and back.
#
# Pods under rules about zones (or other domains) take part, too. Each domain gets as many pods of each shape as before, so that
# the counts behind these rules stay the same. Only `Odd` pods may change their domain.

Domain = tuple[str | None, ...]
"""Values of the topology keys that concern a shape, in order of the keys."""
Odd = Mapping[tuple[int, Domain], tuple[Domain, ...]]
"""By shape and domain the other domains in which one of its pods may be instead."""
_NONE_ODD: Odd = {}
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
        less, more = (wasted(worth(_capacity(draft, nodes)), self.requested) for nodes in (ours, others))
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
    odd: Odd = _NONE_ODD,
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
        here = {one: _domain(group, one) for one in set(keys.values())}
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
        domains = {shape: _domain(draft.groups[node.position], keys[shape]) for shape, _ in node.load}
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
        ways = {_domain(group, keys[shape]): group for group in reversed(groups) if group.group.template is not None}
        draft.work.spend(len(ways) ** 2)
        touched = set[Domain]()
        for home in ways:
            node = _node_with(draft, shape, [group for group in groups if _domain(group, keys[shape]) == home])
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


def _domain(group: GroupDraft, keys: frozenset[str]) -> Domain:
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


class Rearranged(msgspec.Struct, frozen=True):
    """The result for one tier: the nodes that stay, those that replace the others (None: nothing changed), and why."""

    stay: list[GrownNode]
    bought: list[GrownNode] | None
    because: LeastCostMix | LeastWasteMix | SolverMissing

    @property
    def expander(self) -> str:
        """By which rule the mix was chosen."""
        return (Expander.LEAST_WASTE if isinstance(self.because, LeastWasteMix) else Expander.LEAST_COST).value

    @property
    def compared(self) -> tuple[str, ...]:
        """The costs that were compared, as the other expanders tell theirs."""
        why = self.because
        if isinstance(why, SolverMissing):
            return ()
        return why.alternatives


def may_gain(draft: Draft, tier: Sequence[GroupDraft], growth: Growth) -> bool:
    """Whether `rearrange` may find something, told from shapes and groups alone. If not, nobody has to look at each node."""
    shapes, positions = growth.bought()
    keys = _keys(draft, shapes)
    if not keys or not positions or len(shapes) > 1:
        return bool(keys and positions)
    groups = [group for group in tier if not group.group.whole]
    return _has_choice(draft, groups, dict.fromkeys(positions, shapes), keys)


def rearrange(
    draft: Draft,
    tier: Sequence[GroupDraft],
    growth: Growth,
    by: Expander = Expander.LEAST_COST,
    nodes: list[GrownNode] | None = None,
    waiting: Sequence[tuple[int, int]] = (),
    solve: Solver = solver,
) -> Rearranged | None:
    """Choose the growth of a tier again, for a lower cost, less waste, or the same with fewer nodes. None, with an unchanged
    draft, if nothing better is found, or if it would take from the share of a tier. `nodes` are those of the growth, if they are
    known. Odd pods change their domain only if no pods are `waiting` (shape, pods) that may need it. `solve` gives the module of
    the solver."""
    grown, missing = growth.nodes() if nodes is None else nodes, draft.tier_shares.missing()
    keys = _keys(draft, {shape for node in grown for shape, _ in node.load})
    free = {group.position for group in tier if not group.group.whole}
    kept = {shape for node in grown for shape, _ in node.load} - keys.keys()
    moving = [n for n in grown if n.load and n.position in free and not (kept and any(shape in kept for shape, _ in n.load))]
    groups = [group for group in tier if group.position in free]
    shapes: dict[int, set[int]] = {}
    for node in set(moving):
        shapes.setdefault(node.position, set()).update(shape for shape, _ in node.load)
    if not moving or not _has_choice(draft, groups, shapes, keys):
        return None
    taken = frozenset(moving)
    stay = [node for node in grown if node not in taken]
    odd = odd_pods(draft, groups, moving, keys) if not waiting else _NONE_ODD
    growth.take_back()
    growth.give(stay)
    posed, answer = None, None
    for moves in () if _is_least(draft, groups, moving, by) else (odd, _NONE_ODD) if odd else (_NONE_ODD,):
        posed = pose(draft, groups, moving, keys, by, moves)
        answer = None if posed is None else _answer(draft, posed, solve)
        if posed is None or answer is None:
            continue
        if posed.problem.rank(answer.mix) >= posed.problem.rank(posed.given):
            break
        bought = _buy(draft, growth, posed.nodes(answer.mix), keys)
        # Siblings that share the growth may have other prices.
        shares_kept = draft.tier_shares.missing() <= missing
        spread_kept = not moves or all(keeps_its_spread(draft, shape) for shape, own in keys.items() if own)
        if bought is not None and shares_kept and spread_kept and posed.weigh.better(draft, bought, moving):
            return Rearranged(stay, bought, _because(draft, posed.weigh.by, moving, bought, answer))
        growth.take_back()
        growth.give(stay)
    growth.take_back()
    growth.give(grown)
    if posed is not None and answer is not None and answer.solver_missing and posed.weigh.by is Expander.LEAST_COST:
        return Rearranged(grown, None, SolverMissing(cost_per_hour=price_text(posed.weigh.sum(draft, grown))))
    return None


def _is_least(draft: Draft, groups: Sequence[GroupDraft], nodes: Sequence[GrownNode], by: Expander) -> bool:
    """Whether no other nodes can cost less than these, nor as much with fewer nodes, even if every pod may go to every group.
    Asked, like `pose`, at the point before those nodes. It saves asking which pods may go where."""
    offering = [(one, node) for one in groups if (node := one.group.template) is not None and draft.room(one, node)[0] > 0]
    weigh = weighing(draft, [group for group, _ in offering], nodes, by)
    requested = Resources()
    for grown, times in Counter(nodes).items():
        for shape, pods in grown.load:
            requested = requested.plus(draft.state.pod_shape(shape).requests, pods * times)
    offers = [(template.allocatable, weigh.of(group) or 0) for group, template in offering]
    least, fewest = 0, 0
    for name, amount in requested.items():
        having = [(have, cost) for offered, cost in offers if (have := offered.get(name)) > 0]
        if not having:
            return False
        least = max(least, min(-(-amount * cost // have) for have, cost in having))
        fewest = max(fewest, -(-amount // max(have for have, _ in having)))
    return len(nodes) <= fewest and weigh.sum(draft, nodes) <= reachable(least, (cost for _, cost in offers))


def _has_choice(
    draft: Draft, groups: Sequence[GroupDraft], shapes: Mapping[int, set[int]], keys: Mapping[int, frozenset[str]]
) -> bool:
    """Whether other nodes could take pods of these `shapes`, by position of their group, or the same ones could take them
    otherwise. Pods of one shape on nodes of one group fill them one after the other, and no order needs fewer."""
    if any(len(on_it) > 1 for on_it in shapes.values()):
        return True
    return any(
        group.position != position and _domain(group, keys[shape]) == _domain(draft.groups[position], keys[shape])
        for position, on_it in shapes.items()
        for shape in on_it
        for group in groups
    )


def _keys(draft: Draft, shapes: Iterable[int]) -> dict[int, frozenset[str]]:
    """The labels whose values its pods keep, by shape that may get other nodes."""
    keys_of: dict[int, frozenset[str]] = {}
    for shape in sorted(shapes):
        keys = frozenset[str]() if draft.state.node_local(shape) else draft.state.domain_keys(shape)
        if keys is not None:
            keys_of[shape] = keys
    return keys_of


def _answer(draft: Draft, posed: Posed, solve: Solver) -> Answer | None:
    """None when the plan's work budget does not reach for it."""
    steps = work(posed.problem)
    if steps > draft.shares.common:
        return None
    draft.work.spend(steps)
    # Several ProvisioningRequests for similar pods pose the same problem.
    question = posed.problem, posed.given, solve
    answer = draft.solved.get(question)
    if not isinstance(answer, Answer):
        answer = draft.solved[question] = least_cost(posed.problem, posed.given, solve)
    return answer


def _buy(draft: Draft, growth: Growth, nodes: Sequence[GrownNode], keys: Mapping[int, frozenset[str]]) -> list[GrownNode] | None:
    """Grow by these nodes, balanced over siblings if the policy says so and no pod keeps to a domain. None if a node cannot take
    its load after all, or a bound forbids it."""
    together = {position: siblings(draft, draft.groups[position])[0] for position in {node.position for node in nodes}}
    takes: dict[GrownNode, bool] = {}

    def add(node: GrownNode, times: int) -> bool:
        if node not in takes:
            takes[node] = _takes(draft, draft.groups[node.position], node.load, keys)
        return takes[node] and growth.add(node, times)

    bought: list[GrownNode] = []
    for node, alike in groupby(nodes):
        times = sum(1 for _ in alike)
        if len(together[node.position]) == 1 or any(keys[shape] for shape, _ in node.load):
            if not add(node, times):
                return None
            bought += [node] * times
            continue
        for _ in range(times):
            taker = next_group(draft, draft.groups[node.position], together[node.position])
            shared = GrownNode(taker.position, node.load)
            if not add(shared, 1):
                shared = node
                if not add(node, 1):
                    return None
            bought.append(shared)
    return bought


def _takes(draft: Draft, group: GroupDraft, load: tuple[tuple[int, int], ...], keys: Mapping[int, frozenset[str]]) -> bool:
    template = group.group.template
    if template is None:
        return False
    state, mark = draft.state, draft.state.mark()
    trial = state.add_node(f"{group.group.name}-try", template, group.daemons)
    fits = True
    for shape, pods in load:
        if keys[shape]:
            fits = fits and state.enters(shape, trial)
            state.bind(shape, trial, pods)
        else:
            fits = fits and sum(placed for _, placed in state.place(shape, pods, [trial])) == pods
    left = template.allocatable.plus(state.used(trial), -1)
    state.undo(mark)
    return fits and all(amount >= 0 for _, amount in left.items())


def _because(
    draft: Draft, by: Expander, before: Sequence[GrownNode], after: Sequence[GrownNode], answer: Answer
) -> LeastCostMix | LeastWasteMix:
    node_counts = Counter(node.position for node in after)
    names = {position: draft.groups[position].group.name for position in node_counts}
    mix = " + ".join(f"{node_counts[position]} x {names[position]}" for position in sorted(node_counts))
    alone = len({node.position for node in before}) == 1
    one_by_one = "a single group" if alone else "one group after another"
    if by is Expander.LEAST_COST:
        weigh = Weighing(by)
        return LeastCostMix(
            mix=mix,
            cost_per_hour=price_text(weigh.sum(draft, after)),
            one_by_one=one_by_one,
            one_by_one_per_hour=price_text(weigh.sum(draft, before)),
            one_by_one_nodes=len(before),
            new_nodes=len(after),
            solver=not answer.solver_missing,
        )
    ours, others = _capacity(draft, after), _capacity(draft, before)
    return LeastWasteMix(
        mix=mix,
        cpu_milli=ours.cpu_milli,
        memory_bytes=ours.memory_bytes,
        new_nodes=len(after),
        one_by_one=one_by_one,
        one_by_one_cpu_milli=others.cpu_milli,
        one_by_one_memory_bytes=others.memory_bytes,
        one_by_one_nodes=len(before),
        gpus=gpus_of(ours),
        one_by_one_gpus=gpus_of(others),
    )


def _capacity(draft: Draft, nodes: Sequence[GrownNode]) -> Resources:
    total = Resources()
    for position, node_count in Counter(node.position for node in nodes).items():
        template = draft.groups[position].group.template
        if template is not None:
            total = total.plus(bought_capacity(template), node_count)
    return total
