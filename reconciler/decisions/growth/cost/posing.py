"""From a draft to a problem in numbers, and back."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from reconciler.cluster.values.resources import Resources
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.cost.growth import GrownNode
from reconciler.decisions.growth.cost.problem import Cap, Filling, Item, Mix, Offer, Problem


class Posed(msgspec.Struct, frozen=True):
    """A problem with what its numbers stand for: `shapes` by item, group `positions` by offer; `given` is what was grown."""

    problem: Problem
    shapes: tuple[int, ...]
    positions: tuple[int, ...]
    given: Mix

    def nodes(self, mix: Mix) -> list[GrownNode]:
        """The nodes of a mix: by group in canonical order, full ones first."""
        found = []
        for filling, times in sorted(mix, key=lambda pair: (pair[0].offer, [-pods for pods in pair[0].load])):
            load = sorted((shape, pods) for shape, pods in zip(self.shapes, filling.load, strict=True) if pods)
            found += [GrownNode(self.positions[filling.offer], tuple(load))] * times
        return found


def pose(draft: Draft, tier: Sequence[GroupDraft], nodes: Sequence[GrownNode]) -> Posed | None:
    """The pods of `nodes` over the groups of a tier, asked at the point before those nodes. None when a group that may grow
    has no price."""
    groups = [group for group in tier if group.group.template is not None and draft.room(group, group.group.template)[0] > 0]
    if any(group.group.price_micros is None for group in groups):
        return None
    alike = Counter(nodes)
    sums: Counter[int] = Counter()
    for node, times in alike.items():
        for shape, pods in node.load:
            sums[shape] += pods * times
    shapes = tuple(sorted(sums))
    names = sorted({name for shape in shapes for name, _ in draft.state.pod_shape(shape).requests.items()})
    offers, lets_in, left = [], [], []
    for group in groups:
        template, price = group.group.template, group.group.price_micros
        if template is None or price is None:
            continue
        mark = draft.state.mark()
        trial = draft.state.add_node(f"{group.group.name}-try", template, group.daemons)
        free = template.allocatable.plus(draft.state.used(trial), -1)
        lets_in.append([draft.state.fits(shape, trial) for shape in shapes])
        draft.state.undo(mark)
        most = draft.room(group, template)[0]
        offers.append(Offer(price_micros=price, free=_row(free, names), most=most))
        left.append(draft.limits.left(group.group, template))
    items = tuple(
        Item(
            count=sums[shape],
            need=_row(draft.state.pod_shape(shape).requests, names),
            offers=tuple(row[index] for row in lets_in),
        )
        for index, shape in enumerate(shapes)
    )
    pace = draft.policy.pace.max_added_nodes - draft.added
    problem = Problem(items=items, offers=tuple(offers), caps=_caps(left, pace, sum(sums.values())))
    positions = tuple(group.position for group in groups)
    by_position = {position: index for index, position in enumerate(positions)}
    if any(node.position not in by_position for node in alike):
        return None
    given: Counter[Filling] = Counter()
    for node, times in alike.items():
        load = dict(node.load)
        given[Filling(by_position[node.position], tuple(load.get(shape, 0) for shape in shapes))] += times
    return Posed(problem, shapes, positions, tuple(sorted(given.items())))


def _row(amounts: Resources, names: Sequence[str]) -> tuple[int, ...]:
    return tuple(amounts.get(name) for name in names)


def _caps(left: Sequence[dict[tuple[int, str], tuple[int, int]]], pace: int, most: int) -> tuple[Cap, ...]:
    """One cap a limit and resource that `most` nodes could reach, and the pace."""
    caps = []
    for key in sorted({key for row in left for key in row}):
        bound = next(row[key][0] for row in left if key in row)
        weights = tuple(row[key][1] if key in row else 0 for row in left)
        if max(weights) * most > bound:
            caps.append(Cap(bound=bound, weights=weights))
    if most > pace:
        caps.append(Cap(bound=pace, weights=(1,) * len(left)))
    return tuple(caps)
