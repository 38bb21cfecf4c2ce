"""LeastCost over mixes: what a tier has grown by, one choice after the other, is bought again for less where that is possible,
or for as much on fewer nodes.

Only nodes take part whose pods are all under rules of their own node, or under rules about domains of several nodes (spread or
affinity over zones); those with rules about the host, ports or volumes stay as they are. The same pods are placed, so nothing
that the greedy choices serve is lost, and what they cost is the most that a mix may cost.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

import msgspec

from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.balancing import next_group, siblings
from reconciler.decisions.growth.cost.growth import GrownNode, Growth
from reconciler.decisions.growth.cost.master import solver
from reconciler.decisions.growth.cost.mixes import Answer, least_cost, work
from reconciler.decisions.growth.cost.posing import Posed, pose
from reconciler.decisions.reasons.cost import LeastCostMix, SolverMissing
from reconciler.policy.documents import Expander
from reconciler.values.money import price_text

LEAST_COST = Expander.LEAST_COST.value


class Rearranged(msgspec.Struct, frozen=True):
    """What became of one tier: the nodes that stay, those bought instead of the others (None: nothing changed), and why."""

    stay: list[GrownNode]
    bought: list[GrownNode] | None
    because: LeastCostMix | SolverMissing

    @property
    def compared(self) -> tuple[str, ...]:
        """The costs that were compared, as the other expanders tell theirs."""
        why = self.because
        if isinstance(why, SolverMissing):
            return ()
        return why.alternatives


def rearrange(draft: Draft, tier: Sequence[GroupDraft], growth: Growth) -> Rearranged | None:
    """Buy the growth of a tier again for less, or with fewer nodes for as much; None (and the draft as it was) when there is
    nothing better to tell of."""
    grown = growth.nodes()
    keys = _keys(draft, grown)
    free = {group.position for group in tier if not group.group.whole}
    kept = {shape for node in grown for shape, _ in node.load} - keys.keys()
    moving = [n for n in grown if n.load and n.position in free and not (kept and any(shape in kept for shape, _ in n.load))]
    if not moving:
        return None
    taken = frozenset(moving)
    stay = [node for node in grown if node not in taken]
    growth.take_back()
    growth.give(stay)
    posed = pose(draft, [group for group in tier if group.position in free], moving, keys)
    answer = None if posed is None else _answer(draft, posed)
    if posed is not None and answer is not None and posed.problem.rank(answer.mix) < posed.problem.rank(posed.given):
        bought = _buy(draft, growth, posed.nodes(answer.mix), keys)
        # Siblings that share the growth may have other prices.
        if bought is not None and (_cost(draft, bought), len(bought)) < (_cost(draft, moving), len(moving)):
            return Rearranged(stay, bought, _because(draft, moving, bought, answer))
    growth.take_back()
    growth.give(grown)
    if answer is not None and answer.solver_missing:
        return Rearranged(grown, None, SolverMissing(cost_per_hour=price_text(_cost(draft, grown))))
    return None


def _keys(draft: Draft, nodes: Sequence[GrownNode]) -> dict[int, frozenset[str]]:
    """By shape that may be bought other nodes for: the labels whose values its pods keep."""
    found: dict[int, frozenset[str]] = {}
    for shape in sorted({shape for node in nodes for shape, _ in node.load}):
        keys = frozenset[str]() if draft.state.node_local(shape) else draft.state.domain_keys(shape)
        if keys is not None:
            found[shape] = keys
    return found


def _answer(draft: Draft, posed: Posed) -> Answer | None:
    """None when the plan's work budget does not reach for it."""
    steps = work(posed.problem)
    if steps > draft.shares.common:
        return None
    draft.work.spend(steps)
    return least_cost(posed.problem, posed.given, solver)


def _buy(draft: Draft, growth: Growth, nodes: Sequence[GrownNode], keys: Mapping[int, frozenset[str]]) -> list[GrownNode] | None:
    """Grow by these nodes, shared with siblings where the policy balances and no pod keeps to a domain; None where a node does
    not take its load after all or a bound refuses it."""
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
            fits = fits and sum(many for _, many in state.place(shape, pods, [trial])) == pods
    left = template.allocatable.plus(state.used(trial), -1)
    state.undo(mark)
    return fits and all(amount >= 0 for _, amount in left.items())


def _cost(draft: Draft, nodes: Sequence[GrownNode]) -> int:
    return sum(draft.groups[node.position].group.price_micros or 0 for node in nodes)


def _because(draft: Draft, before: Sequence[GrownNode], after: Sequence[GrownNode], answer: Answer) -> LeastCostMix:
    many = Counter(node.position for node in after)
    names = {position: draft.groups[position].group.name for position in many}
    alone = len({node.position for node in before}) == 1
    return LeastCostMix(
        mix=" + ".join(f"{many[position]} x {names[position]}" for position in sorted(many)),
        cost_per_hour=price_text(_cost(draft, after)),
        one_by_one="one group alone" if alone else "one group after the other",
        one_by_one_per_hour=price_text(_cost(draft, before)),
        one_by_one_nodes=len(before),
        new_nodes=len(after),
        solver=not answer.solver_missing,
    )
