"""Claims that are not made yet ask for what their templates say. Every number was worked out by hand first."""

import random
from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from reconciler.cluster.nodes.node import HOSTNAME_LABEL
from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import NodeState, Plan, PodOutcome
from reconciler.policy.documents import (
    BufferReading,
    DeviceAttribute,
    HeadroomFrom,
    PolicySet,
    RequestReading,
    RequestsFrom,
    ScaleDown,
    Template,
    TemplateDevices,
)
from reconciler.simulation.settled import settled
from tests.builders import NOW, node_group, policy
from tests.decisions.deciding import codes, group, node, plan_of, pod
from tests.decisions.device_cluster import DRIVER, DeviceCluster, gpu, request, slice_of
from tests.scheduling.fitting_devices import one_by_one, random_request

H100 = f'device.attributes["{DRIVER}"].model == "h100"'


def _rules(devices: int = 4, **fields: object) -> PolicySet:
    """One group, whose nodes come with so many h100."""
    model = DeviceAttribute(name="model", text="h100")
    declared = TemplateDevices(name="gpu", driver=DRIVER, count=devices, attributes=(model,), capacity=(("memory", "40Gi"),))
    return policy(node_group("gpu", min=0, max=9, template=Template(devices=(declared,))), **fields)


def _from_zero() -> DeviceCluster:
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=0, cpu="64", memory="256Gi")
    return cluster


def _nodes(cluster: DeviceCluster, pods: int, wanted: int = 1) -> int:
    """Of the group from zero, for pods whose claims are made."""
    cluster.train("wait", pods, request(wanted))
    plan = plan_of(cluster.world(), _rules())
    assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP}
    return group(plan, "gpu").desired


# DaemonSets.


@pytest.mark.parametrize(("pods", "nodes"), [(9, 3), (10, 4), (12, 4)])
def test_the_pod_of_a_daemon_set_takes_its_devices_first(pods: int, nodes: int) -> None:
    """Nodes with 4 devices, of which the DaemonSet takes one: three pods a node. Without it, 12 pods would need 3 nodes."""
    cluster = _from_zero()
    cluster.agent("agent")
    assert _nodes(cluster, pods) == nodes


def test_a_node_of_the_group_as_sample_is_charged_as_well() -> None:
    """The node has 4 devices: one of the DaemonSet's pod and three of others. Of 4 pods that wait, 3 fit on each new node."""
    cluster = DeviceCluster()
    use = cluster.template("agent")
    cluster.daemonset("agent", namespace="shop", claims=(use,))
    cluster.gpus(cluster.group("gpu", nodes=1, cpu="64", memory="256Gi"), 4)
    cluster.train("agent-gpu", on={"gpu-1": ["gpu-0"]}, owner="DaemonSet")
    cluster.train("run", on={"gpu-1": ["gpu-1", "gpu-2", "gpu-3"]})
    cluster.train("wait", 4)
    plan = plan_of(cluster.world(), policy(node_group("gpu", min=0, max=9)))
    assert group(plan, "gpu").desired == 3


@pytest.mark.parametrize(
    "wanted",
    [request(5), request(1, H100.replace("h100", "a100")), request(device_class="none")],
    ids=["too many", "another model", "a class that does not exist"],
)
def test_a_daemon_set_that_gets_no_devices_leaves_the_group_usable(wanted: object) -> None:
    """Its pod would wait on every node, as one that asks for too much cpu. So 8 pods need 2 nodes of 4 devices."""
    cluster = _from_zero()
    cluster.agent("agent", wanted)  # type: ignore[arg-type]
    assert _nodes(cluster, 8) == 2


def test_devices_elsewhere_do_not_matter_to_the_pod_of_a_daemon_set() -> None:
    """Its selector fails on a device of another node. For other pods kube-scheduler would give up the attempt. The pod of a
    DaemonSet names its node, so that no other one is looked at. 10 pods need 4 nodes of 3 free devices each."""
    cluster = _from_zero()
    cluster.agent("agent", request(1, H100))
    cluster.node("old", labels={"pool": "old"})
    cluster.slices.append(slice_of("old", [gpu(0, attributes=())]))
    cluster.train("wait", 10, node_selector={"pool": "gpu"})
    plan = plan_of(cluster.world(), _rules())
    assert group(plan, "gpu").desired == 4
    assert not plan.problems


def test_of_two_daemon_sets_the_second_gets_what_the_first_leaves() -> None:
    """a takes 3 of 4 devices, so that b, which wants 2, waits. One device is left for others."""
    cluster = _from_zero()
    cluster.agent("a", request(3))
    cluster.agent("b", request(2))
    assert _nodes(cluster, 2) == 2


def test_admin_access_takes_no_device() -> None:
    """What monitors all devices leaves them to others: 8 pods on 2 nodes."""
    cluster = _from_zero()
    cluster.agent("agent", request(0, mode="All", admin=True))
    assert _nodes(cluster, 8) == 2


@pytest.mark.parametrize(("captured", "why"), [(True, "does not exist"), (False, "was not captured")])
def test_a_daemon_set_whose_template_is_unknown_is_left_out(captured: bool, why: str) -> None:
    """Nobody makes its claim, or nobody here knows what it asks for. The group grows without it, and the plan says so."""
    cluster = _from_zero()
    cluster.agent("agent")
    cluster.daemonset("plain")
    cluster.train("wait", 8)
    plan = plan_of(_gone(cluster.world()) if captured else _without_templates(cluster.world()), _rules())
    assert group(plan, "gpu").desired == 2
    (problem,) = plan.problems
    assert (problem.code, problem.object) == ("DaemonSetNotCounted", "DaemonSet shop/agent")
    assert problem.message == (
        "its pods are counted on no new node: DynamicResources (a claim that is not made yet, ResourceClaimTemplate shop/agent "
        f"{why})"
    )


def test_nodes_that_are_on_their_way_are_charged() -> None:
    """Two are asked for, and have room for 6 of 7 pods. One more comes for the seventh."""
    cluster = DeviceCluster()
    cluster.agent("agent")
    cluster.group("gpu", nodes=0, replicas=2, cpu="64", memory="256Gi")
    for number in range(2):
        cluster.machine(f"gpu-{number}", next(iter(cluster.world().targets)).ref, created=NOW - 60)
    cluster.train("wait", 7)
    plan = plan_of(cluster.world(), _rules())
    assert group(plan, "gpu").desired == 3
    outcomes = [line.outcome for line in plan.pods]
    assert (outcomes.count(PodOutcome.FITS_UPCOMING), outcomes.count(PodOutcome.TRIGGERS_SCALE_UP)) == (6, 1)


def test_a_node_whose_driver_is_late_is_charged() -> None:
    """It came a minute ago without slices, and the pod of the DaemonSet waits there. It counts with 3 of its 4 devices."""
    cluster = DeviceCluster()
    cluster.agent("agent")
    cluster.group("gpu", nodes=1, cpu="64", memory="256Gi", created=NOW - 60)
    cluster.train("agent-gpu", 1, owner="DaemonSet", node_selector={HOSTNAME_LABEL: "gpu-1"})
    cluster.train("wait", 4)
    plan = plan_of(cluster.world(), _rules())
    assert node(plan, "gpu-1").state is NodeState.NOT_STARTED
    assert group(plan, "gpu").desired == 2
    outcomes = [line.outcome for line in plan.pods if "wait" in line.pod]
    assert (outcomes.count(PodOutcome.FITS_UPCOMING), outcomes.count(PodOutcome.TRIGGERS_SCALE_UP)) == (3, 1)


def test_an_empty_node_leaves_with_the_device_of_its_daemon_set() -> None:
    """Only the pod of the DaemonSet is there, which goes down with the node."""
    cluster = DeviceCluster()
    cluster.agent("agent")
    cluster.gpus(cluster.group("gpu", nodes=1, cpu="64", memory="256Gi"), 4)
    cluster.train("agent-gpu", on={"gpu-1": ["gpu-0"]}, owner="DaemonSet")
    rules = policy(node_group("gpu", min=0, max=9, scale_down=ScaleDown(unneeded_time_seconds=0)))
    assert group(plan_of(cluster.world(), rules), "gpu").desired == 0


def test_the_steady_state_has_the_pods_of_the_daemon_set() -> None:
    """10 pods run on 4 nodes in the end, and no node leaves again."""
    cluster = _from_zero()
    cluster.agent("agent")
    cluster.train("wait", 10)
    world = cluster.world()
    plan = settled(world, _rules(), Memory(), NOW, plan_of(world, _rules()))
    assert (group(plan, "gpu").desired, group(plan, "gpu").settled) == (4, 4)


# Pods that were just created.


def test_pods_whose_claims_are_not_made_yet_are_placed() -> None:
    """8 pods at once: two devices are left, and nodes of the group have 4. Two fit, six need two nodes."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=1, cpu="64", memory="256Gi"), 4, "h100")
    cluster.train("run", on={"gpu-1": ["gpu-0", "gpu-1"]})
    cluster.pods("wait", 8, cpu="1", shape={"claims": (cluster.template("one", request(1, H100)),)})
    plan = plan_of(cluster.world(), _rules())
    assert group(plan, "gpu").desired == 3
    outcomes = [line.outcome for line in plan.pods]
    assert (outcomes.count(PodOutcome.FITS_EXISTING), outcomes.count(PodOutcome.TRIGGERS_SCALE_UP)) == (2, 6)


def test_a_claim_that_is_gone_is_made_again() -> None:
    """Source: `handleClaim` of the claim controller. The status of the pod names it, and somebody deleted it."""
    cluster = _from_zero()
    use = cluster.template("one", request(4))
    cluster.pods("wait", 2, cpu="1", shape={"claims": (msgspec.structs.replace(use, claim="wait-gpu-abc"),)})
    assert group(plan_of(cluster.world(), _rules()), "gpu").desired == 2


def test_a_claim_that_is_made_and_that_the_pod_does_not_name_yet() -> None:
    """Source: `findPodResourceClaim` of the claim controller. Pods and claims are watched apart, so that a pod may be seen as it
    was before. Its claim has the only device of gpu-1, which counts once: the pod runs there, and no node is added."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=1, cpu="64", memory="256Gi"), 1, "h100")
    cluster.pods("wait", 1, cpu="1", shape={"claims": (cluster.template("one"),)})
    uid = "uid-shop-wait-1"
    cluster.claim("wait-1-gpu-x", request(), [("gpu-1", "gpu-0")], owner_uid=uid, made_for="gpu", reserved_for=(uid,))
    plan = plan_of(cluster.world(), _rules(1))
    assert (pod(plan, "shop/wait-1").outcome, pod(plan, "shop/wait-1").node) == (PodOutcome.FITS_EXISTING, "gpu-1")
    assert group(plan, "gpu").desired == 1


def _without_templates(world: World) -> World:
    """As of a cluster whose templates may not be read."""
    kinds = tuple(kind for kind in world.captured if kind != "ResourceClaimTemplate")
    return msgspec.structs.replace(world, claim_templates=(), captured=kinds)


def _gone(world: World) -> World:
    return msgspec.structs.replace(world, claim_templates=())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_gone, "a claim that is not made yet, ResourceClaimTemplate shop/one does not exist"),
        (_without_templates, "a claim that is not made yet, ResourceClaimTemplate shop/one was not captured"),
    ],
)
def test_a_template_that_nobody_knows_is_named(change: Callable[[World], World], why: str) -> None:
    """kube-scheduler waits for the claim, and no node is added."""
    cluster = _from_zero()
    cluster.pods("wait", 1, cpu="1", shape={"claims": (cluster.template("one"),)})
    plan = plan_of(change(cluster.world()), _rules())
    line = pod(plan, "shop/wait-1")
    assert line.outcome is PodOutcome.NOT_MODELLED
    assert why in line.reasons[0].message
    assert not plan.actions


def test_a_template_of_another_namespace_does_not_count() -> None:
    """A pod finds those of its own namespace alone."""
    cluster = _from_zero()
    cluster.pods("wait", 1, cpu="1", namespace="other", shape={"claims": (cluster.template("one"),)})
    (line,) = plan_of(cluster.world(), _rules()).pods
    assert "ResourceClaimTemplate other/one does not exist" in line.reasons[0].message


# Room that is asked for.


def _one_in_use() -> DeviceCluster:
    """A node with 4 devices, one of which a pod has."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=1, cpu="64", memory="256Gi"), 4, "h100")
    cluster.train("run", on={"gpu-1": ["gpu-0"]}, traits={"safe_to_evict": "false"})
    return cluster


def test_a_buffer_of_pods_with_claims() -> None:
    """Room for 5 pods of a device each: 3 devices are free, and a new node has room for the other two."""
    cluster = _one_in_use()
    cluster.buffer("spare", 5, cpu="1", shape={"claims": (cluster.template("one"),)})
    plan = plan_of(cluster.world(), _rules(headroom_from=HeadroomFrom(capacity_buffers=BufferReading.READ)))
    line = group(plan, "gpu")
    assert (line.desired, codes(line)) == (2, ["Headroom"])
    assert (line.reasons[0].data["wanted"], line.reasons[0].data["free"]) == (5, 3)


def _requested(pods: int, wanted: int = 1) -> Plan:
    cluster = _one_in_use()
    use = cluster.template("one", request(wanted), "ml")
    cluster.request("train", (pods, "1"), shape={"claims": (use,)})
    return plan_of(cluster.world(), _rules(requests_from=RequestsFrom(provisioning_requests=RequestReading.READ)))


def test_a_provisioning_request_of_pods_with_claims() -> None:
    """8 pods of a device each: 3 fit now, 5 on two new nodes."""
    plan = _requested(8)
    assert group(plan, "gpu").desired == 3
    (line,) = plan.request_lines
    assert (line.fits, line.requested) == (3, 5)


def test_a_provisioning_request_that_no_node_can_meet_brings_none() -> None:
    """5 devices for one pod, where nodes have 4."""
    plan = _requested(2, wanted=5)
    assert not plan.actions
    (line,) = plan.request_lines
    assert (line.fits, line.requested) == (0, 0)


# Against `fit`, on the nodes that the plan asked for.


def test_what_is_promised_runs_after_the_pods_of_daemon_sets() -> None:
    """Random DaemonSets and kinds of pods, none of whose claims are made. On as many real nodes, with all claims made, each
    DaemonSet's pod comes first; `fit` then finds a place for every pod that was promised one."""
    promised = displaced = 0
    while promised < 60 or displaced < 20:
        seed = random.randrange(1 << 32)
        rng = random.Random(seed)
        devices = rng.randint(1, 6)
        agents = [random_request(rng) for _ in range(rng.randint(0, 2))]
        kinds = [(random_request(rng), rng.randint(1, 6)) for _ in range(rng.randint(1, 3))]
        before = _from_zero()
        for number, wanted in enumerate(agents):
            before.agent(f"agent{number}", wanted)
        for number, (wanted, count) in enumerate(kinds):
            before.pods(f"kind{number}", count, cpu="1", shape={"claims": (before.template(f"kind{number}", wanted),)})
        plan = plan_of(before.world(), _rules(devices))
        lines = Counter(line.pod.split("-")[0] for line in plan.pods if line.outcome is PodOutcome.TRIGGERS_SCALE_UP)
        after = DeviceCluster()
        nodes = after.group("gpu", nodes=group(plan, "gpu").desired, cpu="64", memory="256Gi")
        after.gpus(nodes, devices, "h100")
        for number, wanted in enumerate(agents):
            for name in nodes:
                after.train(f"agent{number}-{name}", 1, wanted, node_selector={HOSTNAME_LABEL: name})
        for number, (wanted, _) in enumerate(kinds):
            after.train(f"kind{number}", lines[f"shop/kind{number}"], wanted)
        world = after.world()
        places = dict(zip(world.pods.name, one_by_one(world), strict=True))
        assert all(place >= 0 for name, place in places.items() if name.startswith("kind")), seed
        promised += lines.total()
        displaced += sum(place >= 0 for name, place in places.items() if name.startswith("agent"))
