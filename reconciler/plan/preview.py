"""The Preview: two policies, and the effect of each on one cluster at one instant."""

import hashlib
from decimal import Decimal

import msgspec

from reconciler.plan.comparison import PlanComparison
from reconciler.plan.finding import Finding
from reconciler.plan.impact import Impact
from reconciler.plan.picture import Pictures
from reconciler.plan.plan import Plan
from reconciler.plan.policy_tests import PolicyTestRun
from reconciler.plan.replay import Replay
from reconciler.plan.timeline import Timeline
from reconciler.plan.what_if import WhatIf
from reconciler.policy.changes.comparison import PolicyChange
from reconciler.policy.changes.hunks import Hunk
from reconciler.policy.changes.loosening import Loosened
from reconciler.policy.manifests.size_changes import SizeChange
from reconciler.policy.problems.problem import Problem


class PreviewSide(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where one policy comes from. `source` is the name that the user gave (a revision, a directory). `revision` is its commit
    (None for a directory). `merged`: the preview shows the result of merging it into the base."""

    source: str
    revision: str | None = None
    merged: bool = False


class SnapshotSeen(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The snapshot for both policies. `source` is the name that the user gave, `revision` its commit (None for files). `digest`
    covers names and contents of its documents. `captured_at` is RFC 3339, or None if unknown. `changed`: this PR has another
    snapshot, which does not count. `age_seconds` is its age by the clock of the job, if it is shown."""

    source: str
    revision: str | None = None
    digest: str
    captured_at: str | None = None
    changed: bool = False
    age_seconds: int | None = None


class LaterEffect(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The effect of both policies at an instant when a window opens or a hold ends in only one of them.

    `at` is RFC 3339. The demand is the current one."""

    at: str
    impact_before: Impact
    impact_after: Impact


class WeekCost(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What all groups cost per hour under both policies, as decimal strings. It is the mean of a week in which windows open and
    close, with the demand of now. None for a policy whose windows do not turn within the week."""

    before: str | None
    after: str | None


class LimitSpent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the nodes of a steady state cost, of a spending limit. `resource` is `pricePerHour` or `pricePerMonth`; both amounts
    are decimal strings in `currency`."""

    limit: str
    resource: str
    spent: str
    max: str
    currency: str

    @property
    def left(self) -> Decimal:
        """What may still be spent; below zero if the limit is exceeded."""
        return Decimal(self.max) - Decimal(self.spent)


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """If `comparison` is None, `no_base` says why there is nothing to compare with, and `plan` counts alone.

    `hunks` are the lines of the files in which `changes` are. `loosened` are values that let more happen than before. `untouched`
    are groups of both policies that do not differ. `warnings` are the problems in this PR's files that are not errors and that
    main does not have. `pictures` are present if somebody wants to see them. The digest does not cover them. `later` are effects
    within the next day, in order, if windows or holds differ. `sizes` are declared sizes and bounds in changed manifests. The
    plans do not know them. `replay` is the result of past demand under both, if requested. `spent_before` and `spent_after` are
    the spending limits of both policies in steady state. `unwritten` are groups that main writes and this PR only observes.
    `elsewhere` are clusters of other documents that differ. `snapshot` is None for a live cluster. `tests` are the policy tests
    of the head, None if it has none. `what_if` is what both do in other situations, None if that was not asked or the policies
    are equal. `week` is None if no window turns, or if that was not computed. `timeline` is the week of both policies, None if
    nothing in them is bound to a time. The digest does not cover it: its instants move with the day. `findings` are what `doctor`
    finds under this PR and not under main.
    """

    base: PreviewSide
    head: PreviewSide
    plan: Plan
    changes: tuple[PolicyChange, ...] = ()
    hunks: tuple[Hunk, ...] = ()
    loosened: tuple[Loosened, ...] = ()
    comparison: PlanComparison | None = None
    impact_before: Impact = Impact()
    impact_after: Impact = Impact()
    later: tuple[LaterEffect, ...] = ()
    spent_before: tuple[LimitSpent, ...] = ()
    spent_after: tuple[LimitSpent, ...] = ()
    untouched: tuple[str, ...] = ()
    unwritten: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()
    sizes: tuple[SizeChange, ...] = ()
    no_base: str = ""
    base_problems: tuple[Problem, ...] = ()
    pictures: Pictures | None = None
    replay: Replay | None = None
    snapshot: SnapshotSeen | None = None
    tests: PolicyTestRun | None = None
    what_if: WhatIf | None = None
    findings: tuple[Finding, ...] = ()
    week: WeekCost | None = None
    timeline: Timeline | None = None

    @property
    def changed(self) -> bool:
        """Whether the policy, a declared size, what tests judge or the decision differs; without a base everything is new."""
        if self.comparison is None or self.changes or self.sizes or self.later or self.elsewhere:
            return True
        if self.tests is not None and self.tests.lost:
            return True
        return not self.comparison.empty or self.impact_before != self.impact_after

    @property
    def digest(self) -> str:
        """`sha256:` over the content, without the commits and the instant. It is equal for two pushes with the same effect."""
        plan = None
        if self.comparison is None:
            plan = msgspec.structs.replace(self.plan, now="", digest="", policy_revision=None)
        covered: tuple[object, ...] = (
            self.changes, self.loosened, self.comparison, self.impact_before, self.impact_after, self.untouched, self.warnings,
            self.no_base, self.base_problems, plan,
        )  # fmt: skip
        if self.elsewhere:
            covered = (*covered, self.elsewhere)
        if self.later:
            covered = (*covered, self.later)
        if self.spent_before or self.spent_after:
            covered = (*covered, self.spent_before, self.spent_after)
        if self.sizes:
            covered = (*covered, self.sizes)
        if self.replay is not None:
            # Where a side was read from may name a commit.
            sides = tuple(msgspec.structs.replace(side, source="") for side in self.replay.sides)
            covered = (*covered, msgspec.structs.replace(self.replay, sides=sides))
        if self.tests is not None:
            verdicts = [(one.file, one.suite, one.name, one.verdict) for one in self.tests.results]
            covered = (*covered, verdicts, self.tests.not_run, self.tests.lost)
        if self.week is not None:
            covered = (*covered, self.week)
        if self.findings:
            covered = (*covered, self.findings)
        if self.hunks:
            covered = (*covered, self.hunks)
        if self.what_if is not None:
            covered = (*covered, self.what_if)
        if self.snapshot is not None and self.snapshot.changed:
            covered = (*covered, "the head changes the snapshot")
        return "sha256:" + hashlib.sha256(msgspec.json.encode(covered, order="sorted")).hexdigest()
