"""The cheapest new nodes for pods that run elsewhere, tried in a draft and taken back."""

from collections import Counter
from collections.abc import Mapping, Sequence

from reconciler.decisions.demand.queue import Demand, Queue
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.cost.master import solver
from reconciler.decisions.growth.cost.tier_growth import Growth
from reconciler.decisions.growth.scale_up import grow_cheapest

FEW_PODS = 40
"""Of so few pods the start without a solver tries every way, and the solver would search whole numbers for seconds."""


class TriedNodes:
    """New nodes in a draft, which has no other trace of them: `adds` says how many of the group at a position."""

    def __init__(self, growth: Growth, adds: Mapping[int, int]) -> None:
        self._growth = growth
        self.adds = adds

    def take_back(self) -> None:
        """The draft as it was before."""
        self._growth.take_back()


def try_cheapest(
    draft: Draft, groups: Sequence[GroupDraft], pods: Sequence[tuple[int, int]], *, solved: bool
) -> TriedNodes | None:
    """The cheapest nodes of these groups for pods (shape, count). None, and an unchanged draft, if some pods are left over.

    Without `solved`, no solver looks for a better mix: that takes a tenth of the time.
    """
    growth, queue = Growth(draft), Queue(tuple(Demand(shape=shape, pods=range(count)) for shape, count in pods))
    queue.names_others = False
    queue_size = sum(count for _, count in pods)
    reasons, refuted = [len(group.reasons) for group in draft.groups], dict(draft.refuted)
    nodes = grow_cheapest(draft, queue, list(groups), solver if solved and queue_size > FEW_PODS else _no_solver)
    for group, count in zip(draft.groups, reasons, strict=True):
        del group.reasons[count:]
    draft.refuted = refuted
    adds = Counter(node.position for node in nodes)
    if queue.waiting() or not adds.keys() <= {group.position for group in groups}:
        growth.take_back()
        return None
    return TriedNodes(growth, adds)


def _no_solver() -> None:
    return None
