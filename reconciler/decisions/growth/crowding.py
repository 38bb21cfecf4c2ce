"""Pods that wait because others took the only nodes that they could have, although those others have a choice."""

from collections.abc import Iterable, Mapping, Sequence

from reconciler.decisions.demand.pending import size_of
from reconciler.decisions.demand.queue import Demand
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.open_domains import spread_keys

_HANGS_ON_OTHERS = frozenset({"InterPodAffinity", "PodTopologySpread"})
"""What these have against a pod changes with the pods that are placed."""


def crowded_out(draft: Draft, left: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Shapes among `left` (shape, pods) for which pods of no higher priority could have made room.

    Those have new nodes that these pods could have, and may run in another group that can still grow. By shape: how many groups
    it may run in. It is 0 for a spread over zones: a pod of it in a scarce zone lets others of it run elsewhere.
    """
    if not left:
        return {}
    choices = _Choices(draft)
    roomy = [group for group in choices.groups if group.group.template and draft.room(group, group.group.template)[0] > 0]
    grown = [(group, _on_new_nodes(draft, group)) for group in choices.groups if group.new_nodes] if roomy else []
    waiting = {shape for shape, _ in left}
    crowded = {}
    for shape in waiting if grown else ():
        priority = draft.state.pod_shape(shape).priority
        if not draft.shares.spend(shape, draft.namespace(shape), len(choices.groups)):
            continue
        able = choices.of(shape)
        rivals = {
            (group.position, other)
            for group, there in grown
            if group.position in able
            for other in there - waiting
            if draft.state.pod_shape(other).priority <= priority
        }
        if any(group.position != there and group.position in choices.of(other) for there, other in rivals for group in roomy):
            crowded[shape] = 0 if spread_keys(draft, (shape,)) else len(able)
    return crowded


def _on_new_nodes(draft: Draft, group: GroupDraft) -> set[int]:
    there = {shape for node in group.new_nodes for shape, _ in draft.state.bound(node)}
    return there.difference(group.daemons)


def outnumbered(draft: Draft, left: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Shapes among `left` (shape, pods) with smaller pods than others of the same priority that are on new nodes.

    Both could run there, and room for one of those others may be room for several of these. No group that could run these can
    grow any more. By shape: its size. None is younger: kube-scheduler serves older pods first, so they would lose the room again.
    """
    choices = _Choices(draft)
    grown = [(group.position, _on_new_nodes(draft, group)) for group in choices.groups if group.new_nodes] if left else []
    roomy = {one.position for one in choices.groups if one.group.template and draft.room(one, one.group.template)[0] > 0}
    smaller = {}
    for shape, _ in left if grown else ():
        pod = draft.state.pod_shape(shape)
        if not draft.shares.spend(shape, draft.namespace(shape), len(choices.groups)):
            continue
        able = choices.of(shape)
        if not able.isdisjoint(roomy):
            continue
        rivals = frozenset[int]().union(*(there for position, there in grown if position in able)) - {shape}
        if any(_is_smaller(draft, shape, other) for other in rivals if draft.state.pod_shape(other).priority == pod.priority):
            smaller[shape] = size_of(pod)
    return smaller


def _is_smaller(draft: Draft, shape: int, other: int) -> bool:
    ours, theirs = (draft.state.pod_shape(one).requests for one in (shape, other))
    if not any(0 < ours.get(name) < amount for name, amount in theirs.items()):
        return False
    created = draft.world.pods.created_seconds
    pods, others = (draft.waiting.get(one, ()) for one in (shape, other))
    return max(map(created.__getitem__, pods), default=0) <= min(map(created.__getitem__, others), default=-1)


class _Choices:
    """The groups, of those that may grow, whose next node would run a pod if no other pod mattered."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._known: dict[int, frozenset[int]] = {}
        self.groups = [group for group in draft.groups if draft.growth_stop(group) is None]

    def of(self, shape: int) -> frozenset[int]:
        """Their positions."""
        if shape not in self._known:
            self._known[shape] = frozenset(group.position for group in self.groups if self._runs(shape, group))
        return self._known[shape]

    def _runs(self, shape: int, group: GroupDraft) -> bool:
        template, state = group.group.template, self._draft.state
        if template is None:
            return False
        mark = state.mark()
        node = state.add_node(f"{group.group.name}-try", template, group.daemons)
        rejected = {one.plugin for one in state.verdict(shape, node)}
        state.undo(mark)
        return rejected <= _HANGS_ON_OTHERS


def with_first(draft: Draft, demands: Iterable[Demand], first: Mapping[int, int]) -> tuple[Demand, ...]:
    """The demands with those of `first` before others of the same priority, of these the ones with the smallest number first."""
    return tuple(
        sorted(
            demands,
            key=lambda one: (-draft.state.pod_shape(one.shape).priority, one.shape not in first, first.get(one.shape, 0)),
        )
    )
