"""A search for a better policy as a document: on a terminal, on a page and as the text of a pull request."""

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from reconciler.plan.money import money_text
from reconciler.plan.tuning import DemandFigures, Trial, TriedChange, Tuning, Verdict
from reconciler.plan.waste import Wastes
from reconciler.rendering.documents.blocks import (
    Block,
    Column,
    Document,
    Foreign,
    Item,
    Items,
    Paragraph,
    Sentence,
    Table,
    plain_sentence,
)
from reconciler.rendering.documents.waste_table import waste_table
from reconciler.rendering.words.unobserved import unobserved_words
from reconciler.rendering.words.wording import count
from reconciler.values.decoding import convert
from reconciler.values.duration import duration_text

FORMAT_VERSION = "1.0"
NOT_BETTER = "no better policy found"
TODAY, PROPOSED = "today", "proposed"
_BAR = 10
_MILLION = 1_000_000

TuningDocument = msgspec.defstruct(
    "TuningDocument",
    [("format_version", str, FORMAT_VERSION), *((field.name, field.type) for field in msgspec.structs.fields(Tuning))],
    frozen=True,
    kw_only=True,
    rename="camel",
    module=__name__,
    namespace={"__doc__": "`tune -o json`: the search, with the figures of every trial. Trial 0 is the policy of today."},
)
"""A search behind the version of its form."""


def tuning_values(tuning: Tuning) -> msgspec.Struct:
    """The search behind the version of its form, for programs."""
    return convert(tuning, TuningDocument, from_attributes=True)


def lead_words(tuning: Tuning) -> Sentence:
    """What it came to, in one sentence."""
    proof, tried = tuning.held_out, count(len(tuning.trials) - 1, "trial")
    periods = count(len(tuning.held_out_periods), "period")
    if proof is None:
        return (f"{NOT_BETTER}: none of {tried} is better than the policy of today",)
    gain = f"the best of {tried} gains {percent(proof.gain_ppm)} in {periods} that the search never saw"
    match tuning.verdict:
        case Verdict.PROPOSED:
            return (f"{gain}, where {percent(proof.needed_ppm)} could be chance",)
        case Verdict.TRADES:
            return (f"{NOT_BETTER}: the best of {tried} makes cost or waiting worse there. What pays for it says --objective",)
        case _:
            return (f"{NOT_BETTER}: {gain}, where {percent(proof.needed_ppm)} could be chance",)


def facts(tuning: Tuning) -> tuple[tuple[str, str], ...]:
    """Where it comes from."""
    weights = ", ".join(f"{name}={weight}" for name, weight in tuning.objective.items())
    return (
        ("trace", Foreign(tuning.trace)),
        ("policy", Foreign(tuning.policy)),
        ("objective", weights + ("" if tuning.trades else ", and nothing gets worse")),
        ("periods", f"{len(tuning.search_periods)} of {duration_text(tuning.period_seconds)} searched"),
        ("held out", ", ".join(tuning.held_out_periods)),
    )


def front(tuning: Tuning) -> tuple[Trial, ...]:
    """Today's policy, the front and the proposed one, by cost."""
    best = None if tuning.held_out is None else tuning.held_out.trial
    shown = [trial for trial in tuning.trials if trial.number in (0, best) or trial.on_front]
    return tuple(sorted(shown, key=lambda trial: (trial.cost_ppm, trial.number)))


def change_words(change: TriedChange) -> Sentence:
    """`prod spec.defaults.headroom.nodes: 0 -> 1`."""
    before = "not written" if change.before is None else Foreign(change.before)
    return (Foreign(change.setting), ": ", before, " -> ", Foreign(change.after))


def name_of(tuning: Tuning, trial: Trial) -> str:
    """What a trial is called in tables and pictures."""
    known = {0: TODAY, tuning.chosen: PROPOSED}
    return known.get(trial.number, f"trial {trial.number}")


def percent(ppm: int) -> str:
    """Millionths as a percentage with one digit."""
    return f"{ppm / 10_000:.1f}%"


def replay_limits(tuning: Tuning, join_words: str) -> tuple[str, ...]:
    """What a replay cannot know."""
    never = sum(one.pods_never_placed for one in tuning.trials[0].periods)
    return (
        *(
            f"{words} Periods of which a tenth was not seen are left out."
            for words in unobserved_words(tuning.unobserved_seconds)
        ),
        *(
            (f"Under the policy of today, {count(never, 'pod')} never got a node. Is this the recording of its cluster?",)
            if never
            else ()
        ),
        "Demand is replayed as it was. It does not react: a pod that was never made because others waited is missing.",
        "Requests of pods count, and not their use.",
        f"Nodes join {join_words}.",
        f"Each period of {duration_text(tuning.period_seconds)} begins with an hour of its first demand, which does not count.",
    )


def tuning_document(tuning: Tuning, join_words: str) -> Document:
    """The verdict, the front with today's policy marked, the proof, and what a replay cannot know."""
    blocks: list[Block] = [_front_table(tuning), _changes(tuning)]
    if tuning.held_out is not None:
        blocks.append(_proof_table(tuning))
    blocks.append(Items(tuple(Item(text=text, bullet="- ") for text in replay_limits(tuning, join_words))))
    return Document(title="A search for a better policy", lead=lead_words(tuning), facts=facts(tuning), blocks=tuple(blocks))


def request_document(tuning: Tuning, join_words: str, command: str, idle: tuple[str, Wastes]) -> Document:
    """The text of a pull request. `command` is what made it. `idle` is when the most capacity is idle in the last period, and
    what keeps it."""
    chosen = tuning.proposed
    changes = chosen.changes if chosen is not None else ()
    rows = tuple((Foreign(one.setting), _written(one.before), Foreign(one.after)) for one in changes)
    columns = (Column(heading="value", shrinks=True), Column(heading="today"), Column(heading="proposed"))
    undo = "To undo it, revert this commit: nothing but the values above has changed."
    whole = tuning_document(tuning, join_words)
    made: Sentence = ("Made by ", Foreign(command), ". The preview of this pull request is about the cluster as it is now.")
    at, waste = idle
    most = (Paragraph((f"Under the policy of today, most capacity of the last period is idle at {at}:",)),) if waste.rows else ()
    blocks = (
        Table(columns=columns, rows=rows), *whole.blocks, *most, *waste_table(waste), Paragraph((undo,)), Paragraph(made),
    )  # fmt: skip
    title = f"{count(len(changes), 'value')} of the policy, learned from past demand"
    return msgspec.structs.replace(whole, title=title, blocks=blocks)


def _written(before: str | None) -> str:
    return "not written" if before is None else Foreign(before)


def _front_table(tuning: Tuning) -> Table:
    """A row a trial, with bars for cost and wait."""
    shown = front(tuning)
    most = [max(1, *(trial.cost_ppm for trial in shown)), max(1, *(trial.wait_ppm for trial in shown))]
    rows = []
    for trial in shown:
        figures = trial.periods
        rows.append(
            (
                name_of(tuning, trial) + ("" if trial.on_front else " *"),
                _cost(figures, tuning.currency),
                _bar(trial.cost_ppm, most[0]),
                f"{sum(one.unplaced_pod_seconds for one in figures) / 60:,.1f}",
                _bar(trial.wait_ppm, most[1]),
                *(f"{max(getattr(one, name) for one in figures)}s" for name in _WAITS),
                *(f"{sum(getattr(one, name) for one in figures):,}" for name in _COUNTS),
                percent(trial.gain_ppm) if trial.number else "",
            )
        )
    headings = ("", "cost", "", "pod min", "", "p50", "p95", "longest", "grown", "removed", "evicted", "gain")
    columns = tuple(Column(heading=heading, right=bool(heading)) for heading in headings)
    caption = f"The front of cost and waiting over {count(len(tuning.search_periods), 'search period')}:"
    starred = any(not trial.on_front for trial in shown)
    note = "* another one is better in cost or waiting, and not worse in the other" if starred else ""
    return Table(columns=columns, rows=tuple(rows), caption=caption, note=note)


_WAITS = ("wait_p50_seconds", "wait_p95_seconds", "wait_max_seconds")
"""Of the worst period: percentiles of several periods cannot be added."""
_COUNTS = ("grown_nodes", "removed_nodes", "evictions")


def _changes(tuning: Tuning) -> Items:
    """What each trial of the front changes."""
    shown = [(trial, ", ".join(plain_sentence(change_words(one)) for one in trial.changes)) for trial in front(tuning)]
    return Items(tuple(Item(text=f"{name_of(tuning, trial)}: {words}", bullet="- ") for trial, words in shown if words))


def _proof_table(tuning: Tuning) -> Table:
    """Both policies in the periods that the search never saw."""
    proof = tuning.held_out
    pairs = [] if proof is None else list(zip(proof.today, proof.tried, proof.gains_ppm, strict=True))
    rows = tuple(
        (
            today.start,
            _cost((today,), tuning.currency),
            _cost((tried,), tuning.currency),
            f"{today.unplaced_pod_seconds / 60:,.1f}",
            f"{tried.unplaced_pod_seconds / 60:,.1f}",
            percent(gain),
        )
        for today, tried, gain in pairs
    )
    name = PROPOSED if tuning.chosen is not None else f"trial {proof.trial if proof is not None else 0}"
    columns = (
        Column(heading="held out"),
        *(Column(heading=text, right=True) for text in ("cost today", name, "pod min today", name, "gain")),
    )
    return Table(columns=columns, rows=rows)


def _cost(figures: Sequence[DemandFigures], currency: str) -> str:
    costs = [Decimal(one.cost) for one in figures if one.cost is not None]
    if len(costs) < len(figures):
        return f"{sum(one.node_seconds for one in figures) / 3600:,.1f} h"
    return Foreign(money_text(sum(costs, Decimal(0)), currency))


def _bar(value: int, most: int) -> str:
    return "█" * max(0, (_BAR * value + most // 2) // most)
