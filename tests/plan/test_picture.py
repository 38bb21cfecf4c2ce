"""Pictures of clusters."""

from reconciler.plan.picture import picture
from reconciler.plan.plan import GroupLine, Ownership, OwnerState
from tests.builders import ClusterBuilder

GROUP = GroupLine(
    name="general", target="MachineDeployment prod/general", tier="", current=1, desired=1, min=0, max=9,
    owner=Ownership(state=OwnerState.OURS),
)  # fmt: skip


def test_shares_of_the_most_requested_resource():
    """2 of 4 cpu and 1 of 16Gi are requested: cpu counts; 1.5 cpu is 375 permille, the daemon's 0.5 is 125 and comes last."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4", memory="16Gi")
    cluster.pods("web", cpu="1500m", memory="1Gi", on="general-1")
    cluster.daemonset("agent", cpu="500m")
    node = picture(cluster.world(), (GROUP,), ()).nodes[0]
    assert (node.node, node.group, node.resource, node.used_permille) == ("general-1", "general", "cpu", 500)
    told = [(pod.pod, pod.share_permille, pod.daemon) for pod in node.pods]
    assert told == [("shop/web-1", 375, False), ("kube-system/agent-general-1", 125, True)]


def test_devices_count():
    """7 of 8 GPUs are more than 1 of 4 cpu."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4", gpu=8)
    cluster.pods("train", cpu="1", gpu=7, on="general-1")
    node = picture(cluster.world(), (GROUP,), ()).nodes[0]
    assert (node.resource, node.used_permille, node.pods[0].share_permille) == ("nvidia.com/gpu", 875, 875)


def test_an_empty_node_and_waiting_pods():
    """A node without pods requests nothing; pods without a node wait."""
    cluster = ClusterBuilder()
    cluster.node("alone")
    cluster.pods("web", 2, cpu="1")
    found = picture(cluster.world(), (), ())
    assert [(node.node, node.group, node.resource, node.pods) for node in found.nodes] == [("alone", None, "", ())]
    assert found.waiting == 2
