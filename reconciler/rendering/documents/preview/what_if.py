"""What both policies do in other situations: a row for each in which they differ in another way than now."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from reconciler.plan.money import money_text
from reconciler.plan.what_if import UNNAMED, Compared, Outcome, WhatIf
from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.documents.blocks import Foreign
from reconciler.rendering.words.fold import NAMES_SHOWN, Fold
from reconciler.rendering.words.wording import MAIN, THIS_PR, count
from reconciler.values.duration import duration_text
from reconciler.values.plural import verb_for

WHAT_IF = "What if"
_MOST_ROWS = 3
_NEXT, _SETTLED = "next plan", "steady state"
_NOT_FINAL = "Some of them are cut short before their steady state, so these numbers are not final."


def what_if_blocks(asked: WhatIf | None, fold: Fold) -> Iterator[tree.Block]:
    """The table of those that differ, the gravest first, and one line for each kind of the others, with their names."""
    if asked is None:
        return
    rows = gravest_situations(asked)
    shown = rows if not fold.names or len(rows) <= _MOST_ROWS + 1 else rows[:_MOST_ROWS]
    if shown:
        final = all(side.final for one in shown for side in (one.before, one.after))
        settled = all(one.settled for one in shown)
        table = tree.Table(
            columns=(
                tree.Column(heading=_SETTLED if settled else _NEXT), tree.Column(heading=MAIN, wraps=True),
                tree.Column(heading=THIS_PR, wraps=True), tree.Column(heading="change", right=True),
            ),
            rows=tuple((_named(one, settled=settled), *_cells(one)) for one in shown),
            note="" if final else _NOT_FINAL,
        )  # fmt: skip
        heading = f"{WHAT_IF}: {len(rows)} of {count(len(asked.situations), 'situation')}"
        yield tree.Section(f"{heading} {verb_for(len(rows), 'differs', 'differ')}", None, blocks=(table,), opened=True)
    lots = (
        ("with another difference", [one.what for one in rows[len(shown) :]]),
        ("with the same difference as now", [one.what for one in asked.situations if asked.as_now(one)]),
        ("without a difference", [one.what for one in asked.situations if not one.differs]),
        ("not decided, since no work was left", list(asked.not_run)),
    )
    yield from one_fold("other situation" if rows else "what-if situation", lots)


def one_fold(noun: str, lots: Sequence[tuple[str, Sequence[str]]]) -> Iterator[tree.Names]:
    """`5 other situations: 2 with the same difference as now, 3 without a difference`: all in one fold."""
    told = [(words, names) for words, names in lots if names]
    if len(told) == 1:
        ((words, names),) = told
        yield tree.Names(f"{count(len(names), noun)} {words}", tuple(names))
    elif told:
        heading = ", ".join(f"{len(names)} {words}" for words, names in told)
        lines = tuple(f"{words}: {name}" for words, names in told for name in names)
        yield tree.Names(f"{count(len(lines), noun)}: {heading}", lines)


def _named(one: Compared, *, settled: bool) -> str:
    words = situation_words(one)
    if settled or not one.settled:
        return words
    return Foreign(f"{words}, in steady state") if isinstance(words, Foreign) else f"{words}, in steady state"


def gravest_situations(asked: WhatIf) -> list[Compared]:
    """Those that differ: first where more pods wait under this PR, then by money."""
    return sorted(asked.differing, key=_weight)


def _weight(one: Compared) -> tuple[int, Decimal]:
    return one.before.waiting - one.after.waiting, -abs(one.per_hour_change or Decimal(0))


def _cells(one: Compared) -> tuple[str, str, str]:
    return _side(one, one.before, 0), _side(one, one.after, 1), Foreign(situation_change(one))


def _side(one: Compared, outcome: Outcome, at: int) -> str:
    """`spot 4, auto 9 nodes, 3 pods wait`: the groups that differ, and the pods if their number does."""
    sizes = [(name, both[at]) for name, both in one.moved.items()]
    words = [f"{name} {'none' if nodes is None else nodes}" for name, nodes in sizes[:NAMES_SHOWN]]
    if len(sizes) > NAMES_SHOWN:
        words.append(f"{len(sizes) - NAMES_SHOWN} more groups")
    if one.before.waiting != one.after.waiting:
        words.append(f"{count(outcome.waiting, 'pod')} {verb_for(outcome.waiting, 'waits', 'wait')}")
    if one.only_pace:
        words.append(_pace(outcome))
    return Foreign(", ".join(words))


def _pace(outcome: Outcome) -> str:
    """`nodes leave after 10m: 2, then 1, then 1`."""
    if outcome.leaving_after_seconds is None:
        return "no node leaves"
    return f"nodes leave after {duration_text(outcome.leaving_after_seconds)}: {', then '.join(map(str, outcome.leaving))}"


def situation_words(one: Compared) -> str:
    """A phrase; one that names a tier, a zone or a window is foreign."""
    return one.what if one.name in UNNAMED else Foreign(one.what)


def situation_change(one: Compared) -> str:
    """`4 more pods wait` if that is so, else `+$0.58/h`, or nodes where no price is known."""
    if (more := one.after.waiting - one.before.waiting) > 0:
        return f"{count(more, 'more pod')} {verb_for(more, 'waits', 'wait')}"
    if one.only_pace:
        return _pace_change(one)
    money = one.per_hour_change
    if money is not None:
        return f"{money_text(Decimal(money), one.after.currency, signed=True)}/h"
    nodes = sum(one.after.nodes.values()) - sum(one.before.nodes.values())
    return f"{nodes:+d} {'node' if abs(nodes) == 1 else 'nodes'}"


def _pace_change(one: Compared) -> str:
    """`nodes leave 20m later`, or how many more of them the first plans remove."""
    if later := one.later_by_seconds:
        return f"nodes leave {duration_text(abs(later))} {'later' if later > 0 else 'earlier'}"
    more = sum(one.after.leaving) - sum(one.before.leaving)
    if not more:
        return "nodes leave in other steps"
    plans = count(max(len(one.before.leaving), len(one.after.leaving)), "plan")
    leave = verb_for(abs(more), "node leaves", "nodes leave")
    return f"{abs(more)} {'more' if more > 0 else 'fewer'} {leave} in {plans}"
