"""A preview as a document: the change in one line, the values that change, cautions, figures, groups, what is done."""

from collections.abc import Iterator

import msgspec

from reconciler.plan.comparison import Pair, PlanComparison
from reconciler.plan.plan import GroupLine, PlanProblem
from reconciler.plan.policy_tests import EqualResults, LostBy, PolicyTestRun, Verdict, folded
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.documents.blocks import (
    FEWER,
    MORE,
    OTHERWISE,
    Foreign,
    Sentence,
    foreign_sentence,
    gravest_first,
    names_listed,
)
from reconciler.rendering.documents.preview.action_differences import action_differences, changes_size, told_as_actions
from reconciler.rendering.documents.preview.change_figures import joined_nodes, limit_rows, shown_figures
from reconciler.rendering.documents.preview.consequence_lines import consequence_alarms
from reconciler.rendering.documents.preview.group_differences import (
    group_differences,
    note_differences,
    only_reasons,
    renamed_joined,
    told_as_warning,
    why_differences,
)
from reconciler.rendering.documents.preview.headline import headline
from reconciler.rendering.documents.preview.node_differences import node_differences
from reconciler.rendering.documents.preview.pod_differences import pod_differences
from reconciler.rendering.documents.preview.policy_differences import gravest_changes, policy_differences, told_of_groups
from reconciler.rendering.documents.preview.policy_hunks import shown_hunks
from reconciler.rendering.documents.preview.week import week_section
from reconciler.rendering.documents.preview.what_if import one_fold, what_if_blocks
from reconciler.rendering.documents.replay import replay_blocks, with_side_names
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.size_words import HEADING, size_sentences
from reconciler.rendering.words.wording import MAIN, THIS_PR, count, header_words
from reconciler.values.duration import duration_text

GROUPS, WHY, NOTES, ACTIONS, PODS, NODES, PROBLEMS, POLICY = (
    "Groups",
    "Why these sizes",
    "Also new about groups",
    "Actions",
    "Pods",
    "Nodes",
    "Problems",
    "Policy",
)
FURTHER = "Policy, the other values"
WARNINGS = "Warnings about the policy"
_STEADY_STATES = f"Both sides are steady states: under the policy of {MAIN}, and under that of {THIS_PR}."
_NOT_STEADY = "At least one side is cut short before its steady state (see Problems), so these numbers are not final."
OLD_SECONDS = 24 * 3600
"""From this age on a snapshot is warned of."""
_DIGEST_SHOWN = len("sha256:") + 16


def preview_document(preview: Preview, fold: Fold) -> tree.Document:
    """Of a preview without a comparison what is to be said before the plan. `fold` says how much is told one by one."""
    compared = preview.comparison
    return tree.Document(
        title="What this policy does" if compared is None else f"What {THIS_PR} does to the node groups",
        alarms=(tree.Alarm(tree.Meaning.HELD, warnings),) if (warnings := tuple(_snapshot_warnings(preview))) else (),
        lead=headline(preview),
        facts=tuple((name, value) for name, value in header_words(preview.plan) if name != "revision"),
        blocks=tuple(_alone(preview) if compared is None else _compared(preview, compared, fold)),
        digest=preview.digest,
    )


def _alone(preview: Preview) -> Iterator[tree.Block]:
    """The head is told alone where there is nothing to compare it with."""
    yield from test_blocks(preview.tests, everything=False)
    yield tree.Sources(tuple(_sources(preview)))
    why = foreign_sentence(preview.no_base)
    yield tree.Paragraph(("Nothing to compare with: ", *why, " This is the plan of ", Foreign(preview.head.source), " alone."))
    if preview.base_problems:
        yield tree.Problems(f"Problems of {MAIN}'s policy", preview.base_problems)
    yield from _notes(preview)


def _compared(preview: Preview, compared: PlanComparison, fold: Fold) -> Iterator[tree.Block]:
    if not (preview.changed or preview.loosened or preview.replay is not None) and compared.settled:
        yield from test_blocks(preview.tests, everything=not fold.names)
        yield from consequence_alarms(preview, everything=not fold.names)
        yield from _notes(msgspec.structs.replace(preview, untouched=()))
        yield tree.Sources(((MAIN, (side_words(preview.base), f"{THIS_PR}: {side_words(preview.head)}")),))
        return
    first, last = _policy(preview, fold)
    sections = [one for one in _sections(preview, compared, fold, too_many=bool(last)) if one.differences or one.blocks]
    yield from first
    yield from test_blocks(preview.tests, everything=not fold.names)
    yield from consequence_alarms(preview, everything=not fold.names, causes=bool(last))
    yield figure_block(preview, compared)
    yield from (section for section in sections if section.opened)
    yield from what_if_blocks(preview.what_if, fold)
    if preview.replay is not None:
        yield tree.Section("Replay", None, blocks=replay_blocks(with_side_names(preview.replay, (MAIN, THIS_PR))), opened=True)
    yield from (section for section in sections if not section.opened)
    yield from _notes(preview)
    yield from last or (() if first else (tree.Paragraph(("The policy does not differ.",)),))
    yield tree.Sources(tuple(_sources(preview)))


_FEW_VALUES = 6
"""So many lines about the policy itself stand first; more stand last."""
_FAILURES_SHOWN = 3


def test_blocks(run: PolicyTestRun | None, *, everything: bool) -> Iterator[tree.Block]:
    """`7 of 8 policy tests pass`, with those that do not and why; `This PR removes all 8 policy tests`, with their names."""
    if run is None:
        return
    if run.all_removed:
        many = "the only policy test" if len(run.lost) == 1 else f"all {count(len(run.lost), 'policy test')}"
        removed = (f"{THIS_PR[0].upper()}{THIS_PR[1:]} removes {many}: ", *names_listed(run.changed, _FAILURES_SHOWN), ".")
        yield tree.Alarm(tree.Meaning.HELD, (removed,))
        return
    total = len(run.results) + len(run.not_run)
    passed = run.count(Verdict.PASSED)
    skipped = run.count(Verdict.SKIPPED)
    counts = f"{passed} of {count(total, 'policy test')} {'passes' if passed == 1 else 'pass'}"
    summary = counts if total else "This policy has no tests"
    if not run.results and run.not_run:
        summary = f"{count(total, 'policy test')} {'was' if total == 1 else 'were'} not run"
    summary += f", {skipped} {'was' if skipped == 1 else 'were'} skipped." if skipped else "."
    lines: list[Sentence] = [_failed(lot) for lot in folded([one for one in run.results if one.verdict is Verdict.FAILED])]
    lines += [_ended("Not run: " if run.results else "", why) for why in dict.fromkeys(run.not_run)]
    shown = lines if everything or len(lines) <= _FAILURES_SHOWN + 1 else lines[:_FAILURES_SHOWN]
    more: list[Sentence] = [(f"{len(lines) - len(shown)} more do not pass.",)] if len(shown) < len(lines) else []
    more += lost_sentences(run)
    if not shown and not more:
        yield tree.Paragraph((summary,))
        return
    sentence = (summary, *(part for line in (*shown, *more) for part in (" ", *line)))
    yield tree.Alarm(tree.Meaning.DANGER if lines else tree.Meaning.HELD, (sentence,))


_LOST_BY = {
    LostBy.REMOVED: "removed", LostBy.JUDGES_ANOTHER: "now for another policy", LostBy.EDITED: "edited",
    LostBy.INPUT_CHANGED: "its snapshot or scenario changed",
}  # fmt: skip


def lost_sentences(run: PolicyTestRun) -> Iterator[Sentence]:
    """The tests of main that do not judge the policy any more, and those that judge it in another way, with the causes. Those
    that are not run are named so."""
    for judges in (False, True):
        lost = [one for one in run.lost if one.judges is judges and one.why is not LostBy.NOT_RUN]
        many = len(lost) != 1
        verb, negated = ("judge", "do not judge it") if many else ("judges", "does not judge it")
        there = f"in {THIS_PR} as on {MAIN}" if judges else f"in {THIS_PR}"
        names = names_listed([f"{one.suite}: {one.name} ({_LOST_BY[one.why]})" for one in lost], _FAILURES_SHOWN)
        if lost:
            yield (f"{count(len(lost), 'test')} that {verb} this policy on {MAIN} {negated} {there}: ", *names, ".")


def _failed(lot: EqualResults) -> Sentence:
    first = lot.result.failures[0]
    if not lot.clusters:
        return _ended("Failed: ", f"{lot.result.name} ({first.place}): {first.message}")
    where = (" in ", *names_listed(lot.clusters, _FAILURES_SHOWN))
    return ("Failed: ", *foreign_sentence(lot.result.name), *where, *_ended(" ", f"({first.place}): {first.message}"))


def _ended(head: str, words: str) -> Sentence:
    # An open range such as `4..` ends in dots that count.
    return (head, *foreign_sentence(words)) if words.endswith("..") else (head, *foreign_sentence(words.removesuffix(".")), ".")


def steady_states(compared: PlanComparison) -> str:
    """What the figures of both sides are."""
    return _STEADY_STATES if compared.settled else _NOT_STEADY


def figure_block(preview: Preview, compared: PlanComparison) -> tree.Block:
    """A table of the figures that differ, or one sentence if none does."""
    figures = list(shown_figures(preview))
    if compared.settled and not any(figure.changed or figure.change is None for figure in figures) and not preview.spent_after:
        words = [word for figure in figures for word in (f", {figure.name} (", figure.cells()[0], ")")]
        return tree.Paragraph((f"Unchanged: {words[0].removeprefix(', ')}", *words[1:], "."))
    shown = [figure for figure in figures if figure.changed or figure.change is None] or figures
    rows = (*((figure.name, *figure.cells()) for figure in shown), *limit_rows(preview))
    columns = (tree.Column(heading=""), *(tree.Column(heading=name, right=True) for name in (MAIN, THIS_PR, "change")))
    unpriced = preview.plan.cost.unpriced_groups
    notes = [f"{count(len(unpriced), 'group')} without a price not counted."] if unpriced else []
    notes += ["The cost is the mean of a week with its windows."] if preview.week is not None else []
    return tree.Table(
        columns=columns, rows=rows, caption="" if compared.settled else steady_states(compared), note=" ".join(notes)
    )


def _sections(preview: Preview, compared: PlanComparison, fold: Fold, *, too_many: bool) -> Iterator[tree.Section]:
    """`too_many`: not all values of the policy that differ are told where one sees them."""
    before, after, plan = preview.impact_before, preview.impact_after, preview.plan
    joined = joined_nodes(before, compared, 0), joined_nodes(after, compared, 1)
    sizes = tuple(tree.Difference(mark, sentence, tree.Meaning.HELD) for mark, sentence in size_sentences(preview.sizes))
    problems = tuple(gravest_first([_problem(pair) for pair in compared.problems]))
    pairs = renamed_joined(compared.groups)
    groups = [pair for pair in pairs if not told_as_warning(pair, compared) and not only_reasons(pair)]
    told = frozenset() if too_many else told_of_groups(preview.changes)
    lines = group_differences(groups, compared.actions, fold, told)
    yield tree.Section(GROUPS, sum(line.number for line in lines), lines, "group", opened=True)
    yield tree.Section(HEADING, len(preview.sizes), sizes, "declared size", opened=True)
    sized = {pair.either.name for pair in compared.groups if changes_size(pair)}
    whys = why_differences(groups, compared.actions, fold)
    yield tree.Section(WHY, len(whys), whys, "group", drop=1)
    notes = note_differences(pairs, compared, plan, fold)
    yield tree.Section(NOTES, len(notes), notes, "note", drop=1)
    yield from week_section(preview.timeline)
    actions = told_as_actions(compared.groups, compared.actions)
    yield tree.Section(ACTIONS, len(actions), action_differences(actions, fold), "action")
    yield tree.Section(PODS, *pod_differences(before, after, compared.pods, fold))
    yield tree.Section(NODES, *node_differences(before, after, joined, compared.nodes, plan.nodes, plan.groups, sized, fold))
    yield tree.Section(PROBLEMS, len(compared.problems), problems, "problem")


def _policy(preview: Preview, fold: Fold) -> tuple[list[tree.Section], list[tree.Section]]:
    """What stands first, and what stands last: the changed lines with few values, and values that are too many."""
    shown = shown_hunks(preview.hunks, gravest_changes(preview.changes, preview.loosened), fold)
    values = policy_differences(shown.rest, preview.loosened, fold)
    number = len(preview.changes)
    if len(values) <= _FEW_VALUES:
        section = tree.Section(POLICY, number, values, "value", shown.blocks, opened=True)
        return ([section] if values or shown.blocks else []), []
    last = tree.Section(FURTHER if shown.blocks else POLICY, len(shown.rest), values, "value")
    return ([tree.Section(POLICY, number, (), "value", shown.blocks, opened=True)] if shown.blocks else []), [last]


def _problem(pair: Pair[PlanProblem]) -> tree.Difference:
    problem = pair.either
    about = f"{problem.object}: " if problem.object else ""
    sentence = f"{about}{problem.message} [{problem.code}]"
    if pair.after is None:
        return tree.Difference(FEWER, f"no longer: {sentence}")
    return tree.Difference(MORE if pair.before is None else OTHERWISE, sentence, tree.Meaning.DANGER)


def _notes(preview: Preview) -> Iterator[tree.Block]:
    """Problems of the head's files that are not errors, declared sizes where nothing is compared, and what does not differ."""
    sentences = [f"{problem.place}: {problem.message} [{problem.code}]" for problem in preview.warnings]
    sentences += [sentence for _, sentence in size_sentences(preview.sizes)] if preview.comparison is None else []
    if sentences:
        lines = tuple(tree.Difference("!", line, tree.Meaning.HELD) for line in sentences)
        yield tree.Section(WARNINGS, len(sentences), lines, "warning", drop=1)
    reasoned: list[str] = []
    if (compared := preview.comparison) is not None:
        pairs = [pair for pair in renamed_joined(compared.groups) if only_reasons(pair) and not told_as_warning(pair, compared)]
        reasoned = [_reasoned(pair) for pair in pairs]
    other = "with the same size and other reasons or names"
    yield from one_fold("group", ((other, reasoned), ("untouched", preview.untouched)))


def _reasoned(pair: Pair[GroupLine]) -> str:
    """The name, and what a held group would do."""
    old, new = pair.before, pair.after
    if old is None or new is None or old.wanted == new.wanted:
        return pair.either.name
    return f"{new.name}: held, would go to {new.wanted} ({MAIN}: {old.wanted})"


def _sources(preview: Preview) -> Iterator[tuple[str, tuple[str, ...]]]:
    """`snapshot snapshot/ at 3f2a01c9be77, sha256:9b1c…, captured 2026-11-20T18:00:00Z, 26h before this run`, none of a live
    cluster; then both sides."""
    if (seen := preview.snapshot) is not None:
        place = seen.source if seen.revision is None else f"{seen.source} at {seen.revision[:12]}"
        captured = f"captured {seen.captured_at}" if seen.captured_at else "nothing says when it was captured"
        age = () if seen.age_seconds is None else (f"{duration_text(seen.age_seconds)} before this run",)
        yield "snapshot", (place, seen.digest[:_DIGEST_SHOWN], captured, *age)
    yield MAIN, (side_words(preview.base),)
    yield THIS_PR, (side_words(preview.head),)


def side_words(side: PreviewSide) -> str:
    """`change at 3f2a01c9be77, merged into main`."""
    words = side.source
    if side.revision is not None and side.revision != side.source:
        words += f" at {side.revision[:12]}"
    return words + (f", merged into {MAIN}" if side.merged else "")


def _snapshot_warnings(preview: Preview) -> Iterator[Sentence]:
    """What a reviewer has to know of the snapshot before anything else."""
    seen = preview.snapshot
    if seen is not None and seen.changed:
        yield (
            "This change also brings another snapshot of the cluster (", Foreign(seen.source), "), which does not count: look at "
            "why a change of policy touches it.",
        )  # fmt: skip
    if seen is not None and seen.age_seconds is not None and seen.age_seconds > OLD_SECONDS:
        yield (f"The snapshot is {duration_text(seen.age_seconds)} old: the cluster may be another one by now.",)
