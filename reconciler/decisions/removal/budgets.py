"""How many nodes may leave at the same time, by reason."""

from collections import Counter

from reconciler.decisions.groups.windows import closes_at
from reconciler.policy.documents import Budget, RemovalReason

# Without budgets in the policy. Empty nodes disturb nobody, so that they all go at once; of those with pods a tenth at a time, as
# Karpenter does. The Cluster Autoscaler's parallelism (10 at once, 1 of them drained) takes hours for a large cluster.
DEFAULT_BUDGETS = (
    Budget(
        name="default drain",
        percent=10,
        reasons=tuple(reason for reason in RemovalReason if reason is not RemovalReason.EMPTY),
    ),
)


class BudgetLedger:
    """What is left of every budget that is open now. The most restrictive open one decides.

    A percentage is of the Ready managed nodes and those that are leaving, rounded up (Karpenter's disruption budgets: without the
    leaving ones a budget would shrink by each of them twice). Nodes that are leaving count against the budgets of their
    reason; when the reason is not known any more, against every budget.
    """

    def __init__(
        self, budgets: tuple[Budget, ...], ready_nodes: int, leaving: Counter[RemovalReason | None], now_seconds: int
    ) -> None:
        self._left: list[tuple[Budget, int]] = []
        nodes = ready_nodes + leaving.total()
        for budget in budgets or DEFAULT_BUDGETS:
            if not _open(budget, now_seconds):
                continue
            amount = budget.nodes if budget.nodes is not None else -(-nodes * (budget.percent or 0) // 100)
            used = sum(count for reason, count in leaving.items() if reason is None or _covers(budget, reason))
            self._left.append((budget, amount - used))

    def refuses(self, reason: RemovalReason) -> Budget | None:
        """The budget that allows no further removal for this reason, or None."""
        return next((budget for budget, left in self._left if left <= 0 and _covers(budget, reason)), None)

    def take(self, reason: RemovalReason) -> None:
        """One more node leaves."""
        self._left = [(budget, left - 1 if _covers(budget, reason) else left) for budget, left in self._left]


def _covers(budget: Budget, reason: RemovalReason) -> bool:
    return not budget.reasons or reason in budget.reasons


def _open(budget: Budget, now_seconds: int) -> bool:
    if not budget.schedule:
        return True
    return closes_at(budget.schedule, budget.time_zone, budget.duration_seconds or 0, now_seconds) is not None
