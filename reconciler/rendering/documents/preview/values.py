"""A preview as JSON for programs."""

from collections.abc import Iterable, Mapping

import msgspec

from reconciler.plan.impact import Impact
from reconciler.plan.plan import Action, Cost, GroupLine, NodeLine, Plan, PlanProblem, PodLine
from reconciler.plan.policy_tests import PolicyTestRun
from reconciler.plan.preview import LimitSpent, Preview, PreviewSide, SnapshotSeen
from reconciler.plan.reason import Scalar
from reconciler.plan.replay import Replay
from reconciler.plan.timeline import Timeline
from reconciler.plan.what_if import WhatIf
from reconciler.policy.changes.comparison import PolicyChange
from reconciler.policy.changes.hunks import Hunk
from reconciler.policy.changes.loosening import Loosened
from reconciler.policy.manifests.size_changes import SizeChange
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem
from reconciler.rendering.documents.blocks import plain_sentence
from reconciler.rendering.documents.preview.change_figures import ChangeFigure, change_figures, limit_pairs
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.rendering.documents.preview.consequences.consequence import Code, Consequence, Grade
from reconciler.rendering.documents.preview.headline import headline
from reconciler.rendering.documents.problems import ProblemEntry, problem_entry
from reconciler.rendering.words.refusal import refusal

FORMAT_VERSION = "1.0"


class PlaceEntry(msgspec.Struct, frozen=True):
    """Where a value stands: path relative to the policy root, line and column from 1."""

    file: str
    line: int
    column: int


class ChangeEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One difference of the policies. `path` is empty where a whole document came, went or was renamed."""

    kind: str
    name: str
    path: str
    before: str | None
    after: str | None
    place_before: PlaceEntry | None
    place_after: PlaceEntry | None
    reaches: tuple[str, ...]
    discovery: tuple[str, ...]
    sentence: str


class GroupPair(msgspec.Struct, frozen=True):
    """A node group in both plans; null where it is not."""

    before: GroupLine | None
    after: GroupLine | None


class ActionPair(msgspec.Struct, frozen=True):
    """An action in both plans."""

    before: Action | None
    after: Action | None


class PodPair(msgspec.Struct, frozen=True):
    """A pending pod in both plans."""

    before: PodLine | None
    after: PodLine | None


class NodePair(msgspec.Struct, frozen=True):
    """A node in both plans."""

    before: NodeLine | None
    after: NodeLine | None


class LimitPair(msgspec.Struct, frozen=True):
    """A spending limit in the steady state of both policies; null where there is none of that name and resource."""

    today: LimitSpent | None
    after: LimitSpent | None


class ProblemPair(msgspec.Struct, frozen=True):
    """A problem in both plans."""

    before: PlanProblem | None
    after: PlanProblem | None


class CostPair(msgspec.Struct, frozen=True):
    """What all managed nodes cost."""

    before: Cost
    after: Cost


class ImpactPair(msgspec.Struct, frozen=True):
    """What happens to nodes and pods."""

    before: Impact
    after: Impact


class DecisionDifference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the second plan says differently, and nothing else; `empty` when nothing."""

    empty: bool
    summary_before: str
    summary_after: str
    cost: CostPair
    impact: ImpactPair
    groups: tuple[GroupPair, ...]
    actions: tuple[ActionPair, ...]
    pods: tuple[PodPair, ...]
    nodes: tuple[NodePair, ...]
    problems: tuple[ProblemPair, ...]


class SizeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A declared size, or an annotation that bounds one, in manifests that the change touches. `path` is its place in the object.
    Before and after are as written, null where it is not declared. `problem`: a node group of this PR decides the size."""

    object: str
    path: str
    before: str | None
    after: str | None
    place: PlaceEntry
    problem: ProblemEntry | None


class ConsequenceEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the change causes. `grade` follows from the effect. `caution`: pods lose their node, nodes are removed
    or pods are evicted. Also: writing begins or ends, a target is missing or replicas of others are taken over.
    `warning`: a looser value reaches groups, or groups come, leave or are held. Also: other nodes are removed, problems
    are new, or a template differs from its nodes. Also: tests of main do not judge as before, or documents for other
    clusters are not judged. `note`: everything else. `data` are the numbers and names of `message`."""

    grade: Grade
    code: Code
    message: str
    data: Mapping[str, Scalar]


class PreviewDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`policyProblems` are those of the head's files that main does not have, and those that say what was not judged. With
    an error there is neither difference nor plan.

    `decision` is null if there is nothing to compare with; `noBase` says why. Then `plan` is the plan of this PR alone; otherwise
    it is null. `replay` is null unless requested. `snapshot` is set if the cluster is a live one. Keys are in the order of
    reading: `headline` is the change in one line, `consequences` its effects, the most severe first. Then `figures` is the steady
    state under main (`today`) and under this PR (`after`), `decision` everything that differs, `changes` the policy itself.
    `limits` are spending limits of both policies. `hunks` are the changed lines of the policy files, and
    `timeline` is the week of both policies. `loosened` are values that allow more than before. `tests` are the policy tests
    of this PR, null if it has none. `whatIf` is what both do in other situations, null if it was not asked or the
    policies are equal. `digest` covers the statements, not commits and instants; it is empty without a decision.
    """

    format_version: str = FORMAT_VERSION
    digest: str = ""
    now: str
    cluster: str = ""
    policy: str = ""
    mode: str = ""
    base: PreviewSide
    head: PreviewSide
    snapshot: SnapshotSeen | None = None
    changed: bool
    policy_problems: tuple[ProblemEntry, ...] = ()
    no_base: str = ""
    base_problems: tuple[ProblemEntry, ...] = ()
    headline: str = ""
    consequences: tuple[ConsequenceEntry, ...] = ()
    figures: tuple[ChangeFigure, ...] = ()
    limits: tuple[LimitPair, ...] = ()
    sizes: tuple[SizeEntry, ...] = ()
    decision: DecisionDifference | None = None
    plan: Plan | None = None
    replay: Replay | None = None
    untouched_groups: tuple[str, ...] = ()
    loosened: tuple[Loosened, ...] = ()
    changes: tuple[ChangeEntry, ...] = ()
    hunks: tuple[Hunk, ...] = ()
    timeline: Timeline | None = None
    tests: PolicyTestRun | None = None
    what_if: WhatIf | None = None


def preview_values(preview: Preview) -> PreviewDocument:
    """The whole preview."""
    plan = preview.plan
    return PreviewDocument(
        digest=preview.digest,
        now=plan.now,
        cluster=plan.cluster,
        policy=plan.policy,
        mode=plan.mode,
        base=preview.base,
        head=preview.head,
        snapshot=preview.snapshot,
        changed=preview.changed,
        policy_problems=_entries(preview.warnings),
        no_base=preview.no_base,
        base_problems=_entries(preview.base_problems),
        headline=plain_sentence(headline(preview)) if preview.comparison is not None else "",
        consequences=tuple(consequence_entry(one) for one in consequences(preview)),
        figures=change_figures(preview),
        limits=tuple(LimitPair(*pair) for pair in limit_pairs(preview)),
        loosened=preview.loosened,
        changes=tuple(_change(change) for change in preview.changes),
        hunks=preview.hunks,
        timeline=preview.timeline,
        sizes=tuple(_size(size) for size in preview.sizes),
        untouched_groups=preview.untouched,
        decision=_decision(preview),
        plan=plan if preview.comparison is None else None,
        replay=preview.replay,
        tests=preview.tests,
        what_if=preview.what_if,
    )


def refused_values(base: PreviewSide, head: PreviewSide, problems: tuple[Problem, ...], now: str) -> PreviewDocument:
    """The document for a head that cannot be used."""
    changed = refusal(problems).conflicting
    return PreviewDocument(now=now, base=base, head=head, changed=changed, policy_problems=_entries(problems))


def consequence_entry(one: Consequence) -> ConsequenceEntry:
    """For programs."""
    return ConsequenceEntry(grade=one.grade, code=one.code, message=one.message, data=one.data)


def _decision(preview: Preview) -> DecisionDifference | None:
    comparison = preview.comparison
    if comparison is None:
        return None
    return DecisionDifference(
        empty=comparison.empty and preview.impact_before == preview.impact_after,
        summary_before=comparison.summary_before,
        summary_after=comparison.summary_after,
        cost=CostPair(comparison.cost_before, comparison.cost_after),
        impact=ImpactPair(preview.impact_before, preview.impact_after),
        groups=tuple(GroupPair(pair.before, pair.after) for pair in comparison.groups),
        actions=tuple(ActionPair(pair.before, pair.after) for pair in comparison.actions),
        pods=tuple(PodPair(pair.before, pair.after) for pair in comparison.pods),
        nodes=tuple(NodePair(pair.before, pair.after) for pair in comparison.nodes),
        problems=tuple(ProblemPair(pair.before, pair.after) for pair in comparison.problems),
    )


def _change(change: PolicyChange) -> ChangeEntry:
    return ChangeEntry(
        kind=change.kind,
        name=change.name,
        path=change.path,
        before=change.before,
        after=change.after,
        place_before=_place(change.place_before),
        place_after=_place(change.place_after),
        reaches=change.reaches,
        discovery=change.discovery,
        sentence=change.sentence(),
    )


def _size(size: SizeChange) -> SizeEntry:
    place = PlaceEntry(size.place.path, size.place.line, size.place.column)
    problem = None if size.problem is None else problem_entry(size.problem)
    return SizeEntry(object=size.what, path=size.path, before=size.before, after=size.after, place=place, problem=problem)


def _place(place: Place | None) -> PlaceEntry | None:
    return None if place is None else PlaceEntry(place.path, place.line, place.column)


def _entries(problems: Iterable[Problem]) -> tuple[ProblemEntry, ...]:
    return tuple(problem_entry(problem) for problem in problems)
