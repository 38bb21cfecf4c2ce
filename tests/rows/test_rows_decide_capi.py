"""Rows S133 to S137: what the Cluster API provider of the Cluster Autoscaler documents."""

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.policy.balancing import presets
from reconciler.policy.documents import PolicySet
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import group, plan_of

ACCELERATOR = "cluster-api/accelerator"
NODE_GROUP_LABEL = "eks.amazonaws.com/nodegroup"
# The labels of row S137, as its text has them.
TO_IGNORE = {
    "Alibaba": {"topology.diskplugin.csi.alibabacloud.com/zone"},
    "AWS": {
        "alpha.eksctl.io/instance-id",
        "alpha.eksctl.io/nodegroup-name",
        "eks.amazonaws.com/nodegroup",
        "k8s.amazonaws.com/eniConfig",
        "lifecycle",
        "topology.ebs.csi.aws.com/zone",
    },
    "Azure": {"topology.disk.csi.azure.com/zone", "agentpool", "kubernetes.azure.com/agentpool"},
    "GCP": {"topology.gke.io/zone"},
    "IBM": {
        "ibm-cloud.kubernetes.io/worker-id",
        "vpc-block-csi-driver-labels",
        "ibm-cloud.kubernetes.io/vpc-instance-id",
    },
}


def _pair(label: str = "pool", values: tuple[str, str] = ("all", "all"), **second: object) -> ClusterBuilder:
    """Groups a and b, alike but for one label and for what `second` says of b; two pods of a node each."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=0, labels={"pool": "all", label: values[0]})
    cluster.group("b", nodes=0, labels={"pool": "all", label: values[1]}, **second)
    cluster.pods("web", 2, cpu="4", tolerations=["dedicated"])
    return cluster


def _auto(**fields: object) -> PolicySet:
    return policy(node_group("a", balance_with="Auto"), node_group("b", balance_with="Auto"), **fields)


def _sizes(cluster: ClusterBuilder, rules: PolicySet) -> list[int]:
    return sorted(line.desired for line in plan_of(cluster.world(), rules).groups)


def test_s133_a_slow_device_plugin_causes_no_second_scale_up() -> None:
    """The node has its accelerator label and no GPU yet: ten loops in the next minutes ask for nothing."""
    cluster = ClusterBuilder()
    cluster.group("gpu", nodes=0, replicas=1, gpu=1, labels={ACCELERATOR: "h100"})
    cluster.node("gpu-1", labels={"pool": "gpu", ACCELERATOR: "h100"}, created=NOW)
    cluster.machine("gpu-1", cluster.world().targets[0].ref, node="gpu-1", created=NOW)
    cluster.pods("train", 1, cpu="1", gpu=1, node_selector={ACCELERATOR: "h100"})
    world, memory = cluster.world(), Memory()
    for loop in range(10):
        plan, memory = decide(world, policy(node_group("gpu")), memory, NOW + 60 * loop)
        assert not plan.actions


def test_s135_similar_by_capacity_labels_and_taints_and_the_plan_says_what_broke_it() -> None:
    """Alike they share two nodes; a label, a size or a taint sets them apart and is named; an ignored label does not."""
    assert _sizes(_pair(), _auto()) == [1, 1]
    assert _sizes(_pair("team", ("x", "y")), _auto(balancing_ignore_labels=("team",))) == [1, 1]
    for cluster, broken in (
        (_pair("team", ("x", "y")), "label team: x and y"),
        (_pair(cpu="6"), "cpu 4 and 6"),
        (_pair(taints=["dedicated=web:NoSchedule"]), "taints"),
    ):
        plan = plan_of(cluster.world(), _auto(near_tie_percent=0))
        assert sorted(line.desired for line in plan.groups) == [0, 2]
        assert group(plan, "a").reasons[-1].message.endswith(f"Not balanced with b: {broken}")


def test_s136_only_well_known_labels_are_ignored_until_a_preset_is_asked_for() -> None:
    """Zones may differ; the label of a provider only under its preset, not under another one's."""
    assert _sizes(_pair("topology.kubernetes.io/zone", ("z1", "z2")), _auto()) == [1, 1]
    for asked, expected in (((), [0, 2]), (("Azure",), [0, 2]), (("AWS",), [1, 1])):
        assert _sizes(_pair(NODE_GROUP_LABEL, ("one", "two")), _auto(balancing_presets=asked)) == expected


def test_s137_the_presets_hold_the_fourteen_labels() -> None:
    """Each platform's labels are in its preset, and groups that differ in one of them grow together under it."""
    assert sum(len(labels) for labels in TO_IGNORE.values()) == 14
    for name, labels in TO_IGNORE.items():
        assert labels <= set(presets()[name].labels)
        for label in labels:
            assert _sizes(_pair(label, ("one", "two")), _auto(balancing_presets=(name,))) == [1, 1]
