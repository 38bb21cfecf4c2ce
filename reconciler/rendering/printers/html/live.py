"""The page of a running loop: the parts of a report, and what only the loop knows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal

import msgspec

from reconciler import __version__
from reconciler.decisions.outcome.upcoming_nodes import UpcomingNode
from reconciler.plan.decided import Decision, Fate
from reconciler.plan.money import money_text
from reconciler.plan.picture import Picture
from reconciler.plan.plan import ActionKind, Plan
from reconciler.rendering.documents.plan.nodes import leaving_nodes
from reconciler.rendering.printers.html.element import Content, Html, joined, tag
from reconciler.rendering.printers.html.groups import group_section
from reconciler.rendering.printers.html.nodes import listed_nodes, node_section, upcoming_section
from reconciler.rendering.printers.html.page import CLASSES, Following, Head, Section, document, mark, scrolling, slots
from reconciler.rendering.printers.html.plan import (
    COST,
    NODES,
    PENDING,
    cautions,
    last_sections,
    plan_figures,
)
from reconciler.rendering.printers.html.pods import pod_section
from reconciler.rendering.printers.html.recent import Sample, ago, line
from reconciler.rendering.printers.html.troubles import Known, trouble_list
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import GROWS, HELD, OTHER, SHRINKS, count, header_words, rest_words
from reconciler.values.duration import duration_text
from reconciler.values.instant import instant_text

# The last decisions of a loop and what became of each, the newest first.

MOST_LINES = 20
_FATES = {
    Fate.DONE: "done", Fate.UNDER_WAY: "under way", Fate.SKIPPED: "not tried", Fate.REFUSED: "refused", Fate.FAILED: "failed",
}  # fmt: skip
_VERBS = {ActionKind.ADOPT: "adopt", ActionKind.RELEASE: "release", ActionKind.CANCEL: "take requests back",
          ActionKind.REPLACE: "replace", ActionKind.RESIZE: "resize"}  # fmt: skip


def decided_section(decisions: Sequence[Decision], now_seconds: int, groups: Mapping[str, str]) -> Section:
    """At most twenty lines; what one turn decided for one group and reason, with one end, is one of them."""
    if not decisions:
        return Section("decided", "Last decisions", tag("p", "This process has decided to change nothing so far."), "0")
    lots: dict[tuple[object, ...], list[Decision]] = {}
    for entry in decisions:
        folds = entry.kind is ActionKind.REMOVE_NODE
        alike = (entry.group, entry.reason_code, entry.fate, entry.code) if folds else (entry.target, entry.to)
        lots.setdefault((-entry.at_seconds, entry.kind, *alike), []).append(entry)
    newest = sorted(lots.values(), key=lambda those: -those[0].at_seconds)
    heads = (tag("th", name, scope="col") for name in ("Decision", "Decided", "What became of it", "Why"))
    body = joined(_row(those, now_seconds, groups) for those in newest[:MOST_LINES])
    table = tag("table", tag("thead", tag("tr", joined(heads))), tag("tbody", body), class_="stack")
    left = len(newest) - MOST_LINES
    note = tag("p", f"{count(left, 'earlier one')} not shown. The log has all.", class_="soft") if left > 0 else None
    extent = f"the last {min(len(newest), MOST_LINES)}, of this process"
    return Section("decided", "Last decisions", joined((scrolling("Table of decisions", table), note)), extent)


def _row(those: Sequence[Decision], now_seconds: int, groups: Mapping[str, str]) -> Html:
    first = those[0]
    sign = _sign(first)
    last = (f"{first.times:,} times, last ", ago(first.last_seconds, now_seconds))
    often = tag("div", *last, class_="small soft") if first.times > 1 else None
    return tag(
        "tr",
        tag("th", mark(sign), " ", _words(those), scope="row", class_="name"),
        tag("td", tag("span", ago(first.at_seconds, now_seconds), class_="at"), often, data_as="Decided"),
        tag("td", _fate(those), class_="fate", data_as="What became of it"),
        tag("td", first.reason, class_="why small", data_as="Why"),
        class_="bad" if first.fate is Fate.FAILED else CLASSES[sign],
        data_item=True, data_counted=True, data_moves=True, data_groups=groups.get(first.group),
        data_key=f"{first.at_seconds} {first.kind} {first.target} {first.to} {first.fate}",
    )  # fmt: skip


def _sign(entry: Decision) -> str:
    if entry.fate in (Fate.REFUSED, Fate.FAILED):
        return HELD
    if entry.to == entry.from_ or entry.kind is ActionKind.REPLACE:
        return OTHER
    return GROWS if entry.to > entry.from_ else SHRINKS


def _words(those: Sequence[Decision]) -> str:
    first = those[0]
    group = first.group or first.target
    low = min(entry.to for entry in those)
    # No-break spaces: a size stays on one line.
    sizes = f"{first.from_}\u00a0\u2192\u00a0{low}" if first.from_ != low else f"at {first.to}"
    if first.kind is ActionKind.REMOVE_NODE:
        nodes = tuple(name for entry in those for name in entry.nodes)
        return f"{group}: remove {count(len(nodes), 'node')} ({sizes}): {listed(nodes, NAMES_SHOWN)}"
    return f"{group}: {_VERBS[first.kind]} {sizes}"


def _fate(those: Sequence[Decision]) -> Html:
    first = those[0]
    words = tuple(dict.fromkeys(entry.words for entry in those if entry.words))
    since = f" at {instant_text(first.fate_seconds)}" if first.fate_seconds != first.at_seconds else ""
    words_after = f": {words[0]}" if words else ""
    more = f" (and {len(words) - 1} more)" if len(words) > 1 else ""
    return joined((tag("b", _FATES[first.fate]), f"{since}{words_after}{more}"))


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
        group_section(shown),
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
