"""The loop over MachineSets on OpenShift's own controllers: what is held is not written, others write meanwhile, the server goes
away; and one policy over two platforms."""

import time
from collections.abc import Callable

import pytest

from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.control.capture import Clusters, capture
from reconciler.control.turn.turn_report import LoopReport
from reconciler.kube.connection.api import Api, ContentType
from reconciler.kube.connection.transport import connect
from reconciler.kube.watching.live_world import LiveWorld
from reconciler.plan.plan import OwnerState, PodLine, PodOutcome
from reconciler.policy.documents import Discovery, GroupFields, Limit, ScaleDown, Tier
from reconciler.policy.values.label_selector import Selector
from reconciler.providers.contract import RemovalState
from reconciler.providers.live_platforms import served_platforms
from tests.live.demand import own_nodes
from tests.live.own_loop import CLUSTER_API, OwnLoop, done
from tests.live.run_cluster import pods
from tests.openshift.conftest import NewSet
from tests.openshift.live_bench import SERVED, MachineSetBench
from tests.openshift.objects import GROUP, machine_autoscaler
from tests.testbed.control_plane import MASTERS, ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster

TURNS = 200
HELD = {
    "MachineAutoscaler": {},
    "Hive": {"marks": {"hive.openshift.io/machine-pool": "worker"}},
    "the control plane": {"role": "master"},
    "argocd-controller": {},
}
AT_ONCE = GroupFields(scale_down=ScaleDown(unneeded_time_seconds=0, utilization_threshold_percent=50))


def test_200_turns_ask_for_nothing_where_others_size_the_sets(new_set: NewSet, control_plane: ControlPlane) -> None:
    """Pods that only these sets could take, more of them all the time: each is held by its name, and not one request of ours, not
    even one that was refused, on sets, Machines, nodes or evictions."""
    sets = {by: new_set(1, namespace="held-sets", adopted=False, **parts) for by, parts in HELD.items()}
    autoscaled = sets["MachineAutoscaler"]
    named = {"metadata": {"name": autoscaled.name, "namespace": autoscaled.namespace}}
    (made,) = autoscaled.testbed.create(machine_autoscaler(autoscaled.name, autoscaled.name, 1, 9) | named)
    sets["argocd-controller"].applied_by("argocd-controller", 1)
    before = {by: bench.testbed.read(bench.object)["metadata"]["generation"] for by, bench in sets.items()}
    groups = [bench.group(most=9) for bench in sets.values()]
    with OwnLoop(control_plane, "held-sets", *groups, served=SERVED) as loop:
        for turn in range(TURNS):
            if turn % 25 == 0:
                for bench in sets.values():
                    bench.pods(1)
            report = loop.loop.turn()
            assert report.plan is not None, report.unavailable
        lines = {by: loop.line(bench.name, lambda line: (line.wanted or 0) > 1) for by, bench in sets.items()}
        assert loop.writes() == []
    assert {line.owner.state for line in lines.values()} == {OwnerState.HELD}
    assert {by: line.owner.by.partition(" held-sets/")[0] for by, line in lines.items()} == {by: by for by in sets}
    assert {(line.current, line.desired) for line in lines.values()} == {(1, 1)}
    assert {by: bench.testbed.read(bench.object)["metadata"]["generation"] for by, bench in sets.items()} == before
    autoscaled.testbed.delete(made)


class Interrupted:
    """A connection beside which somebody else writes just before our write of one number."""

    def __init__(self, api: Api, write: int, other: Callable[[], object]) -> None:
        self._api, self._left, self._other = api, write, other

    def __getattr__(self, name: str) -> object:
        return getattr(self._api, name)

    def write(self, method, path, body=None, *, content_type=ContentType.JSON, query=None):
        self._left -= 1
        if self._left == 0:
            self._other()
        return self._api.write(method, path, body, content_type=content_type, query=query)


def by_scale(bench: MachineSetBench, change: int) -> Callable[[], object]:
    """Somebody scales as the Cluster Autoscaler does."""
    return lambda: bench.testbed.scale(bench.object, bench.replicas() + change, "cluster-autoscaler")


@pytest.mark.parametrize("change", [1, -1])
@pytest.mark.parametrize("write", [1, 2, 3])
def test_a_second_writer_takes_nothing_from_a_removal(new_set: NewSet, write: int, change: int) -> None:
    """Before our taint, our mark or our replicas somebody raises or lowers the set by one, by `scale`. Of the nodes that we chose
    none goes twice, and none goes that neither of us lowered for; no mark is left."""
    bench = new_set(4)
    nodes = bench.until_nodes(4)
    api = connect(bench.plane.kubeconfig_of("second", MASTERS))
    port = bench.port_over(Interrupted(api, write, by_scale(bench, change)))
    port.observe()
    begun = port.remove_node(bench.target, nodes[1], 3, bench.bound())
    (ended,) = bench.removed(1, port) if begun.done else (None,)
    ours = ended is not None and ended.state is RemovalState.FINISHED
    # Theirs may take the drained one, with our mark or without: then ours is not written.
    lowered = [
        one for one in bench.plane.audit("second")
        if (one.resource, one.namespace, one.code) == ("machinesets", bench.namespace, 200) and one.name == bench.target.name
    ]  # fmt: skip
    expected = 4 + change - len(lowered)
    assert len(lowered) <= (1 if ours else 0)
    left = bench.until_nodes(expected)
    assert bench.replicas() == expected
    assert len(set(nodes) - set(left)) == max(4 - expected, 0) if change < 0 else set(nodes) - set(left) <= {nodes[1]}
    if lowered:
        assert nodes[1] not in left
    # Where theirs took another one after our mark was there, only a later look tells that it did, and the node is opened again.
    deadline = time.monotonic() + 120
    while (bench.marks(), bench.tainted()) != ([], []):
        assert time.monotonic() < deadline
        port.observe()
        port.continue_removals()
    assert bench.until_nodes(expected) == left


def test_while_the_server_is_gone_nothing_is_decided(new_set: NewSet, control_plane: ControlPlane) -> None:
    """It is killed while a node drains; back again, exactly that removal is finished, and the plan comes to rest."""
    bench = new_set(3, namespace="server-gone")
    nodes = bench.until_nodes(3)
    with OwnLoop(control_plane, bench.namespace, bench.group(least=2), served=SERVED, call_seconds=4, defaults=AT_ONCE) as loop:
        loop.until(lambda report: done(report, "RemoveNode"), "a removal")
        (chosen,) = bench.tainted()
        with control_plane.api_server_away():
            blind = loop.until(lambda report: bool(report.unavailable), "the view being doubted")
            assert blind.plan is None

        def over(report: LoopReport) -> bool:
            return report.plan is not None and not report.plan.actions and len(bench.nodes()) == 2

        loop.until(over, "the removal being finished")
    assert bench.until_nodes(2) == sorted(set(nodes) - {chosen})
    assert (bench.replicas(), bench.marks()) == (2, [])


def test_one_policy_over_a_machine_deployment_and_a_machine_set(
    new_set: NewSet, new_cluster: NewCluster, control_plane: ControlPlane
) -> None:
    """Both discovered. Pods that either may take: the set's tier comes first, up to its maximum of 2, one goes to the
    MachineDeployment, and a limit of 3 nodes over both leaves the fourth pending. Without pods both shrink to nothing."""
    cluster = new_cluster()
    mark = cluster.namespace
    item = own_nodes(cluster, "general", 0)
    sizes = {f"{GROUP}/cluster-api-autoscaler-node-group-{end}-size": str(size) for end, size in (("min", 0), ("max", 2))}
    told = {"capacity.cluster-autoscaler.kubernetes.io/labels": f"test={mark}"}
    bench = new_set(0, namespace="both-sets", annotations=sizes | told, labels={"test": mark})
    fields = {
        "discovery": (
            Discovery(name="sets", provider="openshift", namespaces=("both-sets",), tier="first"),
            Discovery(name="capi", provider="clusterAPI", namespaces=(mark,), tier="second"),
        ),
        "tiers": (Tier(name="first"), Tier(name="second")),
        "limits": (Limit(name="both", nodes=Selector(match_labels=(("test", mark),)), max=(("nodes", 3),)),),
        "defaults": AT_ONCE,
    }
    with OwnLoop(control_plane, mark, served=CLUSTER_API + SERVED, beside=("both-sets",), **fields) as loop:
        pods(cluster, "p", 4, "3")
        report = loop.until(lambda one: bound(cluster) == 3 and unplaced(one) and not one.plan.actions, "three pods being bound")
        (waiting,) = unplaced(report)
        assert "LimitReached" in {reason.code for reason in waiting.reasons}
        lines = {line.name: (line.tier, line.current) for line in report.plan.groups}
        assert lines == {bench.name: ("first", 2), "general": ("second", 1)}
        assert (bench.replicas(), cluster.api.read(item)["spec"]["replicas"]) == (2, 1)
        cluster.api.call("DELETE", f"/api/v1/namespaces/{mark}/pods", {"gracePeriodSeconds": 0})
        loop.until(lambda one: {line.current for line in one.plan.groups} == {0} and not one.plan.actions, "both being empty")
    assert (bench.until_nodes(0), cluster.until_nodes(0)) == ([], [])


def unplaced(report: LoopReport) -> list[PodLine]:
    """The pods that no node can be bought for."""
    return [pod for pod in report.plan.pods if pod.outcome is PodOutcome.UNPLACEABLE] if report.plan is not None else []


def bound(cluster: WorkCluster) -> int:
    """How many pods of a namespace have a node."""
    return sum(bool(one["spec"].get("nodeName")) for one in cluster.api.items(f"/api/v1/namespaces/{cluster.namespace}/pods"))


def test_no_second_node_beside_one_that_the_machine_config_operator_updates(new_set: NewSet, control_plane: ControlPlane) -> None:
    """Two of three empty nodes may go, and none does while one of them is being updated; afterwards they do."""
    bench = new_set(3, namespace="updated-sets")
    nodes = bench.until_nodes(3)
    keys = [f"machineconfiguration.openshift.io/{name}" for name in ("currentConfig", "desiredConfig", "state")]

    def updating(*values: str) -> None:
        item = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": nodes[2]}}
        bench.testbed.merge(item, {"metadata": {"annotations": dict(zip(keys, values, strict=True))}})

    updating("rendered-1", "rendered-2", "Working")
    with OwnLoop(control_plane, bench.namespace, bench.group(least=1), served=SERVED, defaults=AT_ONCE) as loop:
        for _ in range(20):
            report = loop.loop.turn()
            assert report.plan is not None, report.unavailable
        kept = [line for line in report.plan.nodes if line.group == bench.name]
        assert {blocker.code for line in kept for blocker in line.blockers} == {"TargetKeepsNodes"}
        assert all(f"node {nodes[2]}" in blocker.message for line in kept for blocker in line.blockers)
        assert loop.writes() == []
        updating("rendered-2", "rendered-2", "Done")
        loop.until(lambda one: bench.replicas() == 1 and not one.plan.actions, "the removals")
    assert len(bench.until_nodes(1)) == 1


def test_a_live_view_and_a_capture_say_the_same(new_set: NewSet) -> None:
    """What a server has of the platform is asked of it, and both read the same facts."""
    bench = new_set(1, namespace="seen-sets")
    bench.until_nodes(1)
    served = tuple(item for item in served_platforms(bench.api, {}) if item.platform == "openshift")
    assert served == SERVED
    view = LiveWorld(bench.api, now_seconds=lambda: 1_800_000_000, served=served)
    view.start()
    try:
        assert view.wait(180), view.doubts()
        seen = next(facts for facts in view.observe().targets if facts.ref == bench.target)
    finally:
        assert view.stop()
    captured = capture(Clusters(workload=bench.api, management=bench.api, served=served), "live", 1_800_000_000)
    read = next(facts for facts in captured.world().targets if facts.ref == bench.target)
    assert (read, read.replicas) == (seen, 1)
    (machine,) = [item for item in captured.redacted(Pseudonyms(b"s" * 32)).world().machines if item.target == bench.target]
    assert machine.node == bench.nodes()[0]
