"""A whole plan as one HTML file."""

from collections.abc import Sequence
from decimal import Decimal

from reconciler import __version__
from reconciler.plan.comparison import PlanComparison
from reconciler.plan.money import money_text
from reconciler.plan.picture import Pictures
from reconciler.plan.plan import Cost, Plan
from reconciler.rendering.documents.blocks import plain_sentence
from reconciler.rendering.documents.plan.document import cautions as plan_cautions
from reconciler.rendering.documents.plan.document import cost_table
from reconciler.rendering.documents.plan.nodes import leaving_nodes
from reconciler.rendering.printers.html.actions import action_section
from reconciler.rendering.printers.html.element import DASH, Content, Html, joined, tag
from reconciler.rendering.printers.html.flow import flow_section
from reconciler.rendering.printers.html.groups import group_section
from reconciler.rendering.printers.html.nodes import anchors, listed_nodes, node_section
from reconciler.rendering.printers.html.page import Head, Section, counted, document, mark, slots
from reconciler.rendering.printers.html.picture import picture_section
from reconciler.rendering.printers.html.pods import pod_section
from reconciler.rendering.words.lacking_room import AskedRoom, rooms_of_buffers, rooms_of_requests
from reconciler.rendering.words.next_step import all_placed_words
from reconciler.rendering.words.wording import STAY_PENDING, header_words, loops_words, rest_words
from reconciler.values.clauses import clauses

_PLAN_MOST_LINES = 200


def plan_html(plan: Plan, pictures: Pictures) -> str:
    """One self-contained file. Bounded: of very large clusters it says how much was left out, and `-o json` has everything."""
    head = Head(
        title="Node group plan",
        lead=" ".join(filter(None, (plan.summary, rest_words(plan)))),
        facts=header_words(plan),
        figures=plan_figures(plan),
        warning=cautions(plan),
    )
    actions = action_section(plan)
    sections = [*([actions] if actions else []), *plan_sections(plan, pictures, None)]
    return document(head, sections, [group.name for group in plan.groups], foot(plan.digest, plan))


def plan_sections(
    plan: Plan, pictures: Pictures, policies: tuple[str, str] | None, comparison: PlanComparison | None = None
) -> list[Section]:
    """Groups, pictures, pods, nodes, notes, cost, problems: what a plan and a preview have in common."""
    known = slots([group.name for group in plan.groups])
    leaving = leaving_nodes(plan)
    lines = listed_nodes(plan, leaving)
    sections = [
        group_section(plan),
        picture_section(pictures, leaving, anchors(lines), known, policies),
        *filter(None, (flow_section(plan, comparison, policies or ("",)),)),
        pod_section(plan, known),
        node_section(plan, lines, pictures.now, leaving, known),
    ]
    if cost := _cost(plan.cost):
        sections.append(Section("cost", "Cost", cost))
    return [*sections, *last_sections(plan)]


def last_sections(plan: Plan) -> list[Section]:
    """Requests, buffers and problems, as far as there are any."""
    return [section for section in (request_section(plan), buffer_section(plan), problem_section(plan)) if section is not None]


NODES, PENDING, COST = "Nodes in groups", "Pending pods", "Cost per hour"


def plan_figures(plan: Plan) -> Sequence[tuple[str, Content, Content]]:
    """Nodes, pending pods, held groups, cost: each as now, and what becomes of it."""
    current, desired = sum(group.current for group in plan.groups), sum(group.desired for group in plan.groups)
    rest = sum(group.desired if group.settled is None else group.settled for group in plan.groups)
    settled = any(group.settled is not None for group in plan.groups)
    staying = sum(pod.outcome in STAY_PENDING for pod in plan.pods)
    held = sum(group.held for group in plan.groups)
    note = "" if not settled else "same in steady state" if rest == desired else f"{rest:,} in steady state"
    figures: list[tuple[str, Content, Content]] = [(NODES, change(f"{current:,}", f"{desired:,}"), note)]
    stay = f"{staying:,} stay pending" if staying else all_placed_words(plan) if plan.pods else ""
    figures.append((PENDING, f"{len(plan.pods):,}", stay))
    figures.append(("Groups", f"{len(plan.groups):,}", f"{held:,} held" if held else ""))
    cost = plan.cost
    if cost.current_per_hour is not None and cost.desired_per_hour is not None:
        before, after = (money_text(Decimal(amount), cost.currency) for amount in (cost.current_per_hour, cost.desired_per_hour))
        at_rest = (
            ""
            if cost.settled_per_hour is None
            else f"{money_text(Decimal(cost.settled_per_hour), cost.currency)} in steady state"
        )
        figures.append((COST, change(before, after), at_rest))
    return figures


def change(before: str, after: str, *, worse: bool = False) -> Html:
    """Before, arrow, after, red where that is `worse`; one figure where nothing changes."""
    if before == after:
        return joined((after,))
    words = tag("span", " becomes ", class_="sr")
    colour = "bad" if worse else "moves"
    return joined((before, words, tag("span", " → ", aria_hidden="true"), tag("b", after, class_=colour)))


def cautions(plan: Plan) -> str | None:
    """What a reader must know before all else; None without any."""
    return plain_sentence(sentence) if (sentence := plan_cautions(plan)) else None


def foot(digest: str, plan: Plan | None) -> Sequence[str]:
    """What the file is made from, so that two can be told apart."""
    return (f"{digest}{loops_words(plan) if plan is not None else ''}", f"reconciler {__version__}")


def _cost(cost: Cost) -> Html | None:
    if (costs := cost_table(cost)) is None:
        return None
    heads = (
        tag("th", column.heading.capitalize() or "When", scope="col", class_="r" if column.right else None)
        for column in costs.columns
    )
    body = joined(
        tag("tr", tag("th", name, scope="row"), joined(tag("td", amount or DASH, class_="r") for amount in amounts))
        for name, *amounts in costs.rows
    )
    table = tag("table", tag("thead", tag("tr", joined(heads))), tag("tbody", body), class_="few")
    note = tag("p", costs.note, class_="soft small") if costs.note else None
    return joined((tag("div", table, class_="sheet scroll", tabindex="0", role="region", aria_label="Table of cost"), note))


def buffer_section(plan: Plan) -> Section | None:
    """The CapacityBuffers with how much of their room is there and why not all of it; None without any."""
    return _room_section("buffers", "Room for CapacityBuffers", "buffer", rooms_of_buffers(plan.buffer_lines))


def request_section(plan: Plan) -> Section | None:
    """The ProvisioningRequests with whether their room is there and why not; None without any."""
    return _room_section("requests", "Room for ProvisioningRequests", "request", rooms_of_requests(plan.request_lines))


def _room_section(name: str, heading: str, noun: str, rooms: Sequence[AskedRoom]) -> Section | None:
    if not rooms:
        return None
    items = [
        tag(
            "li",
            tag("span", mark("!") if room.lacking else mark("=")),
            tag("span", f"{room.words}: {clauses(reason.message for reason in room.reasons)}"),
            class_="held" if room.lacking else None,
        )
        for room in rooms[:_PLAN_MOST_LINES]
    ]
    left = len(rooms) - len(items)
    note = tag("p", f"{counted(left, noun)} left out. All are in -o json.", class_="soft") if left > 0 else None
    body = joined((tag("ul", joined(items), class_="list sheet"), note))
    return Section(name, heading, body, f"{len(rooms):,}")


def problem_section(plan: Plan) -> Section | None:
    """What could not be read, was not examined or contradicts; None without any."""
    sentences = [f"{kind} was not captured, so it is not taken into account" for kind in plan.not_captured]
    sentences += [f"{f'{entry.object}: ' if entry.object else ''}{entry.message} [{entry.code}]" for entry in plan.problems]
    if not sentences:
        return None
    left = len(sentences) - _PLAN_MOST_LINES
    items = [tag("li", tag("span", mark("!")), tag("span", line), class_="held") for line in sentences[:_PLAN_MOST_LINES]]
    note = tag("p", f"{counted(left, 'problem')} left out. All are in -o json.", class_="soft") if left > 0 else None
    return Section("problems", "Problems", joined((tag("ul", joined(items), class_="list sheet"), note)), f"{len(sentences):,}")
