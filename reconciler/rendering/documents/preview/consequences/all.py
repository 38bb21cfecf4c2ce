"""All effects of a policy change, the gravest first."""

from collections.abc import Iterator, Sequence

import msgspec

from reconciler.plan.preview import Preview
from reconciler.plan.reason import Scalar
from reconciler.policy.changes.comparison import PolicyChange
from reconciler.rendering.documents.blocks import Foreign, Sentence
from reconciler.rendering.documents.preview.change_figures import COST, NODES, ChangeFigure, change_figures
from reconciler.rendering.documents.preview.consequences.consequence import Code, Consequence, Grade
from reconciler.rendering.documents.preview.consequences.group_warnings import group_warnings
from reconciler.rendering.documents.preview.consequences.groups import group_changes, target_missing
from reconciler.rendering.documents.preview.consequences.judged import (
    declared_sizes,
    new_findings,
    new_problems,
    other_clusters,
    policy_warnings,
    tests_lost,
)
from reconciler.rendering.documents.preview.consequences.later import later_effects
from reconciler.rendering.documents.preview.consequences.looser_values import looser_values
from reconciler.rendering.documents.preview.consequences.nodes import nodes_removed
from reconciler.rendering.documents.preview.consequences.pods import data_lost, evictions, pod_places
from reconciler.rendering.documents.preview.consequences.writing import takes_over, writing_starts, writing_stops
from reconciler.rendering.words.wording import THIS_PR, count

_GRADES = {grade: rank for rank, grade in enumerate(Grade)}
_CODES = {code: rank for rank, code in enumerate(Code)}


def consequences(preview: Preview) -> tuple[Consequence, ...]:
    """The gravest first; none for a change that only tightens, and none where there is nothing to compare with."""
    comparison = preview.comparison
    if comparison is None:
        return ()
    effects = [
        *writing_stops(preview),
        *target_missing(comparison),
        *pod_places(preview),
        *writing_starts(preview, comparison),
        *takes_over(preview.loosened, comparison, preview.plan),
        *nodes_removed(preview),
        *data_lost(preview),
        *evictions(preview),
        *later_effects(preview),
        *group_changes(comparison, preview.plan, preview.unwritten),
        *group_warnings(comparison),
        *other_clusters(preview.elsewhere),
        *new_problems(comparison),
        *new_findings(preview.findings, comparison),
        *tests_lost(preview.tests),
        *policy_warnings(preview.warnings),
        *declared_sizes(preview.sizes),
        *looser_values(preview.loosened, preview.plan),
        *_figures(change_figures(preview)),
    ]
    effects = [msgspec.structs.replace(one, causes=_causes(one, preview.changes)) for one in effects]
    return tuple(sorted(effects, key=lambda one: (_GRADES[one.grade], _CODES[one.code])))


_NAME_THEIR_CAUSE = (Code.WRITING_STARTS, Code.WRITING_STOPS, Code.TAKES_OVER)
_CAUSES_SHOWN = 3


def _causes(one: Consequence, changes: Sequence[PolicyChange]) -> Sentence:
    """` This PR changes size.max 10 -> 7 (auto) and 2 more values.` Changes that reach the groups of the effect come first. Any
    other change may also be the cause, because pods move between groups. So the count includes all changes."""
    if one.grade is not Grade.CAUTION or one.code in _NAME_THEIR_CAUSE or not changes:
        return ()
    groups = one.data.get("groups")
    reached = frozenset(groups) if isinstance(groups, tuple) else frozenset()
    ordered = sorted(changes, key=lambda change: not reached.intersection((change.name, *change.reaches)))
    shown = ordered if len(ordered) <= _CAUSES_SHOWN + 1 else ordered[:_CAUSES_SHOWN]
    sentence: list[str] = [f" {THIS_PR[0].upper()}{THIS_PR[1:]} changes "]
    for number, change in enumerate(shown):
        sentence += [", "] if number else []
        sentence += _changed(change)
    left = len(ordered) - len(shown)
    return (*sentence, f" and {count(left, 'more value')}." if left else ".")


def _changed(change: PolicyChange) -> Sentence:
    if not change.path:
        what = "removed" if change.after is None else "added" if change.before is None else "renamed"
        return (
            f"{change.kind} ",
            Foreign(change.name),
            f" ({what})",
        )
    whose = (" (", Foreign(change.name), ")") if change.kind == "NodeGroup" else ()
    return (Foreign(change.path), " ", Foreign(change.value_before), " -> ", Foreign(change.value_after), *whose)


def _figures(figures: Sequence[ChangeFigure]) -> Iterator[Consequence]:
    """What the table of figures says as well; programs read it here."""
    for figure in figures:
        if not figure.changed or figure.code not in (NODES, COST):
            continue
        today, after, change = figure.cells()
        data: dict[str, Scalar] = {"today": figure.today, "after": figure.after, "change": figure.change}
        if figure.code == NODES:
            short = f"{after} {'node' if after == '1' else 'nodes'} in steady state instead of {today}"
            sentence: Sentence = (f"{short}.",)
            yield Consequence(grade=Grade.NOTE, code=Code.NODES_IN_STEADY_STATE, sentence=sentence, short=short, data=data)
        else:
            sentence = (change, " per month (", today, " -> ", after, ").")
            data["currency"] = figure.currency
            yield Consequence(grade=Grade.NOTE, code=Code.COST, sentence=sentence, short="another cost", data=data)
