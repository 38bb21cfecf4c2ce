"""Many clusters: a policy change with a preview for each, and the plans of one policy."""

import hashlib
from collections import Counter
from enum import StrEnum

import msgspec

from reconciler.plan.plan import Plan
from reconciler.plan.policy_tests import PolicyTestRun
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.manifests.size_changes import SizeChange
from reconciler.policy.problems.problem import Problem


class ClusterState(StrEnum):
    """What a change means for one cluster, in the order in which reviewers look at it."""

    REFUSED = "Refused"  # its policy has errors there
    LEFT = "Left"  # a policy counts there on main, and none in this PR
    UNREADABLE = "Unreadable"  # its snapshot cannot be read
    CHANGES = "Changes"
    NO_POLICY = "NoPolicy"  # neither side has a policy that counts there
    SAME = "Same"


class ClusterOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster. `preview` is that of a cluster that changes. `problems` are those of a policy with errors, and `why` is a
    sentence for everything else. `wave` is its place in rollouts."""

    cluster: str
    state: ClusterState
    preview: Preview | None = None
    problems: tuple[Problem, ...] = ()
    why: str = ""
    wave: int | None = None


class FleetPreview(msgspec.Struct, frozen=True, kw_only=True):
    """`clusters` are sorted by name. `sizes` are declared sizes in changed manifests, and `warnings` are problems in this PR's
    files that are not errors and that main does not have. Both belong to the change, not to one cluster. `source` is where the
    snapshots come from.
    `tests` are the policy tests of this PR, None if it has none."""

    base: PreviewSide
    head: PreviewSide
    source: str
    clusters: tuple[ClusterOutcome, ...]
    sizes: tuple[SizeChange, ...] = ()
    warnings: tuple[Problem, ...] = ()
    tests: PolicyTestRun | None = None

    @property
    def changed(self) -> bool:
        """Whether anything differs in any cluster, or cannot be said."""
        quiet = (ClusterState.SAME, ClusterState.NO_POLICY)
        lost = self.tests is not None and bool(self.tests.lost)
        return bool(self.sizes) or lost or any(one.state not in quiet for one in self.clusters)

    @property
    def failed(self) -> bool:
        """Whether some cluster has a policy with errors."""
        return any(one.state is ClusterState.REFUSED for one in self.clusters)

    def number(self, state: ClusterState) -> int:
        """How many clusters are in a state."""
        return Counter(one.state for one in self.clusters)[state]

    @property
    def digest(self) -> str:
        """`sha256:` over the statements about each cluster, without commits and instants."""
        said = [
            (one.cluster, one.state, "" if one.preview is None else one.preview.digest, one.problems, one.why)
            for one in self.clusters
        ]
        results = () if self.tests is None else self.tests.results
        verdicts = [(one.file, one.suite, one.name, one.cluster, one.verdict) for one in results]
        covered = (said, self.sizes, self.warnings, verdicts, () if self.tests is None else self.tests.lost)
        return "sha256:" + hashlib.sha256(msgspec.json.encode(covered, order="sorted")).hexdigest()


class ClusterPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster. `plan` is None if nothing was decided; `why` says why then. `wave` is its place in rollouts."""

    cluster: str
    plan: Plan | None = None
    why: str = ""
    wave: int | None = None


class FleetPlans(msgspec.Struct, frozen=True, kw_only=True):
    """The plans of one policy tree, by name of the cluster. `source` is where the snapshots come from."""

    source: str
    clusters: tuple[ClusterPlan, ...]

    @property
    def changes(self) -> bool:
        """Whether any plan changes anything."""
        return any(one.plan is not None and one.plan.changes for one in self.clusters)

    @property
    def failed(self) -> bool:
        """Whether there is a cluster for which nothing was decided."""
        return any(one.plan is None for one in self.clusters)
