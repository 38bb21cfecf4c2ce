"""Extended resources that a device class serves, in whole decisions. Every outcome was worked out by hand first."""

import msgspec

from reconciler.cluster.world import World
from reconciler.plan.plan import ActionKind, Plan, PodOutcome
from reconciler.policy.documents import DeviceAttribute, Headroom, HeadroomPods, Limit, ScaleDown, Template, TemplateDevices
from reconciler.scheduling.fit import fit
from tests.builders import NOW, node_group, policy
from tests.decisions.deciding import blocker_codes, codes, group, node, of_kind, plan_of, pod
from tests.decisions.device_cluster import CARD, DRIVER, IMPLICIT, SERVING, DeviceCluster, gpu, request, slice_of

AT_ONCE = ScaleDown(unneeded_time_seconds=0)
NVIDIA = "nvidia.com/gpu"


def _world(cluster: DeviceCluster, name: str = CARD) -> World:
    return cluster.world(device_classes=(msgspec.structs.replace(SERVING, extended_resource=name),))


def _plan(cluster: DeviceCluster, **fields: object) -> Plan:
    return plan_of(_world(cluster), policy(node_group("gpu", **{"min": 0, "max": 9, **fields})))


def _declared(count: int) -> Template:
    model = DeviceAttribute(name="model", text="h100")
    return Template(devices=(TemplateDevices(name="gpu", driver=DRIVER, count=count, attributes=(model,)),))


def _outcomes(plan: Plan) -> dict[str, tuple[PodOutcome, str | None]]:
    return {line.pod.removeprefix("shop/"): (line.outcome, line.node or line.group) for line in plan.pods}


def test_pods_go_where_devices_are_left() -> None:
    """gpu-1 has one of two devices left, gpu-2 both: three of four pods fit, by first fit. One is for a new node like these."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=2, cpu="32"), 2)
    cluster.cards("run", on={"gpu-1": ["gpu-0"]})
    cluster.cards("wait", 4)

    assert _outcomes(_plan(cluster)) == {
        "wait-1": (PodOutcome.FITS_EXISTING, "gpu-1"),
        "wait-2": (PodOutcome.FITS_EXISTING, "gpu-2"),
        "wait-3": (PodOutcome.FITS_EXISTING, "gpu-2"),
        "wait-4": (PodOutcome.TRIGGERS_SCALE_UP, "gpu"),
    }


def test_a_running_pod_of_the_same_kind_does_not_concern_those_that_wait() -> None:
    """Its claim is its own. kube-scheduler finds the claims of the pod that it places, by their owner."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=1, cpu="32"), 2)
    cluster.cards("web", on={"gpu-1": ["gpu-0"]})
    cluster.cards("web-new", 1, labels={"app": "web"})

    (answer,) = fit(_world(cluster))
    assert [(one.node, one.rejections) for one in answer.nodes] == [("gpu-1", ())]
    assert _outcomes(_plan(cluster)) == {"web-new-1": (PodOutcome.FITS_EXISTING, "gpu-1")}


def test_a_group_without_nodes_grows_by_the_devices_that_its_policy_declares() -> None:
    """17 pods with one device each, 8 devices per node: 3 nodes. By the name that every class has, it is the same."""
    for name in (CARD, IMPLICIT):
        cluster = DeviceCluster()
        cluster.group("gpu", nodes=0, cpu="64", memory="256Gi")
        cluster.pods("wait", 17, cpu="1", **{name: 1})

        plan = _plan(cluster, template=_declared(8))
        assert group(plan, "gpu").desired == 3
        assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP}


def test_a_group_without_devices_does_not_grow() -> None:
    """The reason says what is missing, and where to declare it. Too few devices are another reason than none."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=0, cpu="64", memory="256Gi")
    cluster.cards("wait", 1)

    plan = _plan(cluster)
    assert group(plan, "gpu").desired == 0
    (line,) = plan.pods
    assert line.outcome is PodOutcome.UNPLACEABLE
    lacking, rejecting = line.reasons[1:]
    assert lacking.message.startswith(
        f"no group is known to offer {CARD}. If new nodes have it, declare it in template.devices of the policy or "
        f"template.capacity of the policy ({CARD}) or "
    )
    assert rejecting.message == (
        f"gpu: claim extended resources: request {CARD} needs 1 of 0 devices here, 0 can be had [DynamicResources]"
    )

    cluster = DeviceCluster()
    cluster.group("gpu", nodes=0, cpu="64", memory="256Gi")
    cluster.cards("wait", 1, **{CARD: 3})
    (line,) = _plan(cluster, template=_declared(2)).pods
    assert [one.code for one in line.reasons[1:]] == ["GroupRejects"]
    assert "needs 3 of 2 devices here" in line.reasons[1].message


def test_claims_and_extended_resources_of_one_pod_count_together() -> None:
    """Two devices for the claim and one for the card, 8 per node: two pods per node, so that 5 pods need 3."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=0, cpu="64", memory="256Gi")
    cluster.train("wait", 5, request(2), **{CARD: 1})

    assert group(_plan(cluster, template=_declared(8)), "gpu").desired == 3


def test_one_group_has_a_device_plugin_and_another_one_devices() -> None:
    """A new node of `plugin` lists 4, one of `gpu` has slices with 4. Each grows where the other may not: 8 pods need 2 nodes.
    A node that lists the resource serves no more than that, whatever devices are declared."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=0, cpu="64", memory="256Gi")
    cluster.group("plugin", nodes=0, cpu="64", memory="256Gi", gpu=4)
    cluster.pods("wait", 8, cpu="1", gpu=1)
    world = _world(cluster, NVIDIA)

    for most, sizes in (((9, 0), (2, 0)), ((0, 9), (0, 2)), ((1, 9), (1, 1)), ((1, 1), (1, 1))):
        groups = [
            node_group("gpu", min=0, max=most[0], template=_declared(4)),
            node_group("plugin", min=0, max=most[1], template=_declared(8)),
        ]
        plan = plan_of(world, policy(*groups))
        assert (group(plan, "gpu").desired, group(plan, "plugin").desired) == sizes
        assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP}


def test_a_node_of_the_group_shows_what_the_next_one_has() -> None:
    """One node with 4 devices, all in use: 6 pods need 2 more."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=1, cpu="64", memory="256Gi"), 4)
    cluster.cards("run", on={"gpu-1": [f"gpu-{number}" for number in range(4)]})
    cluster.cards("wait", 6)

    assert group(_plan(cluster), "gpu").desired == 3


def test_a_limit_counts_devices() -> None:
    """Four devices per node and at most 10: the node that is there and one more."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=1, cpu="64", memory="256Gi"), 4)
    cluster.cards("wait", 16)
    limit = Limit(name="cards", max=((f"devices-{DRIVER}", 10),))

    plan = plan_of(_world(cluster), policy(node_group("gpu", min=0, max=9), limits=(limit,)))
    assert group(plan, "gpu").desired == 2
    waiting = [line for line in plan.pods if line.outcome is PodOutcome.UNPLACEABLE]
    assert len(waiting) == 8
    assert "LimitReached" in codes(waiting[0])


def test_headroom_of_cards() -> None:
    """Room for 6 pods with one card each, 4 devices per node: 2 nodes."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=0, cpu="64", memory="256Gi")
    room = Headroom(pods=(HeadroomPods(name="cards", count=6, requests=(("cpu", 1000), (CARD, 1))),))

    assert group(_plan(cluster, template=_declared(4), headroom=room), "gpu").desired == 2


def test_a_template_that_promises_more_than_its_node_has_adds_no_second_node() -> None:
    """Declared are four devices; the complete slice of the empty node has two."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=1, cpu="64", memory="256Gi", created=NOW - 960)
    cluster.slices.append(slice_of("gpu-1", [gpu(0), gpu(1)]))
    cluster.cards("wait", 1, **{CARD: 4})

    plan = _plan(cluster, template=_declared(4))
    assert group(plan, "gpu").desired == 1
    assert "TemplateRefuted" in codes(pod(plan, "shop/wait-1"))


def test_a_node_whose_driver_is_late_counts_with_the_devices_of_its_template() -> None:
    """It came a minute ago: both pods wait for it, and no node is added."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=1, cpu="64", memory="256Gi", created=NOW - 60)
    cluster.cards("wait", 2)

    plan = _plan(cluster, template=_declared(2))
    assert {line.outcome for line in plan.pods} == {PodOutcome.FITS_UPCOMING}
    assert group(plan, "gpu").desired == 1


def _removed(plan: Plan) -> list[str]:
    return [name for action in of_kind(plan, ActionKind.REMOVE_NODE) for name in action.nodes]


def test_a_node_leaves_when_its_pods_find_devices_elsewhere() -> None:
    """One of four devices is in use on each node, 250 permille: the pod of gpu-1 moves to gpu-2, which then stays."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=2, cpu="32", memory="128Gi"), 4)
    cluster.cards("a", on={"gpu-1": ["gpu-0"], "gpu-2": ["gpu-0"]})

    plan = _plan(cluster, scale_down=AT_ONCE)
    assert _removed(plan) == ["gpu-1"]
    assert node(plan, "gpu-1").utilization_permille == 250
    assert blocker_codes(plan, "gpu-2") == ["ReceivesPods"]


def test_a_pod_that_finds_no_devices_elsewhere_keeps_its_node() -> None:
    """Two of four are in use on gpu-1, three on gpu-2: only one of the two pods fits there."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=2, cpu="32", memory="128Gi"), 4)
    cluster.cards("a", on={"gpu-1": ["gpu-0", "gpu-1"], "gpu-2": ["gpu-0", "gpu-1", "gpu-2"]})

    plan = _plan(cluster, scale_down=AT_ONCE)
    assert not plan.actions
    (blocker,) = node(plan, "gpu-1").blockers
    assert blocker.code == "NoPlaceToMove"
    assert blocker.message == (
        "2 pods like it (1000m cpu, 0Mi memory each) do not fit on the other node: "
        "no device that the claim wants on 1. For example, gpu-2: claim extended "
        f"resources: request {CARD} needs 1 of 4 devices here, 0 can be had (4 allocated)"
    )


def test_a_pod_moves_from_a_device_plugin_to_devices() -> None:
    """gpu-1 lists the resource, and gpu-2 has devices: one of four is free there, or none."""
    for used, removed in (([0, 1, 2], ["plugin-1"]), ([0, 1, 2, 3], [])):
        cluster = DeviceCluster()
        cluster.gpus(cluster.group("gpu", nodes=1, cpu="32", memory="128Gi"), 4)
        cluster.group("plugin", nodes=1, cpu="32", memory="128Gi", gpu=4)
        cluster.pods("moves", 1, on="plugin-1", cpu="1", gpu=1)
        for number in used:
            (key,) = cluster.pods(f"a{number}", 1, on="gpu-1", cpu="1", gpu=1)
            cluster.special_claim(key.removeprefix("shop/"), {NVIDIA: 1}, [("gpu-1", f"gpu-{number}")])
        groups = [node_group(name, min=0, max=9, scale_down=AT_ONCE) for name in ("gpu", "plugin")]

        assert _removed(plan_of(_world(cluster, NVIDIA), policy(*groups))) == removed


def test_what_an_earlier_attempt_left_is_held() -> None:
    """kube-scheduler deletes the claim first. No node is added, and the reason says so."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=1, cpu="32"), 1)
    cluster.cards("web", 1)
    cluster.special_claim("web-1", {CARD: 1}, [("gpu-1", "gpu-0")])

    plan = _plan(cluster)
    line = pod(plan, "shop/web-1")
    assert line.outcome is PodOutcome.NOT_MODELLED
    assert "an earlier claim for its extended resources" in line.reasons[0].message
    assert not [action for action in plan.actions if action.kind is ActionKind.RESIZE]
