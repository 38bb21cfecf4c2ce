"""Disruption budgets against the live loop on the real disruption controller; a watcher outside counts healthy pods."""

from collections.abc import Callable

from reconciler.control.turn.turn_report import LoopReport
from reconciler.policy.documents import GroupFields, ScaleDown
from reconciler.providers.contract import RemovalProgress, RemovalState
from tests.live.demand import HealthWatcher, budget, deployment, own_nodes, until_running
from tests.live.own_loop import OwnLoop, done, group
from tests.testbed.api import Object
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster

AT_FIRST_SIGHT = GroupFields(scale_down=ScaleDown(unneeded_time_seconds=0, utilization_threshold_percent=50))


def _loop(plane: ControlPlane, cluster: WorkCluster, *, drain_timeout_seconds: int = 600) -> OwnLoop:
    return OwnLoop(
        plane, cluster.namespace, group("g", cluster.namespace), drain_timeout_seconds=drain_timeout_seconds,
        defaults=AT_FIRST_SIGHT,
    )  # fmt: skip


def _two_nodes_with_a_pod_each(cluster: WorkCluster) -> Object:
    """Both pods fit on one node."""
    item = own_nodes(cluster, "g", 2)
    cluster.until_nodes(2)
    deployment(cluster, "web", 2, "500m")
    return item


def _taints(cluster: WorkCluster) -> list[str]:
    return [taint["key"] for node in cluster.nodes() for taint in node["spec"].get("taints") or ()]


def _ended(state: RemovalState) -> Callable[[LoopReport], bool]:
    return lambda report: any(removal.state is state for removal in report.removals)


def test_a_budget_without_disruptions_left_keeps_its_nodes(new_cluster: NewCluster, control_plane: ControlPlane) -> None:
    """Two nodes, one of which would do: no taint, no eviction, the budget named at the node; two pods stay healthy throughout."""
    cluster = new_cluster()
    _two_nodes_with_a_pod_each(cluster)
    budget(cluster, "web", "web", max_unavailable=0)
    with _loop(control_plane, cluster) as loop, HealthWatcher(cluster) as watcher:
        for _ in range(20):
            report = loop.loop.turn()
        writes = loop.writes()
    assert (writes, watcher.fewest, watcher.now) == ([], 2, 2)
    assert report.plan is not None
    blockers = {(line.removable, blocker.code) for line in report.plan.nodes if line.group == "g" for blocker in line.blockers}
    assert {code for removable, code in blockers if not removable} >= {"NotEnoughPdb"}


def test_a_drain_within_the_budget_keeps_it(new_cluster: NewCluster, control_plane: ControlPlane) -> None:
    """One disruption at a time: the node is emptied by evictions and goes, and never was a second pod down."""
    cluster = new_cluster()
    item = _two_nodes_with_a_pod_each(cluster)
    budget(cluster, "web", "web", max_unavailable=1)
    with _loop(control_plane, cluster) as loop, HealthWatcher(cluster) as watcher:
        loop.until(_ended(RemovalState.FINISHED), "the removal")
        cluster.until_nodes(1)
        until_running(cluster, 2)
        for _ in range(5):
            loop.loop.turn()
        evictions = [write for write in loop.writes() if "pods/eviction" in write]
    assert (watcher.fewest, len(evictions)) == (1, 1)
    assert (cluster.api.read(item)["spec"]["replicas"], _taints(cluster)) == (1, [])


def test_a_drain_that_the_budget_refuses_is_undone(new_cluster: NewCluster, control_plane: ControlPlane) -> None:
    """The budget is tightened when the drain has begun: every eviction is refused, no pod goes; after the time-out the taint
    is taken off, replicas are as before, and the group is left alone for a while."""
    cluster = new_cluster()
    item = _two_nodes_with_a_pod_each(cluster)
    tight = budget(cluster, "web", "web", max_unavailable=1)
    with _loop(control_plane, cluster, drain_timeout_seconds=300) as loop, HealthWatcher(cluster) as watcher:
        loop.until(lambda report: done(report, "RemoveNode"), "the drain beginning")
        assert _taints(cluster) == ["reconciler.dev/deleting"]
        tightened = cluster.api.merge(tight, {"spec": {"maxUnavailable": 0}})
        path = f"/apis/policy/v1/namespaces/{cluster.namespace}/poddisruptionbudgets"
        generation = tightened["metadata"]["generation"]
        cluster.api.wait(path, lambda items: items[0]["status"]["observedGeneration"] == generation, "the budget being counted")
        refused = loop.until(lambda report: any(removal.message for removal in report.removals), "a refused eviction")
        loop.ahead_seconds = 301
        (gave_up,) = loop.until(_ended(RemovalState.FAILED), "the drain being given up").removals
        for _ in range(5):
            loop.loop.turn()
        codes = {request.code for request in control_plane.audit(loop.user) if request.resource == "pods/eviction"}
    told: RemovalProgress = refused.removals[0]
    assert "budget web needs 2 healthy pods and has 2 currently" in told.message
    assert (gave_up.code, "web needs 2 healthy pods" in gave_up.message) == ("DrainTimeout", True)
    assert (watcher.fewest, codes) == (2, {429})
    assert (_taints(cluster), cluster.api.read(item)["spec"]["replicas"], len(cluster.nodes())) == ([], 2, 2)
