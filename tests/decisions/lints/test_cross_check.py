"""`doctor` lists where empty, ready nodes differ from their group's template, by the rule of the decision."""

import pytest

from reconciler.cluster.target import FieldOwner, TargetTemplate
from reconciler.decisions.lints.cluster import findings
from reconciler.decisions.memory import Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.finding import Finding
from reconciler.policy.documents import TaintSpec, Template
from tests.builders import NOW, ClusterBuilder, amounts, node_group, policy
from tests.decisions.deciding import plan_of, pod
from tests.values import machine_deployment

SIZE = amounts("4", "16Gi", 110)
FAST = Template(labels=(("disk", "fast"),))


def _found(cluster: ClusterBuilder, template: Template | None = None) -> list[Finding]:
    rules = policy(node_group("general", template=template or Template()))
    view = View.of(cluster.world(), rules, Memory(), NOW, Work(10_000))
    return [finding for finding in findings(view) if finding.code == "TemplateRefuted"]


def _empty(*taints: str, nodes: int = 1, **fields: object) -> ClusterBuilder:
    """Empty nodes of 4 cpu, as the target says, which says nothing of taints."""
    cluster = ClusterBuilder()
    template = TargetTemplate(capacity=SIZE, allocatable=SIZE, labels=(("pool", "general"),), origins=("tags",))
    ref = cluster.target("general", nodes, template=template)
    for number in range(1, nodes + 1):
        name = cluster.node(f"general-{number}", labels={"pool": "general"}, taints=taints, **fields)
        cluster.machine(name, ref, node=name)
    return cluster


def test_nodes_that_agree_are_no_finding() -> None:
    assert _found(_empty()) == []


def test_a_label_that_the_node_lacks() -> None:
    """What the finding says is what the plan says of a pod that wants the label."""
    cluster = _empty()
    (finding,) = _found(cluster, FAST)
    assert (finding.object, finding.nodes) == ("NodeGroup general", ("general-1",))
    cluster.pods("web", 1, cpu="1", node_selector={"disk": "fast"})
    said = pod(plan_of(cluster.world(), policy(node_group("general", template=FAST))), "shop/web-1").reasons[-1]
    assert said.code == "TemplateRefuted"
    assert str(said.data["why"]) == "wants disk=fast, but the node has no disk"
    assert finding.message == f"its template accepts pods that its empty, ready node general-1 rejects: {said.data['why']}"


def test_a_taint_that_the_template_lacks() -> None:
    """The policy says that new nodes have none."""
    (finding,) = _found(_empty("dedicated=x:NoSchedule"), Template(taints=()))
    assert "untolerated taint dedicated=x:NoSchedule" in finding.message
    assert "template.startupTaints" in finding.message
    assert (
        _found(_empty("dedicated=x:NoSchedule"), Template(taints=(TaintSpec(key="dedicated", value="x", effect="NoSchedule"),)))
        == []
    )


def test_what_a_static_pod_takes() -> None:
    """2 of 4 cpu and 1 of 16 GiB on a node that is older than the one which new nodes are like."""
    cluster = _empty()
    cluster.pods("static", 1, cpu="2", memory="1Gi", on="general-1", owner=None, traits={"mirror": True})
    assert _found(cluster) == []
    newer = cluster.node("general-2", labels={"pool": "general"})
    cluster.machine(newer, machine_deployment("general"), node=newer)
    cluster.pods("full", 1, cpu="4", on=newer)
    (finding,) = _found(cluster)
    assert finding.message.endswith("rejects: needs 4 cpu (2 free), and needs 16Gi memory (15Gi free)")


def test_what_a_daemonset_takes_is_known() -> None:
    cluster = _empty()
    cluster.daemonset("agent", cpu="500m", memory="1Gi")
    assert _found(cluster) == []


def test_what_the_template_rejects_as_well_is_no_difference() -> None:
    """It takes one pod, which is that of the DaemonSet: no pod depends on the label that the node lacks."""
    cluster = _empty()
    cluster.daemonset("agent")
    size = Template(labels=FAST.labels, capacity=(("pods", 1),))
    assert _found(cluster, size) == []


@pytest.mark.parametrize("witness", ["busy", "not ready", "starting", "another agrees"])
def test_who_is_no_witness(witness: str) -> None:
    """A node with pods, one that is not ready or still starting; and one that agrees is proof enough."""
    taints = ("node.kubernetes.io/not-ready:NoSchedule",) if witness == "starting" else ()
    cluster = _empty(*taints, ready=witness != "not ready")
    if witness == "busy":
        cluster.pods("web", 1, cpu="1", on="general-1")
    if witness == "another agrees":
        cluster.node("general-2", labels={"pool": "general", "disk": "fast"})
        cluster.machine("general-2", cluster.world().targets[0].ref, node="general-2")
    assert _found(cluster, FAST) == []


def test_a_held_group_is_listed_as_well() -> None:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, owners=(FieldOwner(manager="argocd-controller", operation="Apply"),))
    assert plan_of(cluster.world(), policy(node_group("general"))).groups[0].held
    assert [finding.code for finding in _found(cluster, FAST)] == ["TemplateRefuted"]
