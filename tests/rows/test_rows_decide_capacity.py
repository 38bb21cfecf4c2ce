"""Rows about machines that come and go by themselves, sizes and reserves, and labels that were renamed."""

import msgspec
import pytest

from reconciler.cluster.pods.pod import AffinityTerm
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.lints.cluster import findings
from reconciler.decisions.memory import BackoffState, Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.finding import Finding
from reconciler.platforms.aws.facts import group as autoscalinggroup
from reconciler.platforms.aws.facts import wire
from reconciler.policy.documents import Budget, Limit, NodeGroup, Template
from reconciler.policy.values.label_selector import Selector
from tests.builders import NOW, ClusterBuilder, node_group, policy, selector
from tests.decisions.deciding import codes, group, node, plan_of

ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"


def _found(world: World, *groups: NodeGroup, limits: tuple[Limit, ...] = ()) -> dict[str, Finding]:
    rules = policy(*groups, limits=limits)
    return {found.code: found for found in findings(View.of(world, rules, Memory(), NOW, Work(10_000)))}


def test_s002_a_replacement_is_told_as_what_the_desired_count_causes() -> None:
    """One of two nodes was deleted by hand; the size did not change, so the new machine is the target's own doing."""
    cluster = ClusterBuilder()
    cluster.pods("web", 2, cpu="4", on=list(cluster.group("general", nodes=2)))
    _, memory = decide(cluster.world(), policy(node_group("general")), Memory(), NOW)
    later = ClusterBuilder(now=NOW + 600)
    later.pods("web", 1, cpu="4", on=list(later.group("general", nodes=1, replicas=2)))
    later.machine("general-9", later.world().targets[0].ref, created=NOW + 500)
    plan, _ = decide(later.world(), policy(node_group("general")), memory, NOW + 600)
    (reason,) = [reason for reason in group(plan, "general").reasons if reason.code == "Replaced"]
    assert reason.message.startswith("the target created 1 machine (general-9) to replace lost nodes: it keeps 2 replicas")
    asked, _ = decide(later.world(), policy(node_group("general")), Memory(), NOW + 600)
    assert "Replaced" not in codes(group(asked, "general"))


@pytest.mark.parametrize(("most", "warned"), [(2, True), (3, False)])
def test_s005_a_replacement_may_take_the_reserved_slot_of_a_stopped_node(most: int, warned: bool) -> None:
    """Two reserved machines, one of them stopped: with a reserve of two its slot is at risk, with three it is not."""
    cluster = ClusterBuilder()
    names = cluster.group("reserved", nodes=2)
    cluster.node(names[1], labels={"pool": "reserved"}, ready=False)
    found = _found(cluster.world(), node_group("reserved"), limits=(Limit(name="reserve", max=(("nodes", most),)),))
    assert ("ReservedSlotAtRisk" in found) is warned


def test_s027_the_rules_that_reject_a_pod_elsewhere_are_named_with_their_number() -> None:
    """Two full nodes and one with a taint: none of the three takes the pod, and the blocker says on how many by which rule."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    cluster.node("db", "32", "64Gi", taints=["dedicated=db:NoSchedule"])
    cluster.pods("base", 2, cpu="3500m", on=["general-2", "general-3"], traits={"safe_to_evict": "false"})
    cluster.pods("web", 1, cpu="1", on="general-1")
    plan = plan_of(cluster.world(), policy(node_group("general")))
    (blocker,) = node(plan, "general-1").blockers
    assert blocker.code == "NoPlaceToMove"
    assert blocker.message.endswith("does not fit on the other 3 nodes: too little free capacity on 2, untolerated taint on 1")


@pytest.mark.parametrize(("cores", "warned"), [(39, True), (40, False)])
def test_s033_a_quota_below_what_the_groups_may_grow_to(cores: int, warned: bool) -> None:
    """Ten machines of 4 cores need a quota of 40; the quota is written as a limit."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    limit = Limit(name="quota", max=(("cpu", cores * 1000),))
    assert ("LimitBelowGroups" in _found(cluster.world(), node_group("general", max=10), limits=(limit,))) is warned


def _two_sizes(cpu: str, memory: str, gpu: int = 0, template: Template | None = None) -> dict[str, Finding]:
    cluster = ClusterBuilder()
    ref = cluster.target("mixed", 2)
    for name, size in (("n1", ("4", "16Gi", 0)), ("n2", (cpu, memory, gpu))):
        cluster.node(name, size[0], size[1], gpu=size[2])
        cluster.machine(name, ref, node=name)
    return _found(cluster.world(), node_group("mixed", template=template or Template()))


@pytest.mark.parametrize(
    ("size", "warned"),
    [
        (("4", "16Gi", 0), False),
        (("4", "16280Mi", 0), False),
        (("8", "16Gi", 0), True),
        (("4", "32Gi", 0), True),
        (("4", "16Gi", 1), True),
    ],
)
def test_s054_machine_types_of_one_group_have_one_size(size: tuple[str, str, int], warned: bool) -> None:
    """Cores, memory (0.6 % is no difference) and GPUs."""
    assert ("MixedSizes" in _two_sizes(*size)) is warned


def test_s056_larger_types_waste_and_smaller_ones_leave_pods_without_a_place() -> None:
    """The group is taken to offer 4 cores: a node of 8 is larger, one of 2 smaller."""
    stated = Template(capacity=(("cpu", 4000), ("memory", 16 << 30), ("pods", 110)))
    assert "LargerThanTemplate" in _two_sizes("8", "16Gi", template=stated)
    assert "SmallerThanTemplate" in _two_sizes("2", "16Gi", template=stated)
    assert not {"LargerThanTemplate", "SmallerThanTemplate"} & _two_sizes("4", "16Gi", template=stated).keys()


@pytest.mark.parametrize(("both", "grown"), [(True, 1), (False, 0)])
def test_s061_the_old_zone_label_stands_for_the_new_one(both: bool, grown: int) -> None:
    """A pod that keeps apart by the old zone label: a new node has that too where nodes carry both with one value."""
    cluster = ClusterBuilder()
    cluster.node("other", "1", "1Gi", labels={ZONE: "a", **({OLD_ZONE: "a"} if both else {})})
    cluster.group("general", nodes=0, labels={ZONE: "b"})
    term = AffinityTerm(topology_key=OLD_ZONE, selector=selector(app="web"), namespaces=("shop",))
    cluster.pods("web", 1, cpu="4", shape={"affinity": (term,)})
    assert group(plan_of(cluster.world(), policy(node_group("general"))), "general").desired == grown


@pytest.mark.parametrize(("gpu", "failures", "said"), [(0, 0, False), (1, 0, True), (0, 2, True)])
def test_s070_a_scarce_group_that_goes_to_zero_says_so(gpu: int, failures: int, said: bool) -> None:
    """Machines with accelerators, or such as could not be had a while ago."""
    cluster = ClusterBuilder()
    cluster.group("scarce", nodes=1, gpu=gpu)
    state = BackoffState(failures=failures, failed_seconds=NOW - 3600, until_seconds=NOW - 1800)
    memory = Memory(unneeded_since={"scarce-1": NOW - 3600}, backoffs={"scarce": state} if failures else {})
    plan = plan_of(cluster.world(), policy(node_group("scarce"), budgets=(Budget(nodes=9),)), memory)
    assert group(plan, "scarce").desired == 0
    assert ("MayNotReturn" in codes(group(plan, "scarce"))) is said


@pytest.mark.parametrize(("teams", "warned"), [("abcd", True), ("abc", False)])
def test_s077_a_group_for_each_team(teams: str, warned: bool) -> None:
    """Four groups of one size that differ in the value of one taint."""
    cluster = ClusterBuilder()
    for team in teams:
        cluster.group(team, nodes=0, taints=[f"team={team}:NoSchedule"])
    assert ("GroupPerTenant" in _found(cluster.world(), *(node_group(team) for team in teams))) is warned


@pytest.mark.parametrize(("base", "above", "warned"), [(2, 0, True), (0, 0, False), (2, 100, False)])
def test_s088_on_demand_and_spot_machines_in_one_group(base: int, above: int, warned: bool) -> None:
    """An on-demand base of two with spot machines above it; all on demand is no mixture."""
    answer = {
        "AutoScalingGroupName": "mixed",
        "MinSize": 0,
        "MaxSize": 9,
        "DesiredCapacity": 3,
        "AutoScalingGroupARN": "arn:aws:autoscaling:eu-central-1:1:autoScalingGroup:x:autoScalingGroupName/mixed",
        "MixedInstancesPolicy": {
            "InstancesDistribution": {"OnDemandBaseCapacity": base, "OnDemandPercentageAboveBaseCapacity": above}
        },
    }
    facts = autoscalinggroup.facts(msgspec.convert(answer, wire.AutoScalingGroup))
    cluster = ClusterBuilder()
    cluster.group("mixed", nodes=0)
    world = cluster.world()
    targets = (msgspec.structs.replace(world.targets[0], on_demand_base=facts.on_demand_base),)
    assert ("OnDemandBase" in _found(msgspec.structs.replace(world, targets=targets), node_group("mixed"))) is warned


@pytest.mark.parametrize(("kind", "warned"), [("h100", False), ("h-100", True)])
def test_s134_a_limit_by_a_type_of_accelerator_that_nobody_carries(kind: str, warned: bool) -> None:
    """The nodes say h100; a limit on h-100 counts none of them."""
    cluster = ClusterBuilder()
    cluster.group("gpu", nodes=1, gpu=8, labels={"cluster-api/accelerator": "h100"})
    cards = Limit(name="cards", nodes=Selector(match_labels=(("cluster-api/accelerator", kind),)), max=(("nvidia.com/gpu", 64),))
    assert ("AcceleratorTypeUnknown" in _found(cluster.world(), node_group("gpu", max=8), limits=(cards,))) is warned
