"""How many nodes may leave at the same time, by reason."""

from collections import Counter

from reconciler.decisions.draft import Draft
from reconciler.decisions.limits import LimitLedger
from reconciler.decisions.situation.group_situation import unhealthy
from reconciler.plan.plan import NodeState
from reconciler.policy.documents import Budget, RemovalReason
from reconciler.policy.windows import closes_at

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


class BudgetLedger:
    """What is left of every open budget. The most restrictive one decides.

    A percentage is of the Ready managed nodes plus those that are leaving, rounded up. This is Karpenter's rule: otherwise each
    leaving node would shrink a budget twice. Leaving nodes count against the budgets of their reason. If the reason is no longer
    known, they count against every budget.
    """

    def __init__(
        self, budgets: tuple[Budget, ...], ready_nodes: int, leaving: Counter[RemovalReason | None], now_seconds: int
    ) -> None:
        self._left: list[tuple[Budget, int]] = []
        self._zero = [budget for budget in budgets if allows_none(budget)]
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

    def shut_at(self, reason: RemovalReason, at_seconds: int) -> tuple[Budget, int | None] | None:
        """The budget of zero that keeps every node then, the one that ends last, with its end (None: it has none)."""
        candidates: list[tuple[Budget, int | None]] = []
        for budget in self._zero:
            if not _covers(budget, reason):
                continue
            if not budget.schedule:
                return budget, None
            until = closes_at(budget.schedule, budget.time_zone, budget.duration_seconds or 0, at_seconds)
            if until is not None:
                candidates.append((budget, until))
        return max(candidates, key=lambda pair: pair[1] or 0, default=None)

    def take(self, reason: RemovalReason) -> None:
        """One more node leaves."""
        self._left = [(budget, left - 1 if _covers(budget, reason) else left) for budget, left in self._left]


def allows_none(budget: Budget) -> bool:
    """Whether no node leaves for its reasons while it is open."""
    return budget.nodes == 0 or budget.percent == 0


def _covers(budget: Budget, reason: RemovalReason) -> bool:
    return not budget.reasons or reason in budget.reasons


def _open(budget: Budget, now_seconds: int) -> bool:
    if not budget.schedule:
        return True
    return closes_at(budget.schedule, budget.time_zone, budget.duration_seconds or 0, now_seconds) is not None


# What limits with a minimum will count: nodes that are leaving no longer stand on that floor.


def floor_of(draft: Draft) -> LimitLedger | None:
    """What limits with a minimum count once the nodes that are leaving are gone; None without such limits."""
    if not any(limit.min for limit in draft.policy.limits):
        return None
    ledger = LimitLedger(draft.policy.limits)
    for index, node in enumerate(draft.world.nodes):
        where = draft.members.group_of[index]
        if draft.states[index] is not NodeState.LEAVING:
            ledger.count(draft.groups[where].group if where >= 0 else None, draft.world.node_shapes[node.shape])
    for group in draft.groups:
        if group.group.template is not None:
            ledger.count(group.group, group.group.template, group.situation.upcoming + len(group.new_nodes))
    return ledger


# Why nothing at all is removed: an unhealthy cluster, or a view with holes.

NEEDED_FOR_REMOVAL = ("Pod", "PodDisruptionBudget", "ReplicaSet")


def halts(draft: Draft) -> tuple[str, ...]:
    """Sentences; empty when removals may go on."""
    sentences = []
    missing = [kind for kind in NEEDED_FOR_REMOVAL if kind in draft.world.not_captured]
    if missing:
        sentences.append(f"{', '.join(missing)} objects were not captured, so the effect of a removal is unknown")
    health = draft.policy.health
    halted, unready, managed = unhealthy(draft.states, health.max_unready_percent, health.ok_unready_count)
    if halted:
        sentences.append(
            f"{unready} of {managed} managed nodes are unready, more than {health.ok_unready_count} "
            f"and more than {health.max_unready_percent}%"
        )
    return tuple(sentences)
