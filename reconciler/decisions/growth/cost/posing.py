"""From a draft to a problem in numbers, and back.

Pods under rules about zones (or other domains) take part, too: of every shape as many go to each domain as before, so that
whatever counts them there counts the same.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.values.resources import Resources
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.cost.growth import GrownNode
from reconciler.decisions.growth.cost.problem import Cap, Filling, Item, Mix, Offer, Problem

Domain = tuple[str | None, ...]
"""Values of the topology keys that concern a shape, in order of the keys."""


class Posed(msgspec.Struct, frozen=True):
    """A problem with what its numbers stand for: `shapes` by item (a shape is several items where its pods are in several
    domains), group `positions` by offer; `given` is what was grown."""

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


def pose(
    draft: Draft, tier: Sequence[GroupDraft], nodes: Sequence[GrownNode], keys: Mapping[int, frozenset[str]]
) -> Posed | None:
    """The pods of `nodes` over the groups of a tier, asked at the point before those nodes; `keys` are topology keys by shape.
    None when a group that may grow has no price."""
    groups = [group for group in tier if group.group.template is not None and draft.room(group, group.group.template)[0] > 0]
    if any(group.group.price_micros is None for group in groups):
        return None
    by_position = {group.position: index for index, group in enumerate(groups)}
    alike = Counter(nodes)
    if any(node.position not in by_position for node in alike):
        return None
    sums: Counter[tuple[int, Domain]] = Counter()
    for node, times in alike.items():
        for shape, pods in node.load:
            sums[shape, _domain(draft.groups[node.position], keys[shape])] += pods * times
    asked = tuple(sorted(sums, key=lambda one: (one[0], [value or "" for value in one[1]])))
    names = sorted({name for shape, _ in asked for name, _ in draft.state.pod_shape(shape).requests.items()})
    needs = {shape: _row(draft.state.pod_shape(shape).requests, names) for shape, _ in asked}
    offers, lets_in, left = [], [], []
    for group in groups:
        template, price = group.group.template, group.group.price_micros
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
        for index, (shape, domain) in enumerate(asked):
            if domain != here[keys[shape]]:
                lets_in[-1][index] = False
        offers.append(Offer(price_micros=price, free=free, most=draft.room(group, template)[0]))
        left.append(draft.limits.left(group.group, template))
    items = tuple(
        Item(count=sums[one], need=needs[one[0]], offers=tuple(row[index] for row in lets_in)) for index, one in enumerate(asked)
    )
    pace = draft.policy.pace.max_added_nodes - draft.added
    problem = Problem(items=items, offers=tuple(offers), caps=_caps(left, pace, sum(sums.values())))
    given: Counter[Filling] = Counter()
    for node, times in alike.items():
        load = {(shape, _domain(draft.groups[node.position], keys[shape])): pods for shape, pods in node.load}
        given[Filling(by_position[node.position], tuple(load.get(one, 0) for one in asked))] += times
    positions = tuple(group.position for group in groups)
    return Posed(problem, tuple(shape for shape, _ in asked), positions, tuple(sorted(given.items())))


def _domain(group: GroupDraft, keys: frozenset[str]) -> Domain:
    template = group.group.template
    return tuple(template.label(key) for key in sorted(keys)) if template is not None else ()


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
