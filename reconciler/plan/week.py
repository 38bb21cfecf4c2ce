"""What a loop did in the last days: figures of each hour, and news. It is what `reconciler report` shows."""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from reconciler.plan.money import price_of_nodes
from reconciler.plan.plan import NodeState, Plan
from reconciler.plan.waiting_times import kept_seconds, waited_seconds
from reconciler.plan.waste import Wastes, wastes
from reconciler.values.instant import UnixSeconds
from reconciler.values.money import parse_money

HOUR_SECONDS = 3600
MOST_HOURS = 15 * 24
"""Fifteen days: a week and the week before it."""
MOST_NEWS = 400
LONGEST_WORDS = 300
MOST_WASTES = 20
"""Rows of the table of waste: a state object is small."""
NOBODY: Mapping[int, int] = MappingProxyType({})
_MOST_CAUSES = 8
_UNDERUSED = (NodeState.EMPTY, NodeState.UNDERUTILIZED)


class Figures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Sums over `decided_seconds`, the time that decisions stand for. Node, pod and group seconds are sums over that time: two
    nodes for a minute are 120. Nodes count from joining until they are gone, as in a replay. `cost_micros` are millionths of the
    currency. `unpriced`: groups without a price are missing. `pods_never_placed` went before a decision saw them on a node."""

    decided_seconds: int = 0
    node_seconds: int = 0
    cost_micros: int = 0
    unpriced: bool = False
    unplaced_pod_seconds: int = 0
    pods_never_placed: int = 0
    most_waiting: int = 0
    held_group_seconds: int = 0
    added: int = 0
    removed: int = 0
    failed_removals: int = 0


class Hour(Figures, frozen=True, kw_only=True, rename="camel"):
    """One hour from `at_seconds` on. `kept` are node seconds of underused nodes that stayed, by the code of the first blocker.
    `waits` are pods that got a node, by `kept_seconds` from their creation."""

    at_seconds: UnixSeconds
    kept: Mapping[str, int] = {}
    waits: Mapping[int, int] = {}
    longest_wait_seconds: int = 0


class News(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing that happened to a group or its target, first at `at_seconds`, `times` in all. `code` is stable; `words` is one
    sentence. `warning`: somebody should look."""

    at_seconds: UnixSeconds
    last_seconds: UnixSeconds
    subject: str
    code: str
    words: str
    warning: bool = False
    times: int = 1


class Week(msgspec.Struct, frozen=True, kw_only=True):
    """The hours in their order, and the news, oldest first. `waste` is the table of the last plan, its most expensive rows.
    `waiting` are its pods without a node."""

    currency: str = ""
    hours: tuple[Hour, ...] = ()
    news: tuple[News, ...] = ()
    waste: Wastes = Wastes()
    waiting: int = 0


def with_plan(
    week: Week,
    plan: Plan,
    at_seconds: int,
    elapsed_seconds: int,
    *,
    before: Plan | None = None,
    added: int = 0,
    removed: int = 0,
    failed_removals: int = 0,
    waits: Mapping[int, int] = NOBODY,
    pods_never_placed: int = 0,
) -> Week:
    """The week with a decision at `at_seconds`. What the one `before` saw, `elapsed_seconds` ago, lasted until now. Without it,
    that counts which `plan` sees. `waits` are pods that got a node since, by seconds from their creation."""
    lasted = before or plan
    hour = at_seconds // HOUR_SECONDS * HOUR_SECONDS
    *earlier, last = week.hours or (Hour(at_seconds=hour),)
    if last.at_seconds < hour:
        earlier, last = [*earlier, last], Hour(at_seconds=hour)
    kept = Counter(last.kept)
    for node in lasted.nodes:
        if node.state in _UNDERUSED and node.blockers:
            kept[node.blockers[0].code] += elapsed_seconds
    waited = Counter(last.waits)
    for seconds, pods in waits.items():
        waited[kept_seconds(seconds)] += pods
    nodes = Counter(node.group for node in lasted.nodes if node.group is not None)
    prices = {line.name: parse_money(line.price_per_hour) for line in lasted.groups if line.price_per_hour is not None}
    made = msgspec.structs.replace(
        last,
        decided_seconds=last.decided_seconds + elapsed_seconds,
        node_seconds=last.node_seconds + elapsed_seconds * nodes.total(),
        cost_micros=last.cost_micros + elapsed_seconds * price_of_nodes(nodes, prices) // HOUR_SECONDS,
        unpriced=last.unpriced or any(name not in prices for name in nodes),
        unplaced_pod_seconds=last.unplaced_pod_seconds + elapsed_seconds * len(lasted.pods),
        pods_never_placed=last.pods_never_placed + pods_never_placed,
        most_waiting=max(last.most_waiting, len(plan.pods)),
        held_group_seconds=last.held_group_seconds + elapsed_seconds * sum(group.held for group in lasted.groups),
        added=last.added + added,
        removed=last.removed + removed,
        failed_removals=last.failed_removals + failed_removals,
        kept=dict(sorted(kept.most_common(_MOST_CAUSES))),
        waits=dict(sorted(waited.items())),
        longest_wait_seconds=max([last.longest_wait_seconds, *waits]),
    )
    table = wastes(plan)
    waste = msgspec.structs.replace(table, rows=table.rows[:MOST_WASTES])
    hours = (*earlier, made)[-MOST_HOURS:]
    return msgspec.structs.replace(week, currency=plan.cost.currency, hours=hours, waste=waste, waiting=len(plan.pods))


def with_news(week: Week, fresh: Iterable[News]) -> Week:
    """The week with what happened just now. What happens again counts up."""
    known = {(one.subject, one.code, one.words): one for one in week.news}
    for one in fresh:
        short = msgspec.structs.replace(one, words=one.words[:LONGEST_WORDS])
        key = short.subject, short.code, short.words
        before = known.pop(key, None)
        if before is not None:
            short = msgspec.structs.replace(short, at_seconds=before.at_seconds, times=before.times + 1)
        known[key] = short
    return msgspec.structs.replace(week, news=tuple(known.values())[-MOST_NEWS:])


class Span(Figures, frozen=True, kw_only=True, rename="camel"):
    """One stretch of time. `hours` counts those with a decision; `kept` is as in `Hour`, the most node seconds first.

    Waiting times are those of a replay, from a pod's creation until a decision sees it on a node, by nearest rank. They are
    rounded up to `waiting_times.KEPT_SECONDS`, except for the longest. Pods that still wait at the end of the record are
    in `pods_never_placed`. A waiting time that falls on one of those is the longest of the others, and means longer."""

    hours: int = 0
    pods_placed: int = 0
    wait_p50_seconds: int = 0
    wait_p95_seconds: int = 0
    wait_max_seconds: int = 0
    kept: tuple[tuple[str, int], ...] = ()


def span(week: Week, from_seconds: int, to_seconds: int) -> Span:
    """The hours that begin at or after `from_seconds` and before `to_seconds`."""
    hours = [one for one in week.hours if from_seconds <= one.at_seconds < to_seconds]
    kept: Counter[str] = Counter()
    waits: Counter[int] = Counter()
    for one in hours:
        kept.update(one.kept)
        waits.update(one.waits)
    longest = max((one.longest_wait_seconds for one in hours), default=0)
    sums = {name: sum(getattr(one, name) for one in hours) for name in Figures.__struct_fields__}
    never = sums["pods_never_placed"] + (week.waiting if hours and hours[-1] is week.hours[-1] else 0)
    p50, p95, most = (min(longest, waited_seconds(waits, never, percent, longest)) for percent in (50, 95, 100))
    return Span(
        **{
            **sums,
            "pods_never_placed": never,
            "unpriced": any(one.unpriced for one in hours),
            "most_waiting": max((one.most_waiting for one in hours), default=0),
        },
        hours=len(hours),
        pods_placed=waits.total(),
        wait_p50_seconds=p50,
        wait_p95_seconds=p95,
        wait_max_seconds=most,
        kept=tuple(sorted(kept.items(), key=lambda item: (-item[1], item[0]))),
    )
