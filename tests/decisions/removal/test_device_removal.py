"""Nodes with devices and their removal. Every outcome was worked out by hand first."""

import pytest

from reconciler.cluster.devices.resource_claim import Allocated, Allocation
from reconciler.cluster.devices.resource_slice import Device, ResourceSlice, Where
from reconciler.cluster.pods.pod import ClaimUse
from reconciler.plan.plan import ActionKind, Plan, PodOutcome
from reconciler.policy.documents import ScaleDown
from tests.builders import node_group, policy
from tests.decisions.deciding import blocker_codes, node, of_kind, plan_of, pod
from tests.decisions.device_cluster import DRIVER, DeviceCluster, gpu, only_on, request, slice_of

AT_ONCE = ScaleDown(unneeded_time_seconds=0)


def _plan(cluster: DeviceCluster, **fields: object) -> Plan:
    return plan_of(cluster.world(), policy(node_group("gpu", min=0, max=9, scale_down=AT_ONCE, **fields)))


def _removed(plan: Plan) -> list[str]:
    return [name for action in of_kind(plan, ActionKind.REMOVE_NODE) for name in action.nodes]


def _cluster(nodes: int = 2, devices: int = 4) -> DeviceCluster:
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=nodes, cpu="32", memory="128Gi"), devices)
    return cluster


def test_a_node_leaves_when_its_claims_can_be_placed_elsewhere() -> None:
    """One of four devices is in use on each node, 250 permille: the pod of gpu-1 moves to gpu-2, which then stays."""
    cluster = _cluster()
    cluster.train("a", on={"gpu-1": ["gpu-0"], "gpu-2": ["gpu-0"]})

    plan = _plan(cluster)
    assert _removed(plan) == ["gpu-1"]
    assert node(plan, "gpu-1").utilization_permille == 250
    assert blocker_codes(plan, "gpu-2") == ["ReceivesPods"]


def test_a_claim_that_nothing_else_can_meet_keeps_its_node() -> None:
    """Two of four are in use on gpu-1, three on gpu-2, which is too full to leave: only one of the two pods fits there."""
    cluster = _cluster()
    cluster.train("a", on={"gpu-1": ["gpu-0", "gpu-1"], "gpu-2": ["gpu-0", "gpu-1", "gpu-2"]})

    plan = _plan(cluster)
    assert not plan.actions
    (blocker,) = node(plan, "gpu-1").blockers
    assert blocker.code == "NoPlaceToMove"
    assert blocker.message == (
        "2 pods like it (1000m cpu, 0Mi memory each) do not fit on the other node: "
        "no device that the claim wants on 1. For example, "
        "gpu-2: claim gpu: request r needs 1 of 4 devices here, 0 can be had (4 allocated)"
    )


def test_the_larger_of_devices_and_the_rest_is_the_utilization() -> None:
    """gpu-1: 3 of 4 devices and 3 of 32 cores. gpu-2: 1 of 4 devices and 20 of 32 cores. gpu-3: nothing of either."""
    cluster = _cluster(3)
    cluster.train("few", on={"gpu-1": ["gpu-0", "gpu-1", "gpu-2"]})
    cluster.train("big", on={"gpu-2": ["gpu-0"]}, cpu="20")

    plan = _plan(cluster)
    assert [node(plan, name).utilization_permille for name in ("gpu-1", "gpu-2", "gpu-3")] == [750, 625, 0]
    assert _removed(plan) == ["gpu-3"]


def test_an_idle_node_with_an_allocated_claim_leaves() -> None:
    """Its pod has ended, and the claim controller has not freed the device yet. Cluster Autoscaler kept such nodes for ever."""
    cluster = _cluster(1)
    cluster.claim("c", request(), [("gpu-1", "gpu-0")])

    plan = _plan(cluster)
    assert node(plan, "gpu-1").utilization_permille == 250
    assert _removed(plan) == ["gpu-1"]


def test_an_idle_node_whose_shared_device_is_promised_to_a_pod_stays() -> None:
    """The claim is reserved for a pod that waits: it can run only there."""
    cluster = _cluster(2)
    cluster.claim("c", request(), [("gpu-2", "gpu-0")], reserved_for=("uid-shop-web-1",))
    cluster.pods("web", 1, cpu="1", shape={"claims": (ClaimUse(name="c", claim="c"),)})

    plan = _plan(cluster)
    assert (pod(plan, "shop/web-1").outcome, pod(plan, "shop/web-1").node) == (PodOutcome.FITS_EXISTING, "gpu-2")
    assert blocker_codes(plan, "gpu-2") == ["PendingPods"]
    assert _removed(plan) == ["gpu-1"]


def test_devices_that_a_driver_hides_while_in_use_count() -> None:
    """The slice of gpu-1 has one free device; two more are allocated: 2 of 3 are in use, which is above one half."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=1, cpu="32", memory="128Gi")
    cluster.slices.append(slice_of("gpu-1", [gpu(2)]))
    cluster.train("a", on={"gpu-1": ["gpu-0", "gpu-1"]})

    plan = _plan(cluster)
    assert node(plan, "gpu-1").utilization_permille == 667
    assert blocker_codes(plan, "gpu-1") == ["NotUnderutilized"]


def _divided(node: str) -> tuple[ResourceSlice, ResourceSlice]:
    """Four GPUs of 40 units, whole or as 4 parts of 10 (`gpu-0-p0`), and two NICs without counters."""
    sets = tuple((f"gpu-{number}", (("memory", 40_000), ("copies", 4_000))) for number in range(4))
    devices = []
    for name, counters in sets:
        devices.append(Device(name=name, counters=((name, counters),)))
        part = (("memory", 10_000),)
        devices += [Device(name=f"{name}-p{number}", counters=((name, part),)) for number in range(4)]
    devices += [Device(name=f"nic-{number}") for number in range(2)]
    first = slice_of(node, (), name=f"{node}-0", slice_count=2, counter_sets=sets)
    return first, slice_of(node, devices, name=f"{node}-1", slice_count=2)


@pytest.mark.parametrize(
    ("used", "permille"),
    [
        (["gpu-0-p0"], 42),  # a quarter of one of six: 4 GPUs and 2 NICs
        (["gpu-0"], 167),
        (["gpu-0", "gpu-1-p0", "gpu-1-p1", "gpu-1-p2"], 292),  # 1 + 3/4 of six
        (["nic-0"], 167),
        (["nic-0", "gpu-0"], 334),
        (["gone"], 143),  # hidden by the driver: one of seven
        (["gpu-0", "gpu-1", "gpu-2", "gpu-3", "nic-0", "nic-1"], 1000),
    ],
)
def test_utilization_of_devices_that_are_divided(used: list[str], permille: int) -> None:
    """Each counter set counts as one device, in use by the share of its fullest counter; so do devices without counters."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=1, cpu="1000", memory="1280Gi")
    cluster.slices.extend(_divided("gpu-1"))
    cluster.train("a", on={"gpu-1": used}, cpu="1m")

    assert node(_plan(cluster), "gpu-1").utilization_permille == permille


def test_a_node_with_an_incomplete_pool_stays_while_a_device_is_in_use() -> None:
    """One of two slices is there. Nobody knows how many devices the node has, nor do its pods get others of that pool."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=2, cpu="32", memory="128Gi")
    cluster.gpus(["gpu-2"], 4)
    cluster.slices.append(slice_of("gpu-1", [gpu(number) for number in range(4)], slice_count=2))
    cluster.train("a", on={"gpu-1": ["gpu-0"], "gpu-2": ["gpu-0"]})

    plan = _plan(cluster)
    assert node(plan, "gpu-1").utilization_permille == 1000
    assert blocker_codes(plan, "gpu-1") == ["NotUnderutilized"]
    # And the pod of gpu-2 finds no device on gpu-1.
    assert blocker_codes(plan, "gpu-2") == ["NoPlaceToMove"]


def test_an_idle_node_with_an_incomplete_pool_leaves() -> None:
    """Nothing on it is in use."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=1, cpu="32", memory="128Gi")
    cluster.slices.append(slice_of("gpu-1", [gpu(0)], slice_count=2))

    assert _removed(_plan(cluster)) == ["gpu-1"]


@pytest.mark.parametrize(("cpu", "removed"), [("4", ["gpu-1"]), ("20", [])])
def test_a_claim_that_pods_on_two_nodes_share(cpu: str, removed: list[str]) -> None:
    """A device that gpu-1 and gpu-2 reach, and gpu-3 does not. While its pod on gpu-2 runs, that of gpu-1 can move only there: it
    fits beside 4 cores, and not beside 20 and its own 14 of 32."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=3, cpu="32", memory="128Gi")
    terms = (*only_on("gpu-1"), *only_on("gpu-2"))
    cluster.slices.append(slice_of("net", [gpu(0)], where=Where(terms=terms)))
    has = Allocation(devices=(Allocated(driver=DRIVER, pool="net", device="gpu-0"),), terms=terms)
    users = ("uid-shop-web-1", "uid-shop-web-2")
    cluster.claim("c", request(), reserved_for=users, allocation=has)
    uses = {"claims": (ClaimUse(name="c", claim="c"),)}
    cluster.pods("web", 2, cpu="14", on=["gpu-1", "gpu-2"], shape=uses)
    cluster.pods("other", 1, cpu=cpu, on="gpu-2", owner=None)
    cluster.pods("far", 1, cpu="17", on="gpu-3")

    plan = _plan(cluster)
    assert _removed(plan) == removed
    if not removed:
        (blocker,) = node(plan, "gpu-1").blockers
        assert "no device that the claim wants on 1" in blocker.message


def test_pods_that_share_a_claim_move_together() -> None:
    """Both pods of the claim are on gpu-1; its one device is allocated again on gpu-2, where one is left."""
    cluster = _cluster(2)
    cluster.claim("c", request(), [("gpu-1", "gpu-3")], reserved_for=("uid-shop-web-1", "uid-shop-web-2"))
    cluster.pods("web", 2, cpu="1", on="gpu-1", shape={"claims": (ClaimUse(name="c", claim="c"),)})
    cluster.train("a", on={"gpu-2": ["gpu-0", "gpu-1", "gpu-2"]})
    assert _removed(_plan(cluster)) == ["gpu-1"]

    cluster.train("b", on={"gpu-2": ["gpu-3"]})
    assert blocker_codes(_plan(cluster), "gpu-1") == ["NoPlaceToMove"]


def test_a_pod_that_needs_another_model_keeps_its_node() -> None:
    """The reason names the selector that refuses the devices elsewhere."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=2, cpu="32", memory="128Gi")
    cluster.slices += [slice_of("gpu-1", [gpu(n, "h100") for n in range(4)]), slice_of("gpu-2", [gpu(n) for n in range(4)])]
    cluster.train("a", wanted=request(1, f'device.attributes["{DRIVER}"].model == "h100"'), on={"gpu-1": ["gpu-0"]})
    cluster.train("b", on={"gpu-2": ["gpu-0", "gpu-1", "gpu-2"]})

    (blocker,) = node(_plan(cluster), "gpu-1").blockers
    assert "(4 not selected by selector 1 of request r)" in blocker.message


@pytest.mark.parametrize(
    ("wanted", "captured", "leaves"),
    [(1, True, True), (4, True, False), (None, True, False), (None, False, True)],
    ids=["as it was", "made anew and larger", "gone", "not read"],
)
def test_a_pod_moves_with_the_claim_that_its_template_gives_now(wanted: int | None, captured: bool, leaves: bool) -> None:
    """gpu-2 has three of four devices left. kube-scheduler would refuse a replacement that asks for four, and nobody makes the
    claim of one whose template is gone. Who may not read templates judges by the claim that the pod has."""
    cluster = _cluster()
    if wanted is not None:
        cluster.template("one", request(wanted))
    for number in (1, 2):
        uid, claim = f"uid-shop-a{number}-1", f"a{number}-gpu-x"
        use = ClaimUse(name="gpu", claim=claim, generated=True, template="one")
        cluster.pods(f"a{number}", 1, on=f"gpu-{number}", cpu="1", shape={"claims": (use,)})
        cluster.claim(claim, request(), [(f"gpu-{number}", "gpu-0")], owner_uid=uid, reserved_for=(uid,))
    world = cluster.world()
    if not captured:
        kinds = tuple(kind for kind in world.captured if kind != "ResourceClaimTemplate")
        world = cluster.world(captured=kinds, claim_templates=())
    plan = plan_of(world, policy(node_group("gpu", min=0, max=9, scale_down=AT_ONCE)))
    assert _removed(plan) == (["gpu-1"] if leaves else [])
