"""The page of a running loop: the parts of a report, and what only the loop knows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal

import msgspec

from reconciler import __version__
from reconciler.decisions.outcome.upcoming_nodes import UpcomingNode
from reconciler.plan.decided import Decision
from reconciler.plan.money import money_text
from reconciler.plan.picture import Picture
from reconciler.plan.plan import Plan
from reconciler.rendering.documents.plan.nodes import leaving_nodes
from reconciler.rendering.printers.html.decided import decided_section
from reconciler.rendering.printers.html.element import Content, Html, joined, tag
from reconciler.rendering.printers.html.groups import group_section
from reconciler.rendering.printers.html.nodes import listed_nodes, node_section
from reconciler.rendering.printers.html.page import Following, Head, Section, document, slots
from reconciler.rendering.printers.html.plan import (
    COST,
    NODES,
    PENDING,
    cautions,
    last_sections,
    plan_figures,
)
from reconciler.rendering.printers.html.pods import pod_section
from reconciler.rendering.printers.html.recent import Sample, ago, line, size_lines
from reconciler.rendering.printers.html.troubles import Known, trouble_list
from reconciler.rendering.printers.html.upcoming import upcoming_section
from reconciler.rendering.words.wording import header_words, rest_words
from reconciler.values.duration import duration_text
from reconciler.values.instant import instant_text

TITLE = "Node groups, live"
_LINKS = (
    ("metrics", "Metrics", "what Prometheus reads"),
    ("plan", "The last plan as JSON", "as plan -o json prints it"),
    ("report", "The last plan as a report", "with a picture of the nodes, which does not update"),
    ("readyz", "Readiness", "why nothing is decided, where nothing is"),
)


class Rest(msgspec.Struct, frozen=True, kw_only=True):
    """The steady state of a plan of `at_seconds`: replicas by target, and the price per hour (None: nothing has one)."""

    at_seconds: int
    sizes: Mapping[str, int]
    per_hour: str | None = None


class LiveState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a running loop at `now_seconds`. `leader` is a sentence about who leads. `plan` is the last plan, decided at
    `plan_seconds`, and `picture` shows its nodes and their pods; both are empty before the first plan. `doubts` are sentences
    about why nothing is decided now, or not by the newest policy. `rest` is None until the steady state is computed. The loop
    decides every `turn_seconds`; `samples` are from its last six hours. `held_since` is by target, and `backoffs` has the end of
    each group's back-off; both in Unix seconds."""

    now_seconds: int
    period_seconds: int
    leader: str
    plan: Plan | None = None
    plan_seconds: int = 0
    doubts: tuple[str, ...] = ()
    picture: Picture = Picture()
    upcoming: tuple[UpcomingNode, ...] = ()
    decisions: tuple[Decision, ...] = ()
    rest: Rest | None = None
    turn_seconds: int = 10
    samples: tuple[Sample, ...] = ()
    held_since: Mapping[str, int] = {}
    backoffs: Mapping[str, int] = {}


def live_html(state: LiveState) -> str:
    """The whole page. It updates itself, with scripts and without."""
    following = Following(period_seconds=state.period_seconds, shown_at=instant_text(state.now_seconds))
    plan = state.plan
    foot = (f"reconciler {__version__}",)
    if plan is None:
        lead = state.doubts[0] if state.doubts else state.leader
        head = Head(title=TITLE, lead=lead, facts=(("leader", state.leader),), figures=(), warning=_warning(state.doubts[1:]))
        return document(head, (_links(),), (), foot, following)
    shown = plan if state.rest is None else _at_rest(plan, state.rest)
    head = Head(
        title=TITLE,
        lead=" ".join(filter(None, (plan.summary, rest_words(shown)))),
        facts=(*header_words(plan)[:-1], ("leader", state.leader), ("decided", ago(state.plan_seconds, state.now_seconds))),
        figures=(*_lines(plan_figures(shown), state, plan.cost.currency), *_figures(state.upcoming, state.now_seconds)),
        warning=_warning((*state.doubts, *filter(None, (cautions(plan),)))),
        attention=trouble_list(plan, _known(state), state.doubts),
    )
    known = slots([group.name for group in plan.groups])
    leaving = leaving_nodes(plan)
    sections = [
        group_section(shown, size_lines(state.samples, state.now_seconds, {one.target: one.name for one in shown.groups})),
        upcoming_section(state.upcoming, state.now_seconds, known),
        pod_section(plan, known),
        decided_section(state.decisions, state.now_seconds, known),
        node_section(plan, listed_nodes(plan, leaving), state.picture, leaving, known),
    ]
    sections += last_sections(plan)
    digest = plan.digest if state.rest is None else f"{plan.digest} · steady state as of {instant_text(state.rest.at_seconds)}"
    return document(head, (*sections, _links()), [group.name for group in plan.groups], (digest, *foot), following)


def _known(state: LiveState) -> Known:
    return Known(
        now_seconds=state.now_seconds, period_seconds=state.turn_seconds, decisions=state.decisions, upcoming=state.upcoming,
        held_since=state.held_since, backoffs=state.backoffs,
    )  # fmt: skip


def _lines(
    figures: Sequence[tuple[str, Content, Content]], state: LiveState, currency: str
) -> Iterator[tuple[str, Content, Content]]:
    """The tiles, those with a history with its line."""

    def price(micros: int) -> str:
        return money_text(Decimal(micros) / 1_000_000, currency)

    drawn: Mapping[str, tuple[Callable[[Sample], int | None], Callable[[int], str]]] = {
        NODES: (lambda sample: sample.nodes, "{:,}".format),
        PENDING: (lambda sample: sample.pending, "{:,}".format),
        COST: (lambda sample: sample.cost_micros, price),
    }
    for name, value, note in figures:
        if name not in drawn:
            yield name, value, note
            continue
        history = line(name, state.samples, state.now_seconds, *drawn[name])
        yield name, value, joined((tag("span", note, class_="line") if note else None, history))


def _at_rest(plan: Plan, rest: Rest) -> Plan:
    groups = tuple(msgspec.structs.replace(group, settled=rest.sizes.get(group.target)) for group in plan.groups)
    return msgspec.structs.replace(
        plan, groups=groups, cost=msgspec.structs.replace(plan.cost, settled_per_hour=_price(plan, rest))
    )


def _price(plan: Plan, rest: Rest) -> str | None:
    return None if plan.cost.current_per_hour is None else rest.per_hour and str(Decimal(rest.per_hour))


def _figures(upcoming: Sequence[UpcomingNode], now_seconds: int) -> Sequence[tuple[str, Content, Content]]:
    expected = [node for node in upcoming if not node.failed]
    failed = len(upcoming) - len(expected)
    notes = []
    if expected:
        notes.append(f"longest for {duration_text(now_seconds - min(node.since_seconds for node in expected))}")
    if failed:
        notes.append(f"{failed:,} failed")
    return (("Upcoming nodes", f"{len(expected):,}", ", ".join(notes)),)


def _warning(sentences: Sequence[str]) -> Html | None:
    return joined(tag("span", sentence, class_="line") for sentence in sentences) if sentences else None


def _links() -> Section:
    lines = (
        tag("li", tag("span", "·", class_="m", aria_hidden="true"), tag("span", tag("a", name, href=path), f": {what}"))
        for path, name, what in _LINKS
    )
    return Section("more", "More of this loop", tag("ul", joined(lines), class_="list sheet"))
