"""LeastCost and LeastWaste over mixes. The growth of a tier comes from one choice after the other. A mix of groups replaces it if
it costs less, wastes less, or does the same with fewer nodes.

A node takes part if the rules of its pods concern only their own node or domains of several nodes (spread or affinity over
zones). Nodes of pods with rules about the host, ports or volumes stay as they are. The mix places the same pods and may cost no
more than the greedy choices, so nothing that they serve is lost.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import msgspec

from reconciler.cluster.values.resources import Resources
from reconciler.decisions.demand.worth import gpus_of
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.cost.master import solver
from reconciler.decisions.growth.cost.mixes import Answer, least_cost
from reconciler.decisions.growth.cost.polish import work
from reconciler.decisions.growth.cost.posed_problem import (
    NONE_ODD,
    Posed,
    Solver,
    Weighing,
    capacity_of_problem,
    domain_of_pod,
    odd_pods,
    pose,
    weighing,
)
from reconciler.decisions.growth.cost.problem import reachable
from reconciler.decisions.growth.cost.tier_growth import GrownNode, Growth
from reconciler.decisions.growth.open_domains import keeps_its_spread
from reconciler.decisions.growth.siblings import next_group, siblings
from reconciler.decisions.reasons.cost_choices import LeastCostMix, LeastWasteMix, MixGap, SolverMissing
from reconciler.policy.documents import Expander
from reconciler.values.money import price_text


class Rearranged(msgspec.Struct, frozen=True):
    """The result for one tier: the nodes that stay, those that replace the others (None: nothing changed), and why. Of new
    nodes also how far the best of all mixes may be from them."""

    stay: list[GrownNode]
    bought: list[GrownNode] | None
    because: LeastCostMix | LeastWasteMix | SolverMissing | MixGap
    gap: MixGap | None = None

    @property
    def expander(self) -> str:
        """By which rule the mix was chosen."""
        return (Expander.LEAST_WASTE if isinstance(self.because, LeastWasteMix) else Expander.LEAST_COST).value

    @property
    def compared(self) -> tuple[str, ...]:
        """The costs that were compared, as the other expanders tell theirs."""
        why = self.because
        return why.alternatives if isinstance(why, LeastCostMix | LeastWasteMix) else ()


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
    odd = odd_pods(draft, groups, moving, keys) if not waiting else NONE_ODD
    growth.take_back()
    growth.give(stay)
    posed, answer, gap = None, None, None
    for moves in () if _is_least(draft, groups, moving, by) else (odd, NONE_ODD) if odd else (NONE_ODD,):
        posed = pose(draft, groups, moving, keys, by, moves)
        answer = None if posed is None else _answer(draft, posed, solve)
        if posed is None or answer is None:
            continue
        if posed.problem.rank(answer.mix) >= posed.problem.rank(posed.given):
            gap = _gap(draft, posed.weigh, moving, answer)
            break
        bought = _buy(draft, growth, posed.nodes(answer.mix), keys)
        # Siblings that share the growth may have other prices.
        shares_kept = draft.tier_shares.missing() <= missing
        spread_kept = not moves or all(keeps_its_spread(draft, shape) for shape, own in keys.items() if own)
        if bought is not None and shares_kept and spread_kept and posed.weigh.better(draft, bought, moving):
            because = _because(draft, posed.weigh.by, moving, bought, answer)
            return Rearranged(stay, bought, because, _gap(draft, posed.weigh, bought, answer))
        growth.take_back()
        growth.give(stay)
    growth.take_back()
    growth.give(grown)
    if posed is not None and answer is not None and answer.solver_missing and posed.weigh.by is Expander.LEAST_COST:
        return Rearranged(grown, None, SolverMissing(cost_per_hour=price_text(posed.weigh.sum(draft, grown))))
    return None if gap is None else Rearranged(moving, None, gap)


def _gap(draft: Draft, weigh: Weighing, nodes: Sequence[GrownNode], answer: Answer) -> MixGap | None:
    """What a better mix than these nodes may save; None if none is better, or nothing is known about that."""
    cost, least = weigh.sum(draft, nodes), answer.bound_micros
    if not 0 < least < cost:
        return None
    permille = -(-1000 * (cost - least) // cost)
    priced = weigh.by is Expander.LEAST_COST
    return MixGap(
        expander=weigh.by.value,
        gap_permille=permille,
        cost_per_hour=price_text(cost) if priced else None,
        bound_per_hour=price_text(least) if priced else None,
        proved=answer.proved,
    )


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
        group.position != position and domain_of_pod(group, keys[shape]) == domain_of_pod(draft.groups[position], keys[shape])
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
    ours, others = capacity_of_problem(draft, after), capacity_of_problem(draft, before)
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
