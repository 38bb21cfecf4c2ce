"""How many nodes may leave at the same time, by reason."""

from collections.abc import Callable, Collection, Mapping

import msgspec

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.decisions.draft import Draft
from reconciler.decisions.reasons.kept_nodes import DisruptionBudgetUsedUp, ZoneBudgetUsedUp
from reconciler.plan.plan import NodeState
from reconciler.policy.documents import Budget, RemovalReason
from reconciler.policy.values.label_selector import selector_matches
from reconciler.policy.windows import closes_at
from reconciler.values.instant import instant_text

# These apply if the policy has no budgets. Removing empty nodes disturbs nobody, so all of them may leave at once. Of the nodes
# with pods, a tenth leave at a time, as with Karpenter. The Cluster Autoscaler's parallelism (10 at once, 1 of them drained)
# takes hours for a large cluster.
DEFAULT_BUDGETS = (
    Budget(
        name="default drain",
        percent=10,
        reasons=tuple(reason for reason in RemovalReason if reason is not RemovalReason.EMPTY),
    ),
)


class BudgetedNodes(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes of a plan as budgets see them, by index. `ready` are the Ready managed ones that stay, `leaving` the others with
    the reason (None: no longer known). `labels` and `group_labels` are those of one node and of its group."""

    ready: Collection[int]
    leaving: Mapping[int, RemovalReason | None]
    labels: Callable[[int], Mapping[str, str]]
    group_labels: Callable[[int], Mapping[str, str]]


class BudgetLedger:
    """What is left of every open budget. The most restrictive one decides.

    A percentage is of the Ready managed nodes plus those that are leaving, rounded up; with selectors, of those that the budget
    covers. This is Karpenter's rule: otherwise each leaving node would shrink a budget twice. Leaving nodes count against the
    budgets of their reason. If the reason is no longer known, they count against every budget.
    """

    def __init__(self, budgets: tuple[Budget, ...], nodes: BudgetedNodes, now_seconds: int) -> None:
        self._nodes = nodes
        self._zero = [budget for budget in budgets if allows_none(budget)]
        self._open = [budget for budget in budgets or DEFAULT_BUDGETS if _open(budget, now_seconds)]
        self._left: list[int] = []
        self._zones: list[set[str]] = []
        """For each open budget of zones, those with a leaving node."""
        self._covered: dict[tuple[int, int], bool] = {}
        for budget in self._open:
            gone = [
                node
                for node, reason in nodes.leaving.items()
                if (reason is None or _for_reason(budget, reason)) and self._selects(budget, node)
            ]
            self._left.append(self._amount(budget) - len(gone))
            self._zones.append({self._zone(node) for node in gone} if budget.zones is not None else set())

    def refuses(self, reason: RemovalReason, node: int) -> DisruptionBudgetUsedUp | ZoneBudgetUsedUp | None:
        """Why the budgets allow no removal of a node for this reason now; None if they do."""
        for budget, left, zones in zip(self._open, self._left, self._zones, strict=True):
            if not self._covers(budget, reason, node):
                continue
            if left <= 0:
                return DisruptionBudgetUsedUp(nodes=budget.nodes, percent=budget.percent)
            if budget.zones is not None and len({*zones, self._zone(node)}) > budget.zones:
                return ZoneBudgetUsedUp(zones=budget.zones, disrupted=", ".join(sorted(zones)))
        return None

    def shut_at(self, reason: RemovalReason, node: int, at_seconds: int) -> tuple[DisruptionBudgetUsedUp, int | None] | None:
        """The budget of zero that keeps a node then, the one that ends last, with its end (None: it has none)."""
        open_zero: list[tuple[Budget, int]] = []
        for budget in self._zero:
            if not self._covers(budget, reason, node):
                continue
            if not budget.schedule:
                return DisruptionBudgetUsedUp(nodes=budget.nodes, percent=budget.percent), None
            until = closes_at(budget.schedule, budget.time_zone, budget.duration_seconds or 0, at_seconds)
            if until is not None:
                open_zero.append((budget, until))
        if not open_zero:
            return None
        budget, end = max(open_zero, key=lambda pair: pair[1])
        return DisruptionBudgetUsedUp(nodes=budget.nodes, percent=budget.percent, until=instant_text(end)), end

    def same_zero(self, node: int) -> tuple[bool, ...]:
        """Which budgets of zero select a node: nodes with equal answers are kept by the same ones."""
        return tuple(self._selects(budget, node) for budget in self._zero)

    def take(self, reason: RemovalReason, node: int) -> None:
        """One more node leaves."""
        for position, budget in enumerate(self._open):
            if self._covers(budget, reason, node):
                self._left[position] -= 1
                if budget.zones is not None:
                    self._zones[position].add(self._zone(node))

    def _amount(self, budget: Budget) -> int:
        if budget.nodes is not None:
            return budget.nodes
        nodes = self._nodes
        if budget.groups is None and budget.node_selector is None:
            of = len(nodes.ready) + len(nodes.leaving)
        else:
            of = sum(self._selects(budget, node) for node in (*nodes.ready, *nodes.leaving))
        return -(-of * (budget.percent or 0) // 100)

    def _covers(self, budget: Budget, reason: RemovalReason, node: int) -> bool:
        return _for_reason(budget, reason) and self._selects(budget, node)

    def _selects(self, budget: Budget, node: int) -> bool:
        if budget.groups is None and budget.node_selector is None:
            return True
        key = id(budget), node
        if key not in self._covered:
            nodes = self._nodes
            by_group = budget.groups is None or selector_matches(budget.groups, nodes.group_labels(node))
            by_node = budget.node_selector is None or selector_matches(budget.node_selector, nodes.labels(node))
            self._covered[key] = by_group and by_node
        return self._covered[key]

    def _zone(self, node: int) -> str:
        """The zone of a node. Nodes without the label count as one more zone, because theirs may not be disrupted yet."""
        return self._nodes.labels(node).get(ZONE_LABEL, "an unknown zone")


def allows_none(budget: Budget) -> bool:
    """Whether no node leaves for its reasons while it is open."""
    return budget.nodes == 0 or budget.percent == 0


def _for_reason(budget: Budget, reason: RemovalReason) -> bool:
    return not budget.reasons or reason in budget.reasons


def _open(budget: Budget, now_seconds: int) -> bool:
    if not budget.schedule:
        return True
    return closes_at(budget.schedule, budget.time_zone, budget.duration_seconds or 0, now_seconds) is not None


def budgeted(draft: Draft) -> BudgetedNodes:
    """The nodes of a draft. Of leaving nodes, only those that we saw leave empty have a known reason."""
    world, empty = draft.world, frozenset(draft.memory.left_empty)
    leaving = {
        index: RemovalReason.EMPTY if world.nodes[index].name in empty else None
        for index, state in enumerate(draft.states)
        if state is NodeState.LEAVING
    }
    ready = [
        index
        for group in draft.groups
        for index in group.situation.nodes
        if world.nodes[index].ready and draft.states[index] is not NodeState.LEAVING
    ]

    def group_labels(index: int) -> Mapping[str, str]:
        position = draft.members.group_of[index]
        return dict(draft.groups[position].group.labels) if position >= 0 else {}

    return BudgetedNodes(
        ready=ready,
        leaving=leaving,
        labels=lambda index: dict(world.node_shapes[world.nodes[index].shape].labels),
        group_labels=group_labels,
    )
