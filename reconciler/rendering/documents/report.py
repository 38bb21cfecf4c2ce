"""What a loop did in a stretch of time, next to the stretch before it: figures, news, and what keeps underused nodes."""

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from reconciler.plan.money import money, money_text
from reconciler.plan.waste import Wastes
from reconciler.plan.week import HOUR_SECONDS, News, Span, Week, span
from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.documents.blocks import Foreign, foreign_sentence
from reconciler.rendering.documents.waste_table import waste_table
from reconciler.rendering.words.waited import waited_words
from reconciler.rendering.words.wording import count
from reconciler.values.clauses import clauses
from reconciler.values.duration import duration_text
from reconciler.values.instant import instant_text

FORMAT_VERSION = "1.0"
MOST_NEWS = 20
_MOST_CAUSES = 5
_NOTHING = {"0", "0.0", "-"}


class ReportNews(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing that happened, last at `at`, `times` in all since `since`."""

    at: str
    since: str
    subject: str
    code: str
    words: str
    warning: bool
    times: int


class HeldGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group that is held now, since when, and for whom or what."""

    group: str
    since: str
    why: str


class ReportDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`from_` to `to` is the stretch of time. `before` has the figures of an equal stretch before it (null: nothing is recorded
    of that). `held` are groups that are held now. `refused`: why a newer policy is not in force (empty: none is refused). `waste`
    is what capacity without requests costs by the last decision."""

    format_version: str = FORMAT_VERSION
    policy: str
    from_: str = msgspec.field(name="from")
    to: str
    currency: str
    summary: str
    figures: Span
    before: Span | None
    news: tuple[ReportNews, ...]
    held: tuple[HeldGroup, ...] = ()
    refused: str = ""
    waste: Wastes = Wastes()


def report_document(
    week: Week, policy: str, now_seconds: int, since_seconds: int, held: Sequence[HeldGroup] = (), refused: str = ""
) -> ReportDocument:
    """The last `since_seconds`, in whole hours."""
    begin = now_seconds - since_seconds
    figures = span(week, begin, now_seconds + 1)
    before = span(week, begin - since_seconds, begin)
    news = sorted(
        (one for one in week.news if one.last_seconds >= begin), key=lambda one: (not one.warning, -one.last_seconds, one.subject)
    )
    return ReportDocument(
        policy=policy,
        from_=instant_text(begin),
        to=instant_text(now_seconds),
        currency=week.currency,
        summary=_summary(figures, before, week.currency, since_seconds),
        figures=figures,
        before=before if before.hours else None,
        news=tuple(_told(one) for one in news),
        held=tuple(held),
        refused=refused,
        waste=week.waste,
    )


def report_tree(document: ReportDocument) -> tree.Document:
    """The report as blocks: alarms, figures, news, causes."""
    alarms = []
    if document.refused:
        line = ("A newer policy is not in force: ", *foreign_sentence(document.refused))
        alarms.append(tree.Alarm(meaning=tree.Meaning.DANGER, lines=(line,)))
    if document.held:
        lines = tuple((Foreign(one.group), f" is held since {one.since}: ", *foreign_sentence(one.why)) for one in document.held)
        alarms.append(tree.Alarm(meaning=tree.Meaning.HELD, lines=lines))
    return tree.Document(
        title=f"What the loop of {document.policy} did",
        alarms=tuple(alarms),
        lead=(document.summary,),
        facts=(("from", document.from_), ("to", document.to)),
        blocks=(_figure_table(document), _news_section(document.news), *_causes(document.figures), *waste_table(document.waste)),
    )


def _summary(now: Span, before: Span, currency: str, seconds: int) -> str:
    if not now.hours:
        return f"Nothing was decided in the last {duration_text(seconds)}, or nothing is recorded of it."
    parts = [f"{count(now.added, 'node')} added and {now.removed} removed in the last {duration_text(seconds)}"]
    if now.cost_micros:
        change = _percent(now.cost_micros, before.cost_micros) if before.hours else ""
        parts.append(f"cost {_money(now.cost_micros, currency)}{f' ({change} against the time before)' if change else ''}")
    parts.append(f"{_hours(now.unplaced_pod_seconds)} pod hours without a node")
    return f"{clauses(parts)}."


def _figure_table(document: ReportDocument) -> tree.Table:
    now, before = document.figures, document.before
    rows = [
        ("Cost" + (" (groups without a price are missing)" if now.unpriced else ""), *_moneys(now, before, document.currency)),
        ("Nodes on average", *(_mean(one.node_seconds, one) for one in (now, before) if one is not None)),
        ("Pod hours without a node", *(_hours(one.unplaced_pod_seconds) for one in (now, before) if one is not None)),
        ("Time to schedule, p50", *(_waited(one, 50, one.wait_p50_seconds) for one in (now, before) if one is not None)),
        ("Time to schedule, p95", *(_waited(one, 95, one.wait_p95_seconds) for one in (now, before) if one is not None)),
        ("Time to schedule, longest", *(_waited(one, 100, one.wait_max_seconds) for one in (now, before) if one is not None)),
        ("Pods that never got a node", *(str(one.pods_never_placed) for one in (now, before) if one is not None)),
        ("Most pods that waited", *(str(one.most_waiting) for one in (now, before) if one is not None)),
        ("Group hours held", *(_hours(one.held_group_seconds) for one in (now, before) if one is not None)),
        ("Nodes added", *(str(one.added) for one in (now, before) if one is not None)),
        ("Nodes removed", *(str(one.removed) for one in (now, before) if one is not None)),
        ("Removals that failed", *(str(one.failed_removals) for one in (now, before) if one is not None)),
        ("Hours with decisions", *(_hours(one.decided_seconds) for one in (now, before) if one is not None)),
    ]
    headings = ("figure", "this time") + (("the time before",) if before is not None else ())
    columns = tuple(tree.Column(heading=name, right=position > 0) for position, name in enumerate(headings))
    return tree.Table(columns=columns, rows=tuple(tuple(row) for row in rows if set(row[1:]) - _NOTHING))


def _waited(one: Span, percent: int, seconds: int) -> str:
    return waited_words(one, percent, seconds) if one.pods_placed or one.pods_never_placed else "-"


def _moneys(now: Span, before: Span | None, currency: str) -> list[str]:
    return [_money(one.cost_micros, currency) if one.cost_micros else "-" for one in (now, before) if one is not None]


def _news_section(news: Sequence[ReportNews]) -> tree.Section:
    differences = [
        tree.Difference(
            tree.STAYS if one.warning else tree.OTHERWISE,
            f"{one.at} {one.subject}: {one.code}{f' ({one.times} times)' if one.times > 1 else ''}: {one.words}",
            tree.Meaning.HELD if one.warning else tree.Meaning.NEUTRAL,
        )
        for one in news
    ]
    return tree.Section("What happened", len(news), tree.cut(differences, MOST_NEWS, "event"), noun="event", opened=True)


def _causes(figures: Span) -> tuple[tree.Table, ...]:
    if not figures.kept:
        return ()
    rows = tuple((code, _hours(seconds)) for code, seconds in figures.kept[:_MOST_CAUSES])
    columns = (tree.Column(heading="why underused nodes stayed"), tree.Column(heading="node hours", right=True))
    return (tree.Table(columns=columns, rows=rows, note="docs/reference/reasons.md says what each code means."),)


def _told(one: News) -> ReportNews:
    return ReportNews(
        at=instant_text(one.last_seconds),
        since=instant_text(one.at_seconds),
        subject=one.subject,
        code=one.code,
        words=one.words,
        warning=one.warning,
        times=one.times,
    )


def _money(micros: int, currency: str) -> str:
    return money_text(Decimal(money(micros * HOUR_SECONDS)), currency)


def _percent(now: int, before: int) -> str:
    return f"{round((now - before) * 100 / before):+d} %" if before else ""


def _hours(seconds: int) -> str:
    return f"{seconds / HOUR_SECONDS:.1f}"


def _mean(sum_seconds: int, one: Span) -> str:
    return f"{sum_seconds / one.decided_seconds:.1f}" if one.decided_seconds else "-"
