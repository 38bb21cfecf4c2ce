"""Extended resources that a device class serves, while pods are placed. Every answer was worked out by hand first.

Source of the rules: NodeResourcesFit and DynamicResources of kube-scheduler 1.36 (KEP-5004).
"""

import msgspec
import pytest

from reconciler.cluster.devices.resource_claim import Allocation
from reconciler.cluster.devices.resource_slice import Where
from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.pods.pod import ClaimUse, PodShape
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World
from reconciler.scheduling.devices.resolved_claims import with_resolved_claims
from reconciler.scheduling.packing import PackTemplate, pack
from reconciler.scheduling.state import SchedulingState
from tests.decisions.device_cluster import CARD, IMPLICIT, SERVING, DeviceCluster, gpu, request, slice_of


def _nodes(**listed: int) -> DeviceCluster:
    """n1 and n3 with two devices each; n2 without, where a device plugin lists resources."""
    cluster = DeviceCluster()
    for name in ("n1", "n2", "n3"):
        cluster.node(name, cpu="32", **(listed if name == "n2" else {}))
    cluster.gpus(["n1", "n3"], 2)
    return cluster


def _state(cluster: DeviceCluster, **fields: object) -> tuple[SchedulingState, World]:
    world = with_resolved_claims(cluster.world(**{"device_classes": (SERVING,), **fields}))
    return SchedulingState(world), world


@pytest.mark.parametrize("name", [CARD, IMPLICIT])
def test_devices_meet_what_no_node_lists(name: str) -> None:
    """Two pods get one device each on n1 and on n3; n2 has none."""
    cluster = _nodes()
    cluster.pods("web", 5, cpu="1", **{name: 1})
    state, _ = _state(cluster)

    assert state.modelled(0) == ""
    assert state.asks_for_devices(0)
    assert not state.node_local(0)
    assert state.place(0, 5) == ((0, 2), (2, 2))
    assert [one.message for one in state.verdict(0, 0)] == [
        f"claim extended resources: request {name} needs 1 of 2 devices here, 0 can be had (2 allocated)"
    ]
    assert state.rejecting_plugins(0) == [("DynamicResources",)] * 3


def test_a_node_that_lists_the_resource_serves_it_itself() -> None:
    """A device plugin lists one on n2, which has two devices as well: only one pod fits there."""
    cluster = _nodes(**{CARD: 1})
    cluster.gpus(["n2"], 2)
    cluster.cards("web", 9)
    state, _ = _state(cluster)

    assert state.place(0, 9) == ((0, 2), (1, 1), (2, 2))
    assert [one.plugin for one in state.verdict(0, 1)] == ["NodeResourcesFit"]
    assert state.used(0).get(CARD) == 0
    assert state.used(1).get(CARD) == 1


def test_claims_and_extended_resources_are_met_together() -> None:
    """Two devices for the claim and one for the resource: n3 has four, so one pod fits there, and none on n1 with two. On n2 a
    device plugin has the card, and the claim finds two devices."""
    cluster = _nodes(**{CARD: 5})
    cluster.slices.pop()
    cluster.gpus(["n3"], 4)
    cluster.gpus(["n2"], 2)
    cluster.train("both", 4, request(2), **{CARD: 1})
    state, _ = _state(cluster)

    assert state.place(0, 4) == ((1, 1), (2, 1))


def test_a_shared_claim_and_an_extended_resource() -> None:
    """The claim gets one device of n3 with the first pod; its two pods then have two left for a card each."""
    cluster = _nodes()
    cluster.slices.pop()
    cluster.gpus(["n3"], 3)
    cluster.claim("c", request())
    cluster.pods("web", 3, cpu="1", shape={"claims": (ClaimUse(name="c", claim="c"),)}, **{CARD: 1})
    state, _ = _state(cluster)

    mark = state.mark()
    # n1 takes one pod with both of its devices, and the claim stays there.
    assert state.place(0, 3) == ((0, 1),)
    state.undo(mark)
    assert state.place(0, 3, [2]) == ((2, 2),)


@pytest.mark.parametrize("order", [None, [2, 1, 0]])
def test_undo_gives_devices_back(order: list[int] | None) -> None:
    """What was tried leaves nothing behind."""
    cluster = _nodes(**{CARD: 1})
    cluster.cards("web", 9)
    state, _ = _state(cluster)

    mark = state.mark()
    first = state.place(0, 9, order)
    state.undo(mark)

    assert sum(pods for _, pods in first) == 5
    assert state.place(0, 9, order) == first


def test_the_claim_of_a_running_pod_is_taken_and_moves_with_it() -> None:
    """One device of n1 is in use, so that one is left there. Its pod finds a place on n3 when it leaves."""
    cluster = _nodes()
    cluster.cards("web", on={"n1": ["gpu-1"]})
    state, _ = _state(cluster)

    mark = state.mark()
    assert state.place(0, 9) == ((0, 1), (2, 2))
    state.undo(mark)
    state.leave(0)
    state.unbind(0, 0)
    assert state.place(0, 1) == ((2, 1),)
    state.undo(mark)
    assert state.place(0, 9) == ((0, 1), (2, 2))


def test_a_pod_that_a_device_plugin_serves_has_no_devices() -> None:
    """It runs on n2, which lists two cards: one is left."""
    cluster = _nodes(**{CARD: 2})
    cluster.cards("web", on={"n2": [""]})
    state, _ = _state(cluster)

    assert state.place(0, 9) == ((0, 2), (1, 1), (2, 2))


def test_a_pod_that_was_moved_without_a_claim_has_devices_all_the_same() -> None:
    """A simulated cluster writes no claims: the pod on n1 has one of its two devices."""
    cluster = _nodes()
    cluster.pods("web", 1, on="n1", cpu="1", **{CARD: 1})
    state, _ = _state(cluster)

    assert state.place(0, 9) == ((0, 1), (2, 2))


def test_an_earlier_claim_keeps_its_pod_from_being_judged() -> None:
    """kube-scheduler first deletes what is left of an earlier attempt. Another pod of the kind is placed."""
    cluster = _nodes()
    cluster.cards("web", 2)
    cluster.special_claim("web-1", {CARD: 1}, [("n1", "gpu-0")])
    state, world = _state(cluster)

    earlier, other = world.pods.shape
    assert state.modelled(earlier) == "DynamicResources (an earlier claim for its extended resources must be deleted first)"
    assert state.place(earlier, 1) == ()
    before = with_resolved_claims(msgspec.structs.replace(cluster.world(device_classes=(SERVING,)), scheduler_version=(1, 35, 0)))
    assert len(set(before.pods.shape)) == 1
    without = with_resolved_claims(cluster.world())
    assert len(set(without.pods.shape)) == 1
    assert state.place(other, 9) == ((0, 1), (2, 2))
    assert with_resolved_claims(world) is world


def test_a_selector_that_fails_leaves_the_pods_unjudged() -> None:
    """kube-scheduler gives up the whole attempt on n1. Where labels keep the pod off n1 and n3, nothing fails."""
    cluster = _nodes(**{CARD: 1})
    cluster.cards("web", 2)
    odd = msgspec.structs.replace(SERVING, selectors=("device.attributes['gpu.example.com'].size > 1",))
    state, world = _state(cluster, device_classes=(odd,))
    assert state.modelled(0) == (
        "DynamicResources (on n1, selector 1 of DeviceClass gpu: no such key: size: kube-scheduler gives up the whole attempt)"
    )
    assert state.place(0, 2) == ()

    listing = msgspec.structs.replace(world.node_shapes[1], labels=(("cards", "yes"),))
    shapes = (world.node_shapes[0], listing)
    choosy = msgspec.structs.replace(world.pod_shapes[0], node_selector=(("cards", "yes"),))
    there = msgspec.structs.replace(world, node_shapes=shapes, pod_shapes=(choosy,))
    assert SchedulingState(there).place(0, 2) == ((1, 1),)


def test_a_selector_that_fails_on_nodes_with_a_device_plugin_fails_nobody() -> None:
    """n1 and n2 have equal devices. kube-scheduler asks them only where the resource is not listed."""
    odd = msgspec.structs.replace(SERVING, selectors=("device.attributes['gpu.example.com'].size > 1",))
    for listed, why in ((("n1", "n2"), ""), (("n1",), "on n2"), (("n2",), "on n1")):
        cluster = DeviceCluster()
        for name in ("n1", "n2"):
            cluster.node(name, cpu="32", **({CARD: 1} if name in listed else {}))
        cluster.gpus(["n1", "n2"], 2)
        cluster.cards("web", 3)
        state, _ = _state(cluster, device_classes=(odd,))

        assert (state.modelled(0) == "") == (not why)
        assert why in state.modelled(0)
        assert state.place(0, 3) == (() if why else ((0, 1), (1, 1)))


def test_an_allocation_that_nobody_understands_matters_where_devices_are_asked() -> None:
    """Some claim has an odd amount. A device plugin on every node needs no answer about devices."""
    odd = Allocation(unmodelled="the amount x of memory")
    for listed, placed in ((("n1", "n2"), ((0, 1), (1, 1))), (("n1",), ())):
        cluster = DeviceCluster()
        for name in ("n1", "n2"):
            cluster.node(name, cpu="32", **({CARD: 1} if name in listed else {}))
        cluster.gpus(["n1", "n2"], 2)
        cluster.claim("odd", request(), allocation=odd)
        cluster.cards("web", 3)
        state, _ = _state(cluster)

        assert state.place(0, 3) == placed
        assert ("the amount x of memory in ResourceClaim shop/odd" in state.modelled(0)) == (not placed)


def test_pods_whose_devices_nobody_knows_do_not_concern_a_device_plugin() -> None:
    """Pods with claims that are not made are put on n1 and n2. n2 lists two cards; nothing is known of the devices of n1."""
    cluster = _nodes(**{CARD: 2})
    cluster.pods("odd", 1, cpu="1", shape={"claims": (ClaimUse(name="c", generated=True),)})
    cluster.cards("web", 9)
    state, world = _state(cluster)
    odd, shape = world.pods.shape[0], world.pods.shape[1]
    state.bind(odd, 0)
    state.bind(odd, 1)

    assert state.place(shape, 9) == ((1, 2), (2, 2))
    assert [one.message for one in state.verdict(shape, 0)] == ["devices of pods on the node"]


def test_a_running_pod_with_a_claim_and_an_extended_resource_has_the_devices_of_both() -> None:
    """Two of four devices of n1 are in use: one by the claim, one for the card. One pod like it fits there, and one on n3."""
    cluster = _nodes()
    cluster.slices[0] = slice_of("n1", [gpu(number) for number in range(4)])
    cluster.train("both", on={"n1": ["gpu-0"]}, **{CARD: 1})
    cluster.special_claim("both-1-1", {CARD: 1}, [("n1", "gpu-3")])
    state, _ = _state(cluster)

    assert state.place(0, 9) == ((0, 1), (2, 1))


@pytest.mark.parametrize("fields", [{"captured": ("DeviceClass", "Node", "Pod", "ResourceClaim")}, {"resource_slices": ()}])
def test_without_slices_a_node_that_lists_the_resource_still_serves_it(fields: dict[str, object]) -> None:
    """Nobody knows, or everybody knows that there are none: n2 takes what it lists."""
    cluster = _nodes(**{CARD: 1})
    cluster.cards("web", 9)
    state, _ = _state(cluster, **fields)

    assert state.modelled(0) == ""
    assert state.place(0, 9) == ((1, 1),)


def test_kinds_that_were_not_captured() -> None:
    """No node lists the resource, and nobody knows whether one has devices."""
    cluster = _nodes()
    cluster.cards("web", 1)
    state, _ = _state(cluster, captured=("DeviceClass", "Node", "Pod", "ResourceClaim"))

    assert state.modelled(0) == "DynamicResources"
    assert state.place(0, 1) == ()
    assert [one.plugin for one in state.verdict(0, 0)] == ["NotModelled"]


def test_before_1_36_no_class_serves_anything() -> None:
    """No node has the resource then."""
    cluster = _nodes()
    cluster.cards("web", 1)
    state, _ = _state(cluster, scheduler_version=(1, 35, 0))

    assert [one.plugin for one in state.verdict(0, 0)] == ["NodeResourcesFit"]
    assert state.place(0, 1) == ()


def test_pods_that_come_later_are_met_too() -> None:
    """No pod of the cluster asked for a card, and n2 lists two of them. Headroom does."""
    cluster = _nodes(**{CARD: 2})
    cluster.pods("web", 1, cpu="1", on="n1")
    state, _ = _state(cluster)

    for name, placed in ((IMPLICIT, ((0, 2), (2, 2))), (CARD, ((0, 2), (1, 2), (2, 2)))):
        shape = state.add_shape(PodShape(namespace="x", requests=Resources(pods=1, extended=((name, 1),))))
        mark = state.mark()
        assert state.place(shape, 9) == placed
        state.undo(mark)
    assert state.used(0).get(CARD) == 0
    assert state.used(0).cpu_milli == 1000


def test_devices_that_several_nodes_reach() -> None:
    """One device for all nodes: one pod, wherever it goes."""
    cluster = DeviceCluster()
    for name in ("n1", "n2"):
        cluster.node(name, cpu="32")
    cluster.slices.append(slice_of("net", [gpu(0)], where=Where(all_nodes=True)))
    cluster.cards("web", 3)
    state, _ = _state(cluster)

    assert state.place(0, 3) == ((0, 1),)
    assert not state.fits(0, 1)


def _template(cpu_milli: int, cost: int, devices: int = 0, **listed: int) -> PackTemplate:
    amounts = Resources(cpu_milli=cpu_milli, memory_bytes=1 << 36, pods=110, extended=tuple(sorted(listed.items())))
    slices = (slice_of("template", [gpu(number) for number in range(devices)]),) if devices else ()
    return PackTemplate(shape=NodeShape(capacity=amounts, allocatable=amounts, devices=slices), cost=cost)


def _packed(*templates: PackTemplate) -> list[int]:
    cluster = DeviceCluster()
    cluster.cards("web", 2)
    state, _ = _state(cluster)
    packing = pack(state, ((0, 2),), templates)
    assert not packing.left
    return [index for index, _ in packing.nodes]


def test_new_nodes_by_devices_or_by_a_device_plugin() -> None:
    """Two pods fit one node with two devices, whatever its size. Nodes with fewer are another kind."""
    large = _template(64_000, 9, devices=2)
    assert _packed(large, _template(4_000, 1, devices=2)) == [1]
    assert _packed(large, _template(4_000, 1, devices=1)) == [1, 1]
    assert _packed(large, _template(4_000, 1)) == [0]
    # Two devices, and a device plugin that lists one card: it serves one pod.
    assert _packed(large, _template(4_000, 1, devices=2, **{CARD: 1})) == [0]
    assert _packed(_template(64_000, 9, **{CARD: 2}), _template(4_000, 1, **{CARD: 2})) == [1]
