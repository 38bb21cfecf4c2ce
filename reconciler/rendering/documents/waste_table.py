"""What idle capacity costs, by what keeps its nodes, as a table."""

from decimal import Decimal

from reconciler.plan.money import money_text
from reconciler.plan.waste import Waste, Wastes
from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.words.wording import count

_MOST_WASTES = 10


def waste_table(waste: Wastes) -> tuple[tree.Table, ...]:
    """What capacity without requests costs a month, by what keeps its nodes; nothing where nothing is wasted."""
    if not waste.rows:
        return ()
    shown, rest = waste.rows[:_MOST_WASTES], len(waste.rows) - _MOST_WASTES
    headings = (("why idle capacity stays", False), ("of", False), ("nodes", True), ("a month", True), ("by itself", True))
    columns = (*(tree.Column(heading=name, right=right) for name, right in headings), tree.Column(heading="line of the policy"))
    requested, cost = (_decimal(text, waste.currency) for text in (waste.requested_per_month, waste.cost_per_month))
    notes = [f"{requested} of {cost} a month is requested by pods."]
    notes += ["By itself: nodes with no other blocker."]
    notes += [f"{count(rest, 'more cause')} not shown."] if rest > 0 else []
    notes += [f"{count(waste.unknown_nodes, 'node')} without a price or a utilization."] if waste.unknown_nodes else []
    return (tree.Table(columns=columns, rows=tuple(_waste_row(one, waste.currency) for one in shown), note=" ".join(notes)),)


def _waste_row(one: Waste, currency: str) -> tuple[str, ...]:
    about = one.group if one.object in ("", one.group) else f"{one.group}: {one.object}"
    line = f"{one.setting} ({one.place})" if one.place else one.setting or "-"
    amounts = (_decimal(text, currency) for text in (one.per_month, one.alone_per_month))
    return one.code, about, str(one.nodes), *amounts, line


def _decimal(text: str, currency: str) -> str:
    return money_text(Decimal(text).quantize(Decimal("0.01")), currency)
