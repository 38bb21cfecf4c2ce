"""A change in many clusters as one document: the numbers in one line, then each difference once, the most severe first.

Clusters in which the same is said share one section. A section names them and says it once.
"""

from collections.abc import Iterator, Sequence

import msgspec

from reconciler.plan.fleet import ClusterOutcome, ClusterState, FleetPreview
from reconciler.plan.policy_tests import PolicyTestRun
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.plan.waves import waves_in_order
from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.documents.blocks import Foreign, Sentence, names_listed, plain_sentence
from reconciler.rendering.documents.preview.change_figures import ChangeFigure, change_figures
from reconciler.rendering.documents.preview.consequence_lines import consequence_alarms
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.rendering.documents.preview.consequences.consequence import Grade
from reconciler.rendering.documents.preview.document import figure_block, side_words, test_blocks
from reconciler.rendering.documents.preview.group_differences import group_differences
from reconciler.rendering.documents.preview.headline import headline
from reconciler.rendering.documents.preview.policy_differences import policy_differences
from reconciler.rendering.documents.preview.values import FORMAT_VERSION, ConsequenceEntry, consequence_entry
from reconciler.rendering.documents.problems import ProblemEntry, problem_entry
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.refusal import refusal
from reconciler.rendering.words.size_words import HEADING, size_sentences
from reconciler.rendering.words.wording import MAIN, THIS_PR, count

FLEET_LIMIT = 10_000
"""Of a comment about many clusters: what a reviewer reads. `-o json` has everything."""
_NAMES_SHOWN, _NAMES_IN_SECTION = 4, 100
_LINES_SHOWN = 12
_ROWS_SHOWN, _SECTIONS_SHOWN = 15, 8
_WORDS = {
    ClusterState.REFUSED: ("has policy errors", "have policy errors"),
    ClusterState.LEFT: ("loses its policy", "lose their policy"),
    ClusterState.UNREADABLE: ("unreadable", "unreadable"),
    ClusterState.CHANGES: ("changes", "change"),
    ClusterState.NO_POLICY: ("without a policy", "without a policy"),
    ClusterState.SAME: ("same", "same"),
}
_ORDER = (
    ClusterState.CHANGES, ClusterState.SAME, ClusterState.NO_POLICY, ClusterState.LEFT, ClusterState.UNREADABLE,
    ClusterState.REFUSED,
)  # fmt: skip


class Lot(msgspec.Struct, frozen=True):
    """Clusters in which the change does the same. `outcome` is that of the first one."""

    clusters: tuple[str, ...]
    outcome: ClusterOutcome


def fleet_summary(fleet: FleetPreview) -> str:
    """`50 clusters: 3 change, 46 same, 1 unreadable`. States without a cluster are left out."""
    numbers = ((state, fleet.number(state)) for state in _ORDER)
    parts = ", ".join(f"{number} {_WORDS[state][number != 1]}" for state, number in numbers if number)
    return f"{count(len(fleet.clusters), 'cluster')}: {parts}" if parts else "0 clusters"


def lots(fleet: FleetPreview) -> tuple[Lot, ...]:
    """The clusters that differ, equal ones together: errors first, then by the gravest consequence, then by how many they are."""
    alike: dict[object, list[ClusterOutcome]] = {}
    for one in fleet.clusters:
        if one.state not in (ClusterState.SAME, ClusterState.NO_POLICY):
            alike.setdefault(_statements(one), []).append(one)
    made = (Lot(tuple(one.cluster for one in together), together[0]) for together in alike.values())
    return tuple(sorted(made, key=lambda lot: (*_gravity(lot.outcome), -len(lot.clusters), lot.clusters)))


def fleet_document(fleet: FleetPreview) -> tree.Document:
    """Its lines describe the clusters that differ. The others are only named."""
    found = lots(fleet)
    waves = waves_in_order(one.wave for one in fleet.clusters)
    without_preview = [lot for lot in found if lot.outcome.state is not ClusterState.CHANGES]
    return tree.Document(
        title=f"What {THIS_PR} does to the clusters",
        alarms=tuple(_alarm(lot) for lot in without_preview),
        lead=(fleet_summary(fleet),),
        facts=(("snapshots", fleet.source), *((("waves", waves),) if waves else ())),
        blocks=tuple(_blocks(fleet, [lot for lot in found if lot not in without_preview])),
        digest=fleet.digest,
    )


class ClusterEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One cluster. `headline` is the change in one line, and `consequences` are its effects, the most severe first. Both are
    empty for a cluster that does not change. `policyProblems` are those of a cluster whose policy has errors, and `why` says why
    nothing is known."""

    cluster: str
    state: ClusterState
    digest: str = ""
    headline: str = ""
    consequences: tuple[ConsequenceEntry, ...] = ()
    figures: tuple[ChangeFigure, ...] = ()
    policy_problems: tuple[ProblemEntry, ...] = ()
    why: str = ""


class FleetDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A change in many clusters, which are sorted by name. `summary` counts them. `digest` covers the statements, not commits and
    instants. `policyProblems` are those of the change itself; with an error among them no cluster is looked at. `tests` are
    the policy tests of this PR, null if it has none."""

    format_version: str = FORMAT_VERSION
    digest: str
    summary: str
    changed: bool
    base: PreviewSide
    head: PreviewSide
    snapshots: str
    policy_problems: tuple[ProblemEntry, ...] = ()
    clusters: tuple[ClusterEntry, ...]
    tests: PolicyTestRun | None = None


def fleet_values(fleet: FleetPreview) -> FleetDocument:
    """The whole change, for programs."""
    return FleetDocument(
        digest=fleet.digest,
        summary=fleet_summary(fleet),
        changed=fleet.changed,
        base=fleet.base,
        head=fleet.head,
        snapshots=fleet.source,
        policy_problems=tuple(problem_entry(problem) for problem in fleet.warnings),
        clusters=tuple(_entry(one) for one in fleet.clusters),
        tests=fleet.tests,
    )


def _entry(one: ClusterOutcome) -> ClusterEntry:
    problems = tuple(problem_entry(problem) for problem in one.problems)
    if one.preview is None:
        return ClusterEntry(cluster=one.cluster, state=one.state, policy_problems=problems, why=one.why)
    return ClusterEntry(
        cluster=one.cluster,
        state=one.state,
        digest=one.preview.digest,
        headline=plain_sentence(_lead(one.preview)),
        consequences=tuple(consequence_entry(effect) for effect in consequences(one.preview)),
        figures=change_figures(one.preview),
    )


def _statements(one: ClusterOutcome) -> object:
    """The statements about a cluster, without its name."""
    if one.preview is None:
        return (one.state, one.problems, one.why)
    return (one.state, tuple(_section_blocks(one.preview)), _lines(one.preview), plain_sentence(_lead(one.preview)))


def _gravity(one: ClusterOutcome) -> tuple[int, int]:
    grades = [] if one.preview is None else [tuple(Grade).index(effect.grade) for effect in consequences(one.preview)]
    return tuple(ClusterState).index(one.state), min(grades, default=len(Grade))


def _alarm(lot: Lot) -> tree.Alarm:
    names = names_listed(lot.clusters, _NAMES_SHOWN)
    if lot.outcome.state is ClusterState.REFUSED:
        first = lot.outcome.problems[0]
        number = refusal(lot.outcome.problems).number
        sentence: Sentence = (
            f"The policy has {number} in ", *names, ": ", *tree.foreign_sentence(f"{first.place}: {first.message}"), "."
        )  # fmt: skip
        return tree.Alarm(tree.Meaning.DANGER, (sentence,))
    if lot.outcome.state is ClusterState.LEFT:
        return tree.Alarm(tree.Meaning.DANGER, (("No policy applies any more in ", *names, ": loops there keep the last one."),))
    return tree.Alarm(tree.Meaning.HELD, (("Nothing is known of ", *names, ": ", *tree.foreign_sentence(lot.outcome.why), "."),))


def _blocks(fleet: FleetPreview, found: Sequence[Lot]) -> Iterator[tree.Block]:
    yield from test_blocks(fleet.tests, everything=False)
    if found:
        columns = (
            tree.Column(heading=""), tree.Column(heading="clusters", right=True),
            tree.Column(heading="which", shrinks=True), tree.Column(heading="what happens", wraps=True),
        )  # fmt: skip
        rows = tuple(
            (str(number), str(len(lot.clusters)), _cell(names_listed(lot.clusters, _NAMES_SHOWN)), _cell(_lead_of(lot)))
            for number, lot in enumerate(found[:_ROWS_SHOWN], 1)
        )
        rest = sum(len(lot.clusters) for lot in found[_ROWS_SHOWN:])
        note = f"{count(rest, 'more cluster')} with other differences. `-o json` has everything." if rest else ""
        yield tree.Table(columns=columns, rows=rows, note=note)
    for number, lot in enumerate(found[:_SECTIONS_SHOWN], 1):
        if lot.outcome.preview is not None:
            yield _section(number, lot, lot.outcome.preview)
    sizes = tuple(tree.Difference(mark, sentence, tree.Meaning.HELD) for mark, sentence in size_sentences(fleet.sizes))
    if sizes:
        yield tree.Section(HEADING, len(sizes), sizes, "declared size", opened=True)
    if fleet.warnings:
        words = tuple(
            tree.Difference("!", f"{one.place}: {one.message} [{one.code}]", tree.Meaning.HELD) for one in fleet.warnings
        )
        yield tree.Section("Warnings about the policy", len(words), words, "warning", drop=99)
    for state, title in ((ClusterState.NO_POLICY, "without a policy"), (ClusterState.SAME, "with no difference")):
        names = tuple(one.cluster for one in fleet.clusters if one.state is state)
        if names:
            yield tree.Names(f"{count(len(names), 'cluster')} {title}", names)
    yield tree.Sources(((MAIN, (side_words(fleet.base),)), (THIS_PR, (side_words(fleet.head),))))


def _lead(preview: Preview) -> Sentence:
    return headline(preview) if preview.comparison is not None else (f"{preview.no_base} {preview.plan.summary}",)


def _lead_of(lot: Lot) -> Sentence:
    return _lead(lot.outcome.preview) if lot.outcome.preview is not None else (lot.outcome.why,)


def _section(number: int, lot: Lot, preview: Preview) -> tree.Section:
    """The heading is ours alone: names of clusters are text of others."""
    names = tree.Paragraph(("In ", *names_listed(lot.clusters, _NAMES_IN_SECTION), "."))
    heading = f"Difference {number}, in {count(len(lot.clusters), 'cluster')}"
    return tree.Section(heading, None, _lines(preview), "line", (names, *_section_blocks(preview)), drop=number)


def _cell(sentence: Sentence) -> str:
    text = plain_sentence(sentence)
    return Foreign(text) if any(isinstance(part, Foreign) for part in sentence) else text


def _section_blocks(preview: Preview) -> Iterator[tree.Block]:
    """Consequences and figures of one cluster."""
    yield from consequence_alarms(preview)
    if preview.comparison is not None:
        yield figure_block(preview, preview.comparison)


def _lines(preview: Preview) -> tuple[tree.Difference, ...]:
    """Groups that differ, then values of the policy."""
    compared = preview.comparison
    groups = () if compared is None else group_differences(compared.groups, compared.actions, Fold())
    lines = (*groups, *policy_differences(preview.changes, preview.loosened, Fold()))
    return tree.cut(lines, _LINES_SHOWN, "line") if len(lines) > _LINES_SHOWN else lines
