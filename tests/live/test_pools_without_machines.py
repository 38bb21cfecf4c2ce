"""The live loop on a MachinePool without Machines, whose platform takes the instance that it likes."""

import msgspec

from reconciler.control.turn.turn_report import LoopReport
from reconciler.policy.documents import GroupFields, NodeGroup, ScaleDown, WithoutMachines
from tests.live.own_loop import OwnLoop, group
from tests.providers.machine_pool import machine_pool
from tests.testbed.api import Object
from tests.testbed.cluster_documents import Group
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster

BLOCKED = GroupFields(scale_down=ScaleDown(unneeded_time_seconds=0))
ALLOWED = GroupFields(scale_down=ScaleDown(unneeded_time_seconds=0, without_machines=WithoutMachines.PLATFORM_CHOOSES))


def _pool(name: str, namespace: str) -> NodeGroup:
    made = group(name, namespace, least=1)
    return msgspec.structs.replace(made, target=msgspec.structs.replace(made.target, kind="MachinePool"))


def _left(cluster: WorkCluster, item: Object) -> tuple[int, list[str], list[str]]:
    """Replicas, the nodes that the pool names, and those of them that bear our taint."""
    now = cluster.api.read(item)
    names = sorted(reference["name"] for reference in now.get("status", {}).get("nodeRefs", ()))
    nodes = {node["metadata"]["name"]: node["spec"].get("taints") or () for node in cluster.nodes()}
    closed = [name for name in names if any(taint["key"] == "reconciler.dev/deleting" for taint in nodes.get(name, ()))]
    return int(now["spec"]["replicas"]), names, closed


def _blocked(report: LoopReport) -> bool:
    found = [{one.code for one in node.blockers} for node in report.plan.nodes if node.group == "p"] if report.plan else []
    return len(found) == 2 and all("NotSelectable" in codes for codes in found)


def test_it_shrinks_by_one_where_the_policy_lets_the_platform_choose(
    new_cluster: NewCluster, control_plane: ControlPlane
) -> None:
    """Two empty nodes, one is needed: both stay while the field is not set. Then replicas fall once, one node is left, and it is
    open, whichever of the two the platform took."""
    cluster = new_cluster()
    item = machine_pool(cluster, Group("p", min_size=2, max_size=9), machines=False)
    with OwnLoop(control_plane, cluster.namespace, _pool("p", cluster.namespace), defaults=BLOCKED) as loop:
        loop.until(_blocked, "both nodes being kept")
        assert _left(cluster, item)[0] == 2
        loop.decide_by(_pool("p", cluster.namespace), defaults=ALLOWED)

        def alone(_: LoopReport) -> bool:
            replicas, names, closed = _left(cluster, item)
            return (replicas, len(names), closed) == (1, 1, [])

        loop.until(alone, "one open node being left")
        loop.settled("p")
        assert _left(cluster, item)[0] == 1
