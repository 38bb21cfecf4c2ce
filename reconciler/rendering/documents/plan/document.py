"""A whole plan as a document; a printer chooses the order of its sections."""

import msgspec

from reconciler.plan.plan import Cost, Plan
from reconciler.rendering.documents.blocks import Block, Column, Foreign, Item, Items, Section, Sentence, Table, names_listed
from reconciler.rendering.documents.plan.actions import action_section
from reconciler.rendering.documents.plan.groups import group_section, held_section, note_section
from reconciler.rendering.documents.plan.nodes import node_section
from reconciler.rendering.documents.plan.pods import buffer_section, pod_section, request_section
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import HELD, cost_rows, count, header_words, loops_words, rest_words
from reconciler.values.money import HOURS_PER_MONTH


class PlanDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`facts` say where, by what policy and when; `rest` what the steady state adds to `summary`. `loops` stands behind the
    digest. Sections without anything to say are None."""

    facts: tuple[tuple[str, str], ...]
    summary: str
    rest: str
    digest: str
    loops: str
    groups: Section
    actions: Section | None
    notes: Section | None
    pods: Section | None
    requests: Section | None
    buffers: Section | None
    nodes: Section | None
    held: Section | None
    cost: Section | None
    problems: Section | None


def plan_document(plan: Plan, fold: Fold) -> PlanDocument:
    """Everything there is to say of a plan; `fold` says how much is shown before it is counted."""
    return PlanDocument(
        facts=header_words(plan),
        summary=plan.summary,
        rest=rest_words(plan),
        digest=plan.digest,
        loops=loops_words(plan),
        groups=group_section(plan, fold),
        actions=action_section(plan, fold),
        notes=note_section(plan, fold),
        pods=pod_section(plan, fold),
        requests=request_section(plan, fold),
        buffers=buffer_section(plan, fold),
        nodes=node_section(plan, fold),
        held=held_section(plan, fold),
        cost=_cost_section(plan.cost, fold),
        problems=_problem_section(plan, fold),
    )


def cautions(plan: Plan) -> Sentence:
    """What a reader must know before all else; empty without any."""
    problems = (f"{count(len(plan.problems), 'problem')} to look at.",) if plan.problems else ()
    if not plan.not_captured:
        return problems
    kinds = names_listed(plan.not_captured, 0)
    return (*problems, *((" ",) if problems else ()), "Not captured, so not taken into account: ", *kinds, ".")


def cost_table(cost: Cost) -> Table | None:
    """Per hour and per month; None where nothing has a price."""
    headings = ("per hour", f"per month ({HOURS_PER_MONTH} h)", "change")
    columns = (Column(heading=""), *(Column(heading=heading, right=True) for heading in headings))
    rows = tuple((name, *map(Foreign, amounts)) for name, *amounts in cost_rows(cost))
    unpriced = cost.unpriced_groups
    note = f"{count(len(unpriced), 'group')} without a price not counted." if unpriced else ""
    return Table(columns=columns, rows=rows, note=note) if rows else None


def _cost_section(cost: Cost, fold: Fold) -> Section | None:
    """The table, and the names of the groups that are not in it."""
    costs = cost_table(cost)
    blocks: tuple[Block, ...] = (msgspec.structs.replace(costs, note=""),) if costs else ()
    if cost.unpriced_groups:
        names = listed(cost.unpriced_groups, fold.names)
        blocks += (Items((Item(text=f"No price, so not in the cost: {names}"),), 0),)
    return Section("Cost" if costs else "", None, blocks=blocks) if blocks else None


def _problem_section(plan: Plan, fold: Fold) -> Section | None:
    """What could not be seen or read."""
    text = f"Not captured, so not taken into account: {', '.join(plan.not_captured)}"
    blocks: tuple[Block, ...] = (Items((Item(text=text, mark=HELD),), 0),) if plan.not_captured else ()
    if plan.problems:
        shown = fold.shown(len(plan.problems), fold.lots)
        items = [
            Item(text=f"{f'{one.object}: ' if one.object else ''}{one.message} [{one.code}]", bullet="! ")
            for one in plan.problems[:shown]
        ]
        if left := len(plan.problems) - shown:
            items.append(Item(text=f"and {count(left, 'problem')} more: `--wide` lists all"))
        blocks += (Section(f"Problems: {len(plan.problems)}", None, blocks=(Items(tuple(items)),)),)
    return Section("", None, blocks=blocks) if blocks else None
