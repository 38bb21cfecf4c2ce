"""What `doctor` finds worth mending; the row of the source document that asks for it is named in each test."""

import msgspec

from reconciler.cluster.pods.pod import VolumeUse
from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.decisions.lints.cluster import findings
from reconciler.decisions.memory import Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.finding import Finding
from reconciler.policy.documents import NodeGroup, Template
from reconciler.rendering.documents.doctor import DoctorDocument
from reconciler.rendering.printers.text.doctor import doctor_text
from tests.builders import NOW, ClusterBuilder, node_group, policy

ZONE = "topology.kubernetes.io/zone"


def _findings(cluster: ClusterBuilder, *groups: NodeGroup) -> dict[str, Finding]:
    rules = policy(*(groups or (node_group("general"),)))
    return {finding.code: finding for finding in findings(View.of(cluster.world(), rules, Memory(), NOW, Work(10_000)))}


def _with_zones(*zones: str) -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.target("general", len(zones))
    ref = cluster.world().targets[0].ref
    for number, zone in enumerate(zones):
        cluster.node(f"n{number}", labels={ZONE: zone})
        cluster.machine(f"n{number}", ref, node=f"n{number}")
    return cluster


def test_s30_a_node_of_another_shape_is_listed() -> None:
    """Two nodes of 4 cores and one of 8: the odd one is named with the difference."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.node("odd", "8", labels={"pool": "general"})
    cluster.machine("odd", cluster.world().targets[0].ref, node="odd")
    found = _findings(cluster)["NodesDiffer"]
    assert (found.message, found.nodes) == ("1 node differs from the other nodes of the group: cpu 4 and 8", ("odd",))


def test_s53_a_taint_of_the_moment_is_no_difference() -> None:
    """A cordon or a condition taint is not a changed node; nor are zones."""
    cluster = _with_zones("a", "b")
    cluster.node("n2", labels={ZONE: "a"}, taints=["node.kubernetes.io/memory-pressure:NoSchedule"])
    cluster.machine("n2", cluster.world().targets[0].ref, node="n2")
    assert "NodesDiffer" not in _findings(cluster)


def test_s31_pods_without_requests() -> None:
    """Invisible to every decision."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("bare", 2, on="general-1")
    assert _findings(cluster)["NoRequests"].object == "ReplicaSet shop/bare"


def test_s32_workloads_without_a_disruption_budget() -> None:
    """Two running pods without a budget are named, a covered workload and a single pod are not."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("open", 2, cpu="1m", on="general-1")
    cluster.pods("single", 1, cpu="1m", on="general-1")
    cluster.pods("covered", 2, cpu="1m", on="general-1")
    cluster.budget("covered", allowed=1)
    assert _findings(cluster)["NoDisruptionBudget"].object == "ReplicaSet shop/open"


def test_s52_volumes_in_a_group_over_several_zones() -> None:
    """A claim and two zones in one group; with one zone there is nothing to say."""
    for zones, expected in ((("a", "b"), True), (("a", "a"), False)):
        cluster = _with_zones(*zones)
        cluster.pods("db", 1, cpu="1m", on="n0", shape={"volumes": (VolumeUse(kind="claim", claim="data"),)})
        assert ("ZonalVolumes" in _findings(cluster)) is expected


def test_s57_many_small_groups() -> None:
    """21 groups of at most two nodes; 20 are not too many."""
    for count, expected in ((21, True), (20, False)):
        cluster = ClusterBuilder()
        names = [f"g{number:02d}" for number in range(count)]
        for name in names:
            cluster.group(name, nodes=0)
        for most in (1, 2):
            assert ("ManySmallGroups" in _findings(cluster, *(node_group(name, max=most) for name in names))) is expected


def test_s62_regional_beside_zonal_groups() -> None:
    """One group over two zones beside one in each."""
    cluster = _with_zones("a", "b")
    for zone in "ab":
        cluster.group(f"zonal-{zone}", nodes=1, labels={ZONE: zone})
    groups = (node_group("general"), node_group("zonal-a"), node_group("zonal-b"))
    assert _findings(cluster, *groups)["RegionalAndZonalGroups"].message.startswith("general span several zones")


def test_s65_a_gpu_group_without_accelerator_label() -> None:
    """With the label there is nothing to say."""
    for labels, expected in (({}, True), ({"cluster-api/accelerator": "h100"}, False)):
        cluster = ClusterBuilder()
        cluster.group("general", nodes=0, labels=labels)
        facts = cluster.world().targets[0]
        size = facts.template.capacity
        assert size is not None
        with_gpu = size.plus(type(size)(extended=(("nvidia.com/gpu", 2),)))
        template = msgspec.structs.replace(facts.template, capacity=with_gpu, allocatable=with_gpu)
        cluster.target("general", 0, template=template)
        assert ("AcceleratorLabelMissing" in _findings(cluster)) is expected


def test_s132_replicas_in_the_topology() -> None:
    """A topology that declares replicas: the advice is the change that hands them over."""
    evidence = OwnerEvidence(
        owners=(FieldOwner(manager="capi-topology", operation="Apply"),),
        topology_owned=True,
        topology_deployment="general",
        topology_replicas=4,
    )
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, evidence=evidence)
    found = _findings(cluster)["TopologyReplicas"]
    assert found.message == "the Cluster's topology declares replicas 4 for it"


def test_nodes_that_say_more_than_a_written_capacity_are_no_larger() -> None:
    """A policy that writes cpu and memory alone: what else a node offers is known from the nodes there, as `explain` tells it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3, gpu=1)
    written = Template(capacity=(("cpu", 4000), ("memory", 16 << 30)))
    assert not {"LargerThanTemplate", "SmallerThanTemplate"} & _findings(cluster, node_group("general", template=written)).keys()


def test_many_nodes_are_one_finding() -> None:
    """Thirty nodes of another size than the template says, each with labels of its own: one finding, with their names."""
    cluster = ClusterBuilder()
    ref = cluster.target("general", 30)
    for number in range(30):
        cluster.node(f"n{number}", "8", labels={"kubernetes.io/hostname": f"n{number}"})
        cluster.machine(f"n{number}", ref, node=f"n{number}")
    rules = policy(node_group("general", template=Template(capacity=(("cpu", 4000), ("memory", 16 << 30)))))
    found = [one for one in findings(View.of(cluster.world(), rules, Memory(), NOW, Work(10_000))) if one.nodes]
    assert [(one.code, len(one.nodes)) for one in found] == [("LargerThanTemplate", 30)]
    assert found[0].message.startswith("30 nodes have a size that differs from the template: cpu 4 and 8")


def test_findings_are_folded_for_people() -> None:
    """Forty workloads without a budget are one paragraph with three names; --wide tells each, JSON has all."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    for number in range(40):
        cluster.pods(f"app{number}", 2 + number % 3, cpu="10m", on="general-1")
    found = findings(View.of(cluster.world(), policy(node_group("general")), Memory(), NOW, Work(10_000)))
    document = DoctorDocument(installation={}, cluster="test", findings=found)
    folded, wide = doctor_text(document), doctor_text(document, wide=True)
    assert "\n40 objects: ReplicaSet shop/app0, ReplicaSet shop/app1, ReplicaSet" in folded
    assert "no PodDisruptionBudget covers its 2..4 running pods" in folded
    assert len(folded.splitlines()) < 20
    assert all(f"\nReplicaSet shop/app{number} [NoDisruptionBudget]\n" in wide for number in range(40))
