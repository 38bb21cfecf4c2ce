"""Devices while pods are placed: each pod gets its own, a shared claim gets its devices once, and undo gives all of it back."""

import os
import random
from collections import Counter

import msgspec
import pytest

from reconciler.cluster.devices.resource_claim import ClaimTemplate
from reconciler.cluster.devices.resource_slice import Device, DeviceTaint, ResourceSlice, Where
from reconciler.cluster.pods.pod import ClaimUse
from reconciler.cluster.world import World
from reconciler.scheduling.devices.resolved_claims import with_resolved_claims
from reconciler.scheduling.state import SchedulingState
from tests.decisions.device_cluster import CARD, DRIVER, IMPLICIT, SERVING, DeviceCluster, gpu, request, slice_of
from tests.scheduling.fitting_devices import one_by_one, random_request


def _three() -> DeviceCluster:
    """n1 and n3 with two devices each, n2 with none."""
    cluster = DeviceCluster()
    for name in ("n1", "n2", "n3"):
        cluster.node(name, cpu="32")
    cluster.gpus(["n1", "n3"], 2)
    return cluster


def _state(cluster: DeviceCluster) -> tuple[SchedulingState, World]:
    world = with_resolved_claims(cluster.world())
    return SchedulingState(world), world


def test_equal_pods_are_one_shape_whatever_their_claims_are_called() -> None:
    """Three pods that wait and one that runs ask for the same; one asks for two devices."""
    cluster = _three()
    cluster.train("same", 3)
    cluster.train("runs", on={"n1": ["gpu-0"]}, labels={"app": "same"})
    cluster.train("two", 1, request(2), labels={"app": "same"})

    state, world = _state(cluster)

    assert dict(zip(world.pods.name, world.pods.shape, strict=True)) == {
        "runs-1-1": 0, "same-1-1": 0, "same-2-1": 0, "same-3-1": 0, "two-1-1": 1
    }  # fmt: skip
    assert state.shape_count == 2
    assert with_resolved_claims(world) is world


def test_each_pod_gets_devices_of_its_own() -> None:
    """One of n1 is taken: 1 + 0 + 2 are left for five pods."""
    cluster = _three()
    cluster.train("run", on={"n1": ["gpu-1"]})
    cluster.train("wait", 5)
    state, world = _state(cluster)
    shape = world.pods.shape[world.pods.pending()[0]]

    assert state.place(shape, 5) == ((0, 1), (2, 2))
    assert not any(state.fits(shape, node) for node in range(3))
    assert [one.message for one in state.verdict(shape, 0)] == [
        "claim gpu: request r needs 1 of 2 devices here, 0 can be had (2 allocated)"
    ]
    assert state.rejecting_plugins(shape) == [("DynamicResources",)] * 3


@pytest.mark.parametrize("order", [None, [2, 1, 0], list(range(2, -1, -1)) * 4])
def test_undo_gives_devices_back(order: list[int] | None) -> None:
    """What was tried leaves nothing behind, by whichever way it was placed."""
    cluster = _three()
    cluster.train("wait", 9)
    state, _ = _state(cluster)

    mark = state.mark()
    first = state.place(0, 9, order)
    state.undo(mark)

    assert sum(pods for _, pods in first) == 4
    assert state.place(0, 9, order) == first


def test_pods_that_share_a_claim_share_its_devices() -> None:
    """The claim gets its one device with the first pod, and all others follow it there; a second claim finds the next node."""
    cluster = _three()
    cluster.gpus(["n2"], 1)
    for name in ("one", "two"):
        cluster.claim(name, request(2 if name == "one" else 1))
        cluster.pods(name, 3, cpu="1", shape={"claims": (ClaimUse(name="c", claim=name),)})
    state, world = _state(cluster)

    assert [state.place(world.pods.shape[row], 3) for row in (0, 3)] == [((0, 3),), ((1, 3),)]
    assert state.verdict(0, 2)[0].message == "claim one has devices that other nodes reach"


def test_a_shared_claim_moves_once_all_of_its_pods_have_left() -> None:
    """Source: the claim controller deallocates a claim that nobody has reserved. One of two pods keeps it where it is."""
    cluster = _three()
    cluster.claim("c", request(), [("n1", "gpu-0")], reserved_for=("uid-shop-web-1", "uid-shop-web-2"))
    cluster.pods("web", 2, cpu="1", on="n1", shape={"claims": (ClaimUse(name="c", claim="c"),)})
    state, _ = _state(cluster)

    mark = state.mark()
    state.leave(0)
    state.unbind(0, 0)
    assert [state.fits(0, node) for node in range(3)] == [False, False, False]
    state.unbind(0, 0)
    assert state.place(0, 2) == ((2, 2),)
    state.undo(mark)
    assert [state.fits(0, node) for node in range(3)] == [True, False, False]


def test_a_pod_that_waits_goes_where_its_claim_has_devices() -> None:
    """Allocated for it on n3, before it was bound."""
    cluster = _three()
    cluster.train("early", 1)
    has = cluster.claims.pop()
    cluster.claim(has.name, request(), [("n3", "gpu-1")], owner_uid=has.owner_uid, reserved_for=(has.owner_uid,))
    state, _ = _state(cluster)

    assert state.place(0, 1) == ((2, 1),)


def test_one_node_on_which_a_selector_fails_leaves_it_unknown() -> None:
    """kube-scheduler gives up the whole attempt there. A node that the pod cannot enter does no harm."""
    selector = f'device.attributes["{DRIVER}"].size > 1'
    cluster = _three()
    cluster.train("wait", 1, request(1, selector), node_selector={"pool": "gpu"})
    state, world = _state(cluster)
    assert state.modelled(0) == ""

    everywhere = msgspec.structs.replace(world, pod_shapes=(msgspec.structs.replace(world.pod_shapes[0], node_selector=()),))
    assert SchedulingState(everywhere).modelled(0) == (
        "DynamicResources (on n1, selector 1 of request r: no such key: size: kube-scheduler gives up the whole attempt)"
    )
    assert SchedulingState(everywhere).place(0, 1) == ()


@pytest.mark.parametrize(
    ("uses", "why"),
    [
        ({"generated": True}, "a claim that is not made yet"),
        ({"generated": True, "claim": "x"}, "a claim that does not exist"),
        ({"claim": "x"}, "claim x, which does not exist"),
        ({"claim": "of-nobody", "generated": True}, "a claim that was made for another pod"),
    ],
)
def test_claims_that_cannot_be_used_now_are_not_modelled(uses: dict[str, object], why: str) -> None:
    """kube-scheduler does not look at such pods, so that no node would help them."""
    cluster = _three()
    cluster.claim("of-nobody", request())
    cluster.pods("web", 1, shape={"claims": (ClaimUse(name="c", **uses),)})
    state, _ = _state(cluster)

    assert state.modelled(0) == f"DynamicResources ({why})"
    assert [one.plugin for one in state.verdict(0, 0)] == ["NotModelled"]


def test_clusters_before_the_release_that_was_compared_are_not_modelled() -> None:
    """Verdicts equal those of kube-scheduler 1.36."""
    cluster = _three()
    cluster.train("wait", 1)
    world = with_resolved_claims(cluster.world(scheduler_version=(1, 35, 0)))

    assert SchedulingState(world).modelled(0) == "DynamicResources (Kubernetes before 1.36)"


# Against `fit`, which is compared with kube-scheduler itself: placing is asking again and again.


def _random_cluster(rng: random.Random) -> DeviceCluster:
    cluster = DeviceCluster()
    plugins = rng.random() < 0.5
    for number in range(rng.randint(1, 4)):
        name = f"n{number}"
        # A device plugin lists some, so that the devices of the node are not asked.
        listed = {one: rng.randint(1, 3) for one in (CARD, IMPLICIT) if plugins and rng.random() < 0.3}
        cluster.node(name, cpu="32", **listed)
        if rng.random() < 0.85:
            cluster.slices.append(_random_slice(rng, name))
    if rng.random() < 0.3:
        cluster.slices.append(slice_of("net", [gpu(9)], where=Where(all_nodes=True)))
    for kind in range(rng.randint(1, 3)):
        name, count = f"kind{kind}", rng.randint(1, 6)
        asked = {one: rng.randint(1, 3) for one in (CARD, IMPLICIT) if rng.random() < 0.4}
        if asked and rng.random() < 0.6:
            cluster.pods(name, count, cpu="1", **asked)
        else:
            cluster.train(name, count, random_request(rng), **asked)
    return cluster


def _random_slice(rng: random.Random, name: str) -> ResourceSlice:
    form = rng.choice(("plain", "plain", "mixed", "parts"))
    devices: list[Device] = []
    for number in range(rng.randint(0, 4)):
        device = gpu(number, rng.choice(("a100", "h100")) if form == "mixed" else "a100")
        if form == "mixed" and rng.random() < 0.2:
            device = msgspec.structs.replace(device, taints=(DeviceTaint("broken", "", "NoSchedule"),))
        if form == "parts":
            device = msgspec.structs.replace(device, multiple=True)
        devices.append(device)
    return slice_of(name, devices, slice_count=2 if rng.random() < 0.1 else 1)


def test_placing_is_fitting_one_after_the_other() -> None:
    """Hundreds of small clusters: as many pods of each kind on each node, or nothing is said of the kind."""
    placed = served = 0
    for _ in range(int(os.environ.get("RECONCILER_RANDOM_RUNS", "60"))):
        seed = random.randrange(1 << 32)
        rng = random.Random(seed)
        world = _random_cluster(rng).world(device_classes=(SERVING,))
        resolved = with_resolved_claims(world)
        state = SchedulingState(resolved)
        kinds: dict[int, int] = {}
        for shape in resolved.pods.shape:
            kinds[shape] = kinds.get(shape, 0) + 1
        if any(state.modelled(shape) for shape in kinds):
            continue
        expected = one_by_one(world)
        counts: dict[tuple[int, int], int] = {}
        for shape, node in zip(resolved.pods.shape, expected, strict=True):
            if node >= 0:
                counts[shape, node] = counts.get((shape, node), 0) + 1
        mark = state.mark()
        for _again in range(2):
            found = {(shape, node): pods for shape, count in kinds.items() for node, pods in state.place(shape, count)}
            assert found == counts, seed
            placed += sum(found.values())
            served += sum(pods for (shape, _), pods in found.items() if resolved.pod_shapes[shape].requests.extended)
            state.undo(mark)
            mark = state.mark()
    assert placed > 50
    assert served > 20


def _before_the_claim_controller(cluster: DeviceCluster) -> World:
    """The same cluster a moment earlier: all claims of pods that wait come from templates, one per kind, and none is made yet."""
    made = cluster.world(device_classes=(SERVING,))
    requests = {claim.name: claim.requests for claim in made.resource_claims}
    templates, shapes = {}, []
    for shape in made.pod_shapes:
        kind = dict(shape.labels)["app"]
        for use in shape.claims:
            templates[kind] = ClaimTemplate(namespace="shop", name=kind, requests=requests[use.claim])
        unmade = tuple(ClaimUse(name=use.name, generated=True, template=kind) for use in shape.claims)
        shapes.append(msgspec.structs.replace(shape, claims=unmade))
    return msgspec.structs.replace(
        made, pod_shapes=tuple(shapes), resource_claims=(), claim_templates=tuple(templates[kind] for kind in sorted(templates))
    )


def test_pods_whose_claims_are_not_made_yet_go_where_they_go_then() -> None:
    """Placed before the claims are made, as `fit` places them one after the other once they are."""
    placed = 0
    while placed < 60:
        seed = random.randrange(1 << 32)
        cluster = _random_cluster(random.Random(seed))
        resolved = with_resolved_claims(_before_the_claim_controller(cluster))
        state, numbers = SchedulingState(resolved), resolved.pods.shape
        if any(state.modelled(shape) for shape in set(numbers)):
            continue
        expected = Counter(
            pair for pair in zip(numbers, one_by_one(cluster.world(device_classes=(SERVING,))), strict=True) if pair[1] >= 0
        )
        found = Counter(
            {(shape, node): pods for shape, count in Counter(numbers).items() for node, pods in state.place(shape, count)}
        )
        assert found == expected, seed
        placed += found.total()


def test_claims_that_nobody_can_search_through_cost_a_bounded_part_of_a_plan() -> None:
    """Six of 24 devices are asked for, and their board has counters for five: C(24, 5) ways, for each of 30 kinds of pods. The
    first searches may be long. The others are short, and what they say is not a guess."""
    cluster = DeviceCluster()
    cluster.node("n1", cpu="64")
    board = ("board", (("memory", 35),))
    parts = [gpu(number, counters=(("board", (("memory", 7),)),)) for number in range(24)]
    cluster.slices.append(slice_of("n1", parts, slice_count=2))
    cluster.slices.append(slice_of("n1", [], name="n1-board", counter_sets=(board,), slice_count=2))
    kinds = 30
    for kind in range(kinds):
        cluster.train(f"kind{kind}", 1, request(6, f'device.attributes["{DRIVER}"].model != "m{kind}"'))
    cluster.train("plain", 1, request(5))
    state, world = _state(cluster)
    said = [state.modelled(shape) for shape in world.pods.shape]
    assert sum(steps for _, steps in state.taken()) < 1_500_000
    assert said[-1] == ""
    assert sum("a search for devices of more than" in one for one in said) == kinds
