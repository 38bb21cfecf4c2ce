"""Why a pod has no place on the nodes that are there: every rule that says no, with on how many of them."""

import msgspec
import pytest

from reconciler.cluster.target import TargetFacts, TargetRef, TargetTemplate
from reconciler.decisions.platform_rules import platform_rules
from reconciler.decisions.reasons.pods import NoGroupFits
from reconciler.plan.plan import PodLine
from reconciler.policy.documents import TargetSpec
from tests.builders import ClusterBuilder, amounts, machine_deployment, node_group, policy
from tests.decisions.deciding import plan_of, pod


def _waiting(max_size: int = 9, cpu: str = "20") -> PodLine:
    """Three full nodes, two tainted empty ones, one that is not ready."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=3)
    cluster.pods("full", 3, cpu="4", on=list(names))
    for number in range(2):
        cluster.node(f"master-{number}", "32", "64Gi", taints=["node-role.kubernetes.io/control-plane:NoSchedule"])
    cluster.node("down", "32", "64Gi", ready=False)
    cluster.pods("web", 1, cpu=cpu)
    return pod(plan_of(cluster.world(), policy(node_group("general", max=max_size))), "shop/web-1")


def test_a_pod_that_fits_no_group_says_what_each_node_has_against_it() -> None:
    """Three nodes are too small, two tainted, one is down."""
    reason = _waiting().reasons[0]
    assert (reason.code, reason.data["nodes"]) == ("NoGroupFits", 6)
    assert reason.data["rejections"] == ("3 NodeResourcesFit", "2 TaintToleration", "1 leaving or not usable")
    assert ", nor does it fit on any of 6 existing nodes: too little free capacity on 3, " in reason.message
    assert reason.message.endswith(", untolerated taint on 2, leaving or not usable on 1")


def test_a_pod_whose_groups_are_exhausted_says_the_same() -> None:
    """The group is at its maximum of 3."""
    reason = _waiting(max_size=3, cpu="4").reasons[0]
    assert reason.code == "GroupsExhausted"
    assert reason.data["rejections"] == ("3 NodeResourcesFit", "2 TaintToleration", "1 leaving or not usable")


def test_a_node_is_counted_once_with_every_rule_that_rejects_it() -> None:
    """Of three nodes, all are too small and two are tainted as well: the numbers add up to three."""
    cluster = ClusterBuilder()
    for name in ("a", "b"):
        cluster.node(name, "1", "1Gi", taints=["dedicated=db:NoSchedule"])
    cluster.node("small", "1", "1Gi")
    cluster.group("general", nodes=0)
    cluster.pods("web", 1, cpu="20")
    reason = pod(plan_of(cluster.world(), policy(node_group("general"))), "shop/web-1").reasons[0]
    assert reason.data["rejections"] == ("2 NodeResourcesFit and TaintToleration", "1 NodeResourcesFit")
    told = "on any of 3 existing nodes: too little free capacity and untolerated taint on 2, too little free capacity on 1"
    assert reason.message.endswith(told)


def test_rare_rejections_share_one_number() -> None:
    """Six kinds of rejection: four are told, the nodes of the other two are counted."""
    reason = NoGroupFits(groups=1, nodes=21, rejections=tuple(f"{number} Rule{number}" for number in range(6, 0, -1)))
    assert reason.sentence().endswith(": Rule6 on 6, Rule5 on 5, Rule4 on 4, Rule3 on 3, other reasons on 3")


@pytest.mark.parametrize(
    ("target", "resource", "key"),
    [
        (
            TargetRef(kind="AutoScalingGroup", region="r", name="g"),
            "example.com/fpga",
            " or the tag k8s.io/cluster-autoscaler/node-template/resources/example.com/fpga",
        ),
        (
            machine_deployment("g"),
            "example.com/fpga",
            " or the annotations capacity.cluster-autoscaler.kubernetes.io/gpu-type: example.com/fpga and "
            "capacity.cluster-autoscaler.kubernetes.io/gpu-count",
        ),
        (
            TargetRef(kind="MachineSet.machine.openshift.io", namespace="n", name="g"),
            "nvidia.com/gpu",
            " or the annotation machine.openshift.io/GPU",
        ),
        (TargetRef(kind="MachineSet.machine.openshift.io", namespace="n", name="g"), "example.com/fpga", ""),
        (TargetRef(kind="NodePool", region="r", name="g"), "nvidia.com/gpu", ""),
    ],
)
def test_a_resource_that_no_group_offers_names_what_would_declare_it(target: TargetRef, resource: str, key: str) -> None:
    """The policy's key, and the platform's own."""
    size = amounts("4", "16Gi", 110)
    facts = TargetFacts(ref=target, replicas=0, template=TargetTemplate(capacity=size, allocatable=size))
    cluster = ClusterBuilder()
    cluster.pods("web", 1, cpu="1", **{resource: 1})
    provider = next(rules.provider for rules in platform_rules() if target.kind in rules.kinds)
    spec = TargetSpec(provider=provider, kind=target.kind, namespace=target.namespace, region=target.region, name=target.name)
    world = msgspec.structs.replace(cluster.world(), targets=(facts,))
    (line,) = plan_of(world, policy(node_group("g", target=spec))).pods
    assert [reason.code for reason in line.reasons] == ["NoGroupFits", "ResourceNotOffered", "GroupRejects"]
    assert line.reasons[1].message == (
        f"no group is known to offer {resource}. If new nodes have it, declare it in "
        f"template.capacity of the policy ({resource}){key}"
    )


def test_a_resource_that_some_group_offers_is_not_told_as_missing() -> None:
    """The pod is too large for it; or its nodes have lost what the template states."""
    cluster = ClusterBuilder()
    cluster.group("cards", nodes=0, gpu=1)
    cluster.group("plain", nodes=0)
    cluster.pods("web", 1, cpu="1", gpu=2)
    (line,) = plan_of(cluster.world(), policy(node_group("cards"), node_group("plain"))).pods
    assert [reason.code for reason in line.reasons] == ["NoGroupFits", "GroupRejects", "GroupRejects"]
