"""Two policies that both have a group on one MachineDeployment, each by a loop of its own: only one of them writes."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from reconciler.control.turn.turn_report import LoopReport
from reconciler.plan.plan import OwnerState
from reconciler.policy.documents import NodeGroup
from tests.live.own_loop import OwnLoop, done, group
from tests.live.ownership import NO_NODES
from tests.live.run_cluster import all_bound, pods, replicas
from tests.live.run_cluster import group as shaped_group
from tests.testbed.api import Object
from tests.testbed.cluster_documents import Group
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster

POLICY_MARK = "reconciler.dev/policy"


def _state(cluster: WorkCluster, item: Object) -> tuple[int, str | None]:
    """Replicas, and whose mark stands there."""
    now = cluster.api.read(item)
    return int(now["spec"]["replicas"]), now["metadata"]["annotations"].get(POLICY_MARK)


def _resized(report: LoopReport) -> bool:
    return done(report, "Resize")


def test_the_second_policy_holds_until_the_first_one_releases_the_target(
    new_cluster: NewCluster, control_plane: ControlPlane
) -> None:
    """The first one wants two machines and writes; the second one wants three: its line names the annotation, and it sends
    nothing. The first one leaves the target out, which takes its mark off; then the second one writes."""
    cluster = new_cluster()
    item = cluster.machine_deployment(Group("g", min_size=0, max_size=20), NO_NODES)
    other = group("rest", cluster.namespace, target="not-there")
    with (
        OwnLoop(control_plane, cluster.namespace, group("g", cluster.namespace, least=2), marking="first") as first,
        OwnLoop(control_plane, cluster.namespace, group("g", cluster.namespace, least=3), marking="second") as second,
    ):
        first.until(_resized, "the first policy's growth")
        assert _state(cluster, item) == (2, "first")
        line = second.line("g", lambda one: one.owner.state is OwnerState.HELD)
        assert (line.owner.by, line.owner.evidence[0]) == ("policy first", f"annotation {POLICY_MARK}: first")
        second.settled("g")
        assert (second.writes(), _state(cluster, item)) == ([], (2, "first"))
        first.decide_by(other)
        first.until(lambda report: done(report, "Release"), "the release")
        second.until(_resized, "the second policy's growth")
        assert _state(cluster, item) == (3, "second")


@pytest.mark.parametrize("topology", [True, False], ids=["topology", "free"])
def test_the_other_policy_is_found_before_the_first_write(
    topology: bool, new_cluster: NewCluster, control_plane: ControlPlane
) -> None:
    """The first policy has decided and had nothing to write: no mark tells of it. The second one, which wants three nodes, names
    it with its Lease and sends nothing, whether or not a topology owns the target. Then the first one wants two, and writes."""
    if topology:
        cluster = new_cluster(topology=[Group("g", min_size=0, max_size=20)], shape=NO_NODES)
        item = cluster.topology_deployment("g")
    else:
        cluster = new_cluster()
        item = cluster.machine_deployment(Group("g", min_size=0, max_size=20), NO_NODES)
    target = item["metadata"]["name"]

    def least(nodes: int) -> NodeGroup:
        return group("g", cluster.namespace, target=target, least=nodes)

    def replicas() -> int:
        return int(cluster.api.read(item)["spec"]["replicas"])

    with (
        OwnLoop(control_plane, cluster.namespace, least(0), marking="first", claiming=True) as first,
        OwnLoop(control_plane, cluster.namespace, least(3), marking="second", claiming=True) as second,
    ):
        first.line("g")
        line = second.settled("g")
        assert (line.owner.state, line.owner.by, line.wanted) == (OwnerState.HELD, "policy first", 3)
        assert line.owner.evidence[0] == (
            f"policy first (Lease {cluster.namespace}/reconciler-first, held by {first.user}) lists the target in "
            f"ConfigMap {cluster.namespace}/reconciler-state-first"
        )
        first.decide_by(least(2))
        first.until(_resized, "the first policy's growth")
        assert (second.settled("g").owner.by, second.writes(), replicas()) == ("policy first", [], 2)


def test_a_renamed_policy_takes_its_targets_over(new_cluster: NewCluster, control_plane: ControlPlane) -> None:
    """Nobody has renewed the Lease of the old name while the new one looks on: its mark holds no more, and is replaced. A mark of
    a policy without a Lease here, which another installation runs, holds."""
    cluster = new_cluster()
    items = {name: cluster.machine_deployment(Group(name, min_size=0, max_size=20), NO_NODES) for name in ("g", "h")}
    for name, mark in (("g", "before"), ("h", "elsewhere")):
        cluster.api.merge(items[name], {"metadata": {"annotations": {POLICY_MARK: mark}}})
    metadata = {"name": "reconciler-before", "namespace": cluster.namespace}
    cluster.api.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": {}})
    groups = [group(name, cluster.namespace, least=2) for name in items]
    with OwnLoop(control_plane, cluster.namespace, *groups, marking="after", silent=True) as loop:
        loop.until(_resized, "the growth under the new name")
        assert _state(cluster, items["g"]) == (2, "after")
        assert loop.settled("h").owner.by == "policy elsewhere"
        assert _state(cluster, items["h"]) == (0, "elsewhere")


def test_one_pod_gets_one_node(new_cluster: NewCluster, control_plane: ControlPlane) -> None:
    """Each policy has a group with room for the pod, and both decide at the same time, again and again. One of them alone adds a
    node, on which the pod runs."""
    cluster = new_cluster()
    names = ("first", "second")
    for name in names:
        shaped_group(cluster, name)
    pods(cluster, "web", 1, "2")

    def sizes() -> dict[str, int]:
        return {name: replicas(cluster, name) for name in names}

    with (
        OwnLoop(control_plane, cluster.namespace, group(names[0], cluster.namespace), marking=names[0], claiming=True) as first,
        OwnLoop(control_plane, cluster.namespace, group(names[1], cluster.namespace), marking=names[1], claiming=True) as second,
        ThreadPoolExecutor(2) as pool,
    ):
        loops = {"first": first, "second": second}
        for ended in [pool.submit(_turns_after_purchase, loop, name, sizes) for name, loop in loops.items()]:
            ended.result()
        assert sorted(sizes().values()) == [0, 1]
        all_bound(cluster, 1)
        first.settled("first"), second.settled("second")
    assert sorted(sizes().values()) == [0, 1]


def _turns_after_purchase(loop: OwnLoop, name: str, sizes: Callable[[], dict[str, int]]) -> None:
    loop.until(lambda _: any(sizes().values()), "a purchase")
    loop.settled(name)
