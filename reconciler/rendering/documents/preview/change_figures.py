"""The four figures of a preview: the steady state under main, that under this PR, and the difference."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

import msgspec

from reconciler.plan.comparison import Pair, PlanComparison
from reconciler.plan.impact import Impact
from reconciler.plan.money import money_text
from reconciler.plan.plan import Cost, GroupLine, withdrawn_requests
from reconciler.plan.preview import LimitSpent, Preview, WeekCost
from reconciler.rendering.documents.blocks import Foreign
from reconciler.rendering.words.wording import settled_size
from reconciler.values.money import HOURS_PER_MONTH

NODES, PODS, EVICTIONS, COST = "NodesInSteadyState", "PodsWithoutNode", "Evictions", "CostPerMonth"
_NAMES = {
    NODES: "nodes in steady state",
    PODS: "pods without a node",
    EVICTIONS: "evictions",
    COST: "cost per month",
}
_UNKNOWN = "unknown"
_CENT = Decimal("0.01")


class ChangeFigure(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One row. Counts are integers, amounts of money decimal strings. `today` is the side of main, in `today_currency`,
    and `after` that of this PR, in `currency`. Null where nobody knows; the change also where currencies cannot be compared."""

    code: str
    name: str
    today: int | str | None
    after: int | str | None
    change: int | str | None
    today_currency: str | None = None
    currency: str | None = None

    @property
    def changed(self) -> bool:
        """Whether the change is known and not nothing."""
        return self.change is not None and Decimal(self.change) != 0

    def cells(self) -> tuple[str, str, str]:
        """Main, this PR and the change as readers see them; amounts of money are foreign, since a policy names their currency."""
        if self.code != COST:
            return str(self.today), str(self.after), f"{self.change:+d}" if self.change else "0"
        return (
            _money(self.today, self.today_currency),
            _money(self.after, self.currency),
            _money(self.change, self.currency, signed=True),
        )


def limit_pairs(preview: Preview) -> tuple[tuple[LimitSpent | None, LimitSpent | None], ...]:
    """Each spending limit of main and of this PR, by name and resource: both sides, None on the side that does not have it."""
    sides = [{(one.limit, one.resource): one for one in side} for side in (preview.spent_before, preview.spent_after)]
    return tuple((sides[0].get(key), sides[1].get(key)) for key in sorted({*sides[0], *sides[1]}))


def limit_rows(preview: Preview) -> Iterator[tuple[str, str, str, str]]:
    """`limit budget, per hour | $5.00 of $10.00 | $7.50 of $10.00 | $2.50 left` for each spending limit."""
    for today, after in limit_pairs(preview):
        either = after or today
        if either is None:
            continue
        hours = {"pricePerHour": "hour", "pricePerMonth": "month"}[either.resource]
        left = "no limit" if after is None else f"{_money(str(after.left), after.currency)} left"
        yield Foreign(f"limit {either.limit}, per {hours}"), _of_limit(today), _of_limit(after), Foreign(left)


def _of_limit(spent: LimitSpent | None) -> str:
    if spent is None:
        return "no limit"
    return Foreign(f"{_money(spent.spent, spent.currency)} of {_money(spent.max, spent.currency)}")


def _money(amount: int | str | None, currency: str | None, *, signed: bool = False) -> str:
    return Foreign(_UNKNOWN if amount is None else money_text(Decimal(amount), currency or "", signed=signed))


def shown_figures(preview: Preview) -> Iterator[ChangeFigure]:
    """Without the rows that are zero on both sides."""
    for figure in change_figures(preview):
        if figure.code in (NODES, COST) or figure.today or figure.after:
            yield figure


def change_figures(preview: Preview) -> tuple[ChangeFigure, ...]:
    """Nodes, pods, evictions, cost; without a price anywhere no cost, and nothing where there is nothing to compare with."""
    comparison = preview.comparison
    if comparison is None:
        return ()
    before, after = preview.impact_before, preview.impact_after
    rows = [
        _counted(NODES, *_nodes(comparison, preview.plan.groups)),
        _counted(PODS, len(before.waiting), len(after.waiting)),
        _counted(EVICTIONS, len(before.evicted_settled), len(after.evicted_settled)),
    ]
    if (cost := _cost(comparison, preview.week)) is not None:
        rows.append(cost)
    return tuple(rows)


def coming(comparison: PlanComparison) -> tuple[GroupLine, ...]:
    """Groups whose target only this PR's policy has. One that is renamed keeps its target and does not come; one that
    gets another target does."""
    left = {line.target for line in _side(comparison.groups, 0)}
    return tuple(line for line in _side(comparison.groups, 1) if line.target not in left)


def leaving(comparison: PlanComparison) -> tuple[GroupLine, ...]:
    """Groups whose target only main's policy has."""
    came = {line.target for line in _side(comparison.groups, 1)}
    return tuple(line for line in _side(comparison.groups, 0) if line.target not in came)


def requests_taken_back(comparison: PlanComparison) -> tuple[Counter[str], Counter[str]]:
    """By group: requests for nodes that never came which stay under main and go under this PR, and the other way round. On the
    side where they stay they are replicas, and no nodes."""
    gone = [pair.after for pair in comparison.actions if pair.before is None and pair.after is not None]
    kept = [pair.before for pair in comparison.actions if pair.after is None and pair.before is not None]
    return withdrawn_requests(gone), withdrawn_requests(kept)


def joined_nodes(impact: Impact, comparison: PlanComparison, side: int) -> dict[str, int]:
    """How many nodes join each group on the way under one side (0: main, 1: this PR). A request that the other side takes back
    does not count, since it never became a node."""
    no_nodes = requests_taken_back(comparison)[side]
    return {group: max(0, number - no_nodes[group]) for group, number in impact.nodes_joined.items()}


def _counted(code: str, today: int, after: int) -> ChangeFigure:
    return ChangeFigure(code=code, name=_NAMES[code], today=today, after=after, change=after - today)


def _nodes(comparison: PlanComparison, groups: Sequence[GroupLine]) -> tuple[int, int]:
    """The target of a group that comes or leaves keeps its size without the policy that names it. A request that one side takes
    back, since it never became a node, is none on the other side either."""
    named = {pair.either.name for pair in comparison.groups}
    others = sum(settled_size(group) for group in groups if group.name not in named)
    today, after = (sum(map(settled_size, side)) for side in (_side(comparison.groups, 0), _side(comparison.groups, 1)))
    today += sum(line.current for line in coming(comparison))
    after += sum(line.current for line in leaving(comparison))
    no_nodes_today, no_nodes_after = requests_taken_back(comparison)
    return others + today - no_nodes_today.total(), others + after - no_nodes_after.total()


def _side(pairs: Sequence[Pair[GroupLine]], at: int) -> Iterator[GroupLine]:
    for pair in pairs:
        line = (pair.before, pair.after)[at]
        if line is not None:
            yield line


def _cost(comparison: PlanComparison, week: WeekCost | None) -> ChangeFigure | None:
    """What the same nodes cost that are counted: those of groups that come or leave as well, at their price. Where windows turn,
    the groups of the policy cost what they do in the mean of a week."""
    no_nodes = requests_taken_back(comparison)
    earlier, later = (None, None) if week is None else (week.before, week.after)
    today = _per_month(
        _in_week(comparison.cost_before, earlier),
        coming(comparison),
        _side(comparison.groups, 0),
        no_nodes[0],
    )
    after = _per_month(
        _in_week(comparison.cost_after, later),
        leaving(comparison),
        _side(comparison.groups, 1),
        no_nodes[1],
    )
    if today is None and after is None:
        return None
    alike = comparison.cost_before.currency == comparison.cost_after.currency
    change = after - today if alike and today is not None and after is not None else None
    return ChangeFigure(
        code=COST,
        name=_NAMES[COST],
        today=None if today is None else str(today),
        after=None if after is None else str(after),
        change=None if change is None else str(change),
        today_currency=comparison.cost_before.currency,
        currency=comparison.cost_after.currency,
    )


def _in_week(cost: Cost, per_hour: str | None) -> Cost:
    return cost if per_hour is None else msgspec.structs.replace(cost, settled_per_hour=per_hour)


def _per_month(cost: Cost, kept: Sequence[GroupLine], groups: Iterable[GroupLine], no_nodes: Mapping[str, int]) -> Decimal | None:
    text = cost.desired_per_hour if cost.settled_per_hour is None else cost.settled_per_hour
    amounts = [Decimal(line.price_per_hour) * line.current for line in kept if line.price_per_hour is not None]
    if text is None and not amounts:
        return None
    amounts += [-Decimal(line.price_per_hour) * no_nodes.get(line.name, 0) for line in groups if line.price_per_hour is not None]
    return ((Decimal(text or "0") + sum(amounts, Decimal(0))) * HOURS_PER_MONTH).quantize(_CENT)
