"""`reconciler preview --fleet`: one change in the snapshots of many clusters."""

import time
from collections import Counter

import msgspec

from reconciler.cli.inputs.cluster_files import capi_group
from reconciler.cli.inputs.decision_instant import decision_instant
from reconciler.cli.inputs.fleet_snapshots import FleetSnapshot, asked_fleet, worlds
from reconciler.cli.inputs.preview_cluster import ClusterAsked
from reconciler.cli.inputs.preview_sides import Asked, Side, in_clusters, read_sides
from reconciler.cli.outputs.failure import InputError
from reconciler.cli.processes import policy_test_run
from reconciler.cli.processes.policy_test_run import PolicyTestRunner
from reconciler.cli.processes.preview_comment import ReportContent, base_of
from reconciler.cli.processes.preview_made import chosen, earlier_set, made_preview, tests_of_change
from reconciler.cluster.world import World, as_in_fleet, identity_of
from reconciler.gitops.pull_requests.approvals import Grades
from reconciler.plan.fleet import ClusterOutcome, ClusterState, FleetPreview
from reconciler.plan.policy_tests import CaseResult
from reconciler.policy.documents import PolicySet
from reconciler.policy.manifests.size_changes import size_changes
from reconciler.policy.problems.problem import new_problems
from reconciler.rendering.documents.preview.consequences.consequence import Grade
from reconciler.values.cluster_identity import ClusterIdentity
from reconciler.values.defect import defect_text


class FleetAsked(msgspec.Struct, frozen=True, kw_only=True):
    """What the user named: both sides of the change, where the snapshots are, and which policy where there are several."""

    base: Asked
    head: Asked
    cluster: ClusterAsked
    path: str
    base_tip: bool
    name: str | None
    work_budget: int

    def sides(self) -> tuple[Side, Side]:
        """Both sides before any cluster is asked about. Raises `InputError`."""
        now = int(time.time()) if self.cluster.now is None else decision_instant(self.cluster.now)
        return read_sides(self.base, self.head, self.cluster.repository, self.path, now, base_tip=self.base_tip)

    def snapshots(self) -> tuple[FleetSnapshot, ...]:
        """One for each cluster. Raises `InputError`."""
        return asked_fleet(self.cluster.path, self.cluster.ref, self.cluster.repository)


def fleet_preview(asked: FleetAsked, before: Side, after: Side) -> FleetPreview:
    """What the change does in each cluster. A cluster without a difference of its policy is not decided: equal policies decide
    equally on the same snapshot."""
    policies = _HeadPolicies(before, after, asked.name)
    runner = PolicyTestRunner(policies, policy_test_run.Asked(today=policies.earlier, review=True, fleet=True))
    outcomes: list[ClusterOutcome] = []
    results: list[CaseResult] = []
    for name, world in worlds(asked.snapshots()):
        outcomes.append(_unreadable(name, world) if isinstance(world, str) else _outcome(name, world, policies, asked))
        results += runner.in_cluster(after.tests.texts, name, world)
    manifests = ({**before.given, **before.elsewhere}, before.sets), ({**after.given, **after.elsewhere}, after.sets)
    return FleetPreview(
        base=before.side,
        head=after.side,
        source=str(asked.cluster.path or asked.cluster.ref),
        clusters=tuple(sorted(outcomes, key=lambda one: one.cluster)),
        sizes=size_changes(*manifests, capi_group()),
        warnings=new_problems(before.problems, after.problems),
        tests=tests_of_change(before, after, (before.tests.texts, after.tests.texts), runner, results, policies.names),
    )


class _HeadPolicies:
    """The files of a change's tests. The policy of each test is the change's own, as the cluster of its snapshot has it."""

    def __init__(self, before: Side, after: Side, name: str | None) -> None:
        files = after.tests.files
        self._sides = before, after
        self._name = name
        self._last: tuple[ClusterIdentity, int, tuple[Side, Side]] | None = None
        self._names: tuple[set[str], set[str]] = set(), set()
        self.snapshot, self.text = files.snapshot, files.text

    def here(self, cluster: ClusterIdentity, now_seconds: int) -> tuple[Side, Side]:
        """Both sides as a cluster has them. Those of the last cluster are kept."""
        if self._last is None or self._last[:2] != (cluster, now_seconds):
            (earlier,), (later,) = (tuple(in_clusters(side, (cluster,), now_seconds)) for side in self._sides)
            self._last = cluster, now_seconds, (earlier, later)
            for names, side in zip(self._names, self._last[2], strict=True):
                names.update(one.policy.name for one in side.sets)
        return self._last[2]

    @property
    def names(self) -> tuple[str, str]:
        """The policy of each side that tests judge which name none; empty if the clusters have several."""
        if self._name is not None:
            return self._name, self._name
        first, second = (next(iter(names)) if len(names) == 1 else "" for names in self._names)
        return first, second

    def policy(self, path: str, name: str, now_seconds: int, cluster: ClusterIdentity | None) -> PolicySet:
        """Whatever `path` a test names: a preview reads no other policy. Raises `InputError`."""
        if cluster is None:
            raise InputError(f"{path}: the snapshot of the test does not say which cluster it is")
        _, here = self.here(cluster, now_seconds)
        if here.errors:
            raise InputError(f"{path}: {here.problems[0].place}: {here.problems[0].message}")
        return chosen(here, here, name or self._name)

    def earlier(self, now_seconds: int, cluster: ClusterIdentity | None, policy: PolicySet) -> PolicySet | None:
        """The base's policy that the head's one is compared with."""
        return None if cluster is None else earlier_set(*self.here(cluster, now_seconds), policy)


def fleet_content(fleet: FleetPreview, before: Side, after: Side) -> ReportContent:
    """As one comment on a pull request."""
    from reconciler.rendering.documents.fleet.comparison import FLEET_LIMIT, fleet_document, fleet_summary
    from reconciler.rendering.printers.markdown.document import document_markdown

    return ReportContent(
        digest=fleet.digest,
        head=fleet.head.revision or "",
        summary=fleet_summary(fleet),
        changed=fleet.changed,
        base=base_of(before),
        untouched=bool(before.content) and before.content == after.content and not fleet.changed,
        refused=fleet.failed or bool(fleet.tests and fleet.tests.failed),
        grades=_grades(fleet),
        problems=tuple(problem for one in fleet.clusters for problem in one.problems),
        markdown=lambda limit: document_markdown(fleet_document(fleet), min(limit, FLEET_LIMIT)),
    )


def _grades(fleet: FleetPreview) -> Grades | None:
    """The consequences in all clusters, lost tests, declared sizes and warnings of the files. None if one cluster is not known.
    A cluster that no policy applies to any more is a caution."""
    from reconciler.rendering.documents.preview.consequences.all import consequences

    declared = any(size.problem is not None for size in fleet.sizes)
    found = Counter({Grade.WARNING: bool(fleet.warnings) + bool(fleet.tests and fleet.tests.lost) + declared})
    for one in fleet.clusters:
        if one.state in (ClusterState.UNREADABLE, ClusterState.REFUSED) or (one.preview and one.preview.comparison is None):
            return None
        found[Grade.CAUTION] += one.state is ClusterState.LEFT
        found.update(effect.grade for effect in (consequences(one.preview) if one.preview else ()))
    return found


def _unreadable(cluster: str, why: str) -> ClusterOutcome:
    return ClusterOutcome(cluster=cluster, state=ClusterState.UNREADABLE, why=why)


def _outcome(cluster: str, world: World, policies: _HeadPolicies, asked: FleetAsked) -> ClusterOutcome:
    now_seconds = world.captured_seconds if asked.cluster.now is None else decision_instant(asked.cluster.now)
    if not now_seconds:
        return _unreadable(cluster, "nothing in the snapshot says when it was taken: give --now RFC3339")
    identity = identity_of(world) or ClusterIdentity(name=cluster)
    try:
        found = _judged(cluster, identity, world, now_seconds, policies, asked)
    except InputError:
        raise
    except Exception as error:
        # What is told of the other clusters must not end with it.
        found = _unreadable(cluster, defect_text(error))
    return msgspec.structs.replace(found, wave=identity.wave)


def _judged(
    cluster: str, identity: ClusterIdentity, world: World, now_seconds: int, policies: _HeadPolicies, asked: FleetAsked
) -> ClusterOutcome:
    earlier, later = policies.here(identity, now_seconds)
    if later.errors:
        return ClusterOutcome(cluster=cluster, state=ClusterState.REFUSED, problems=later.problems)
    if not later.sets and not earlier.sets:
        return ClusterOutcome(cluster=cluster, state=ClusterState.NO_POLICY)
    if not later.sets:
        return ClusterOutcome(cluster=cluster, state=ClusterState.LEFT)
    try:
        policy = chosen(earlier, later, asked.name)
    except InputError as error:
        return _unreadable(cluster, str(error))
    known = earlier_set(earlier, later, policy)
    if known is not None and known.digest == policy.digest and known.policy.name == policy.policy.name:
        return ClusterOutcome(cluster=cluster, state=ClusterState.SAME)
    preview = made_preview(
        as_in_fleet(world), now_seconds, earlier, later, policy, asked.name, asked.work_budget, pictured=False, with_what_if=False
    )
    state = ClusterState.CHANGES if preview.changed else ClusterState.SAME
    return ClusterOutcome(cluster=cluster, state=state, preview=preview if preview.changed else None)
