"""The Preview: two policies, and what each would do to one cluster at one instant."""

import hashlib

import msgspec

from reconciler.plan.comparison import Impact, PlanComparison
from reconciler.plan.picture import Pictures
from reconciler.plan.plan import Plan
from reconciler.plan.replay import Replay
from reconciler.policy.comparison import PolicyChange
from reconciler.policy.loosening import Loosened
from reconciler.policy.manifests.size_changes import SizeChange
from reconciler.policy.problems.findings import Problem


class PreviewSide(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where one policy comes from: `source` as the user named it (a revision, a directory), `revision` the commit that was
    read (None for a directory), `merged` whether it was merged into the base, so that the result is what is shown."""

    source: str
    revision: str | None = None
    merged: bool = False


class SnapshotSeen(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which snapshot both policies meet: `source` as the user named it, `revision` the commit that it was read at (None for
    files), `digest` over names and contents of its documents, `captured_at` RFC 3339 (None: nothing says when). `changed`: the
    head brings another one, which does not count. `age_seconds` where somebody is told it, by the clock of the job."""

    source: str
    revision: str | None = None
    digest: str
    captured_at: str | None = None
    changed: bool = False
    age_seconds: int | None = None


class LaterEffect(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What both policies come to at an instant at which a window opens or a hold ends that only one of them has.

    `at` is RFC 3339. The demand is that of now."""

    at: str
    impact_before: Impact
    impact_after: Impact


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """`comparison` None: there is nothing to compare with, `no_base` says why, and `plan` stands alone.

    `loosened` are values that let more happen than before.
    `untouched` are groups of both policies that do not differ. `warnings` are problems of the head's files that are no errors.
    `pictures` are there where somebody wants to see them, and are not told anew by the digest.
    `later` are effects of the next day, in order, where windows or holds differ.
    `sizes` are declared sizes and bounds of manifests that the change touches, which the plans do not know.
    `replay` is what demand of the past comes to under both, where that was asked for. `snapshot` None: a live cluster.
    """

    base: PreviewSide
    head: PreviewSide
    plan: Plan
    changes: tuple[PolicyChange, ...] = ()
    loosened: tuple[Loosened, ...] = ()
    comparison: PlanComparison | None = None
    impact_before: Impact = Impact()
    impact_after: Impact = Impact()
    later: tuple[LaterEffect, ...] = ()
    untouched: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()
    sizes: tuple[SizeChange, ...] = ()
    no_base: str = ""
    base_problems: tuple[Problem, ...] = ()
    pictures: Pictures | None = None
    replay: Replay | None = None
    snapshot: SnapshotSeen | None = None

    @property
    def changed(self) -> bool:
        """Whether the policy, a declared size or the decision differs; without a base everything is new."""
        if self.comparison is None or self.changes or self.sizes or self.later:
            return True
        return not self.comparison.empty or self.impact_before != self.impact_after

    @property
    def digest(self) -> str:
        """`sha256:` over what is told, not over the commits and the instant: equal for two pushes that do the same."""
        plan = None
        if self.comparison is None:
            plan = msgspec.structs.replace(self.plan, now="", digest="", policy_revision=None)
        told: tuple[object, ...] = (
            self.changes, self.loosened, self.comparison, self.impact_before, self.impact_after, self.untouched, self.warnings,
            self.no_base, self.base_problems, plan,
        )  # fmt: skip
        if self.later:
            told = (*told, self.later)
        if self.sizes:
            told = (*told, self.sizes)
        if self.replay is not None:
            # Where a side was read from may name a commit.
            sides = tuple(msgspec.structs.replace(side, source="") for side in self.replay.sides)
            told = (*told, msgspec.structs.replace(self.replay, sides=sides))
        if self.snapshot is not None and self.snapshot.changed:
            told = (*told, "the head changes the snapshot")
        return "sha256:" + hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()
