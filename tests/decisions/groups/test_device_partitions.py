"""Devices that a template partitions: the slices are those that a driver publishes, and pods get what its counters leave."""

import random
from typing import Any

import msgspec
import pytest

from reconciler.cluster.devices.device_class import DeviceClass
from reconciler.cluster.devices.resource_claim import DeviceRequest
from reconciler.cluster.devices.resource_slice import ResourceSlice, resource_slice
from reconciler.cluster.wire import devices as wire
from reconciler.decisions.groups.template_devices import declared
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan, PodOutcome
from reconciler.policy.documents import DeviceAttribute, DevicePartition, Limit, Template, TemplateDevices
from reconciler.simulation.settled import come_to_rest
from tests.builders import NOW, node_group, policy
from tests.decisions.deciding import codes, group, plan_of, pod
from tests.decisions.device_cluster import DRIVER, DeviceCluster, request
from tests.scheduling.fitting_devices import one_by_one

ATTRIBUTES = f'device.attributes["{DRIVER}"]'
WHOLE = request(1, f'{ATTRIBUTES}.type == "gpu"')
SMALL, LARGE = (request(1, f'{ATTRIBUTES}.?profile.orValue("") == "{name}"') for name in ("1g", "3g"))
MIG = DeviceAttribute(name="type", text="mig")


def _gpus(count: int = 2) -> TemplateDevices:
    """GPUs with 80Gi and 7 slices, each whole, or as up to 7 x 1g, or as up to 2 x 3g."""
    return TemplateDevices(
        name="gpu",
        driver=DRIVER,
        count=count,
        attributes=(DeviceAttribute(name="type", text="gpu"), DeviceAttribute(name="model", text="h100")),
        capacity=(("memory", "80Gi"),),
        counters=(("memory", "80Gi"), ("slices", "7")),
        partitions=(
            DevicePartition(
                name="1g",
                count=7,
                attributes=(MIG, DeviceAttribute(name="profile", text="1g")),
                capacity=(("memory", "10Gi"),),
                consumes_counters=(("memory", "10Gi"), ("slices", "1")),
            ),
            DevicePartition(
                name="3g",
                count=2,
                attributes=(MIG, DeviceAttribute(name="profile", text="3g")),
                capacity=(("memory", "40Gi"),),
                consumes_counters=(("memory", "40Gi"), ("slices", "3")),
            ),
        ),
    )


def _plan(cluster: DeviceCluster, *devices: TemplateDevices, **fields: object) -> Plan:
    template = Template(devices=devices or (_gpus(),))
    return plan_of(cluster.world(), policy(node_group("gpu", min=0, max=9, template=template), **fields))


def _empty() -> DeviceCluster:
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=0, cpu="64", memory="256Gi")
    return cluster


# What a driver publishes, written by hand.


def _read(name: str, count: int, **spec: object) -> ResourceSlice:
    manifest = {
        "metadata": {"name": name},
        "spec": {"driver": DRIVER, "pool": {"name": "template", "generation": 0, "resourceSliceCount": count}, **spec},
    }
    return resource_slice(msgspec.convert(manifest, wire.ResourceSlice))


def _device(name: str, counter_set: str, consumes: dict[str, str], capacity: str, **attributes: str) -> dict[str, Any]:
    return {
        "name": name,
        "attributes": {key: {"string": value} for key, value in attributes.items()},
        "capacity": {"memory": {"value": capacity}},
        "consumesCounters": [{"counterSet": counter_set, "counters": {key: {"value": value} for key, value in consumes.items()}}],
    }


def test_the_slices_are_those_that_a_driver_publishes() -> None:
    """One counter set per GPU, in a slice without devices. The whole GPU consumes all, each partition its part. Partitions have
    the model of their GPU and a type of their own."""
    devices = []
    for gpu in ("gpu-0", "gpu-1"):
        devices.append(_device(gpu, gpu, {"memory": "80Gi", "slices": "7"}, "80Gi", type="gpu", model="h100"))
        for number in range(7):
            small = {"memory": "10Gi", "slices": "1"}
            devices.append(_device(f"{gpu}-1g-{number}", gpu, small, "10Gi", type="mig", profile="1g", model="h100"))
        for number in range(2):
            large = {"memory": "40Gi", "slices": "3"}
            devices.append(_device(f"{gpu}-3g-{number}", gpu, large, "40Gi", type="mig", profile="3g", model="h100"))
    counters = {"memory": {"value": "80Gi"}, "slices": {"value": "7"}}
    sets = [{"name": gpu, "counters": counters} for gpu in ("gpu-0", "gpu-1")]

    assert declared((_gpus(),)) == (
        _read(f"{DRIVER}-0000", 2, sharedCounters=sets), _read(f"{DRIVER}-0001", 2, devices=devices)
    )  # fmt: skip


def test_slices_keep_the_bounds_of_the_api() -> None:
    """9 GPUs are 90 devices: an API server takes at most 8 counter sets per slice, and 64 devices that consume counters."""
    slices = declared((_gpus(9),))

    assert [len(item.counter_sets) for item in slices] == [8, 1, 0, 0]
    assert [len(item.devices) for item in slices] == [0, 0, 64, 26]
    assert {(item.pool, item.slice_count) for item in slices} == {("template", 4)}
    assert [item.name for item in slices] == sorted(item.name for item in slices)


def test_devices_without_counters_stay_in_one_slice_of_their_driver() -> None:
    """Those of another driver, and those of this driver beside the GPUs."""
    plain = TemplateDevices(name="nic", driver="net.example.com", count=2)
    (other,) = (item for item in declared((_gpus(1), plain)) if item.driver == "net.example.com")
    assert (other.slice_count, [device.name for device in other.devices]) == (1, ["nic-0", "nic-1"])

    mixed = declared((_gpus(1), msgspec.structs.replace(plain, driver=DRIVER)))
    assert [device.name for device in mixed[1].devices][-2:] == ["nic-0", "nic-1"]
    assert mixed[1].devices[-1].counters == ()


def test_an_attribute_with_the_domain_of_the_driver_is_the_same_one() -> None:
    """`gpu.example.com/type` of a partition replaces `type` of its device."""
    full = DeviceAttribute(name=f"{DRIVER}/type", text="mig")
    one = DevicePartition(name="1g", attributes=(full,), consumes_counters=(("slices", "1"),))
    _, devices = declared((msgspec.structs.replace(_gpus(1), partitions=(one,)),))

    assert [(item.name, item.text) for item in devices.devices[1].attributes] == [
        (f"{DRIVER}/type", "mig"), ("model", "h100")
    ]  # fmt: skip


# Growth from zero.


@pytest.mark.parametrize(
    ("wholes", "smalls", "larges", "nodes"),
    [
        (3, 0, 0, 2),  # 2 whole GPUs per node
        (0, 14, 0, 1),  # 7 per GPU
        (0, 15, 0, 2),
        (0, 0, 4, 1),  # 2 per GPU: 6 of 7 slices, all of the memory
        (0, 0, 5, 2),
        (1, 7, 0, 1),  # one GPU whole, the other in seven parts
        (1, 8, 0, 2),
        (1, 0, 3, 2),  # 1 + 2 on the first node, and 1 on the second
        (0, 4, 1, 1),  # one GPU has 4 x 1g and 1 x 3g: 80Gi and 7 slices
        (0, 11, 1, 1),
        (0, 12, 1, 2),
        (0, 7, 2, 1),  # kube-scheduler takes the first that is free: both 3g of the first GPU, whose memory is then in use
        (0, 8, 2, 2),
    ],
)
def test_a_group_without_nodes_grows_by_its_partitions(wholes: int, smalls: int, larges: int, nodes: int) -> None:
    """Two GPUs per node; what fits was counted by hand."""
    cluster = _empty()
    for name, count, wanted in (("whole", wholes, WHOLE), ("large", larges, LARGE), ("small", smalls, SMALL)):
        if count:
            cluster.train(name, count, wanted)

    plan = _plan(cluster)

    assert group(plan, "gpu").desired == nodes
    assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP}


def test_a_claim_for_more_than_the_counters_leave_names_them() -> None:
    """Three whole GPUs in one claim, of two: no node could have them."""
    cluster = _empty()
    cluster.train("wait", 1, request(3, f'{ATTRIBUTES}.type == "gpu"'))

    (line,) = _plan(cluster).pods

    assert line.outcome is PodOutcome.UNPLACEABLE
    assert "request r needs 3 of 20 devices here, 2 can be had (18 not selected by selector 1 of request r)" in str(line.reasons)


def test_a_class_of_partitions_is_not_that_of_the_whole_device() -> None:
    """Classes whose selectors nothing declared meets: `mig` is declared to select the 1g, `gpu` the whole GPUs."""
    cluster = _empty()
    for name, count, device_class in (("small", 14, "mig"), ("whole", 1, "gpu")):
        wanted = request(1)
        asked = msgspec.structs.replace(wanted.alternatives[0], device_class=device_class)
        cluster.train(name, count, DeviceRequest(name="r", alternatives=(asked,)))
    nothing = (f'{ATTRIBUTES}.?kind.orValue("") == "x"',)
    world = cluster.world(device_classes=tuple(DeviceClass(name=name, selectors=nothing) for name in ("gpu", "mig")))
    gpus = _gpus()
    small = msgspec.structs.replace(gpus.partitions[0], device_class="mig")
    gpus = msgspec.structs.replace(gpus, device_class="gpu", partitions=(small,))
    rules = policy(node_group("gpu", min=0, max=9, template=Template(devices=(gpus,))))

    # 14 parts of two GPUs, and one whole GPU of a second node.
    assert group(plan_of(world, rules), "gpu").desired == 2


def test_a_limit_counts_partitions_as_devices() -> None:
    """A node has 2 whole GPUs and 18 partitions: 20 devices in ResourceSlices. 59 allow two nodes, 60 three."""
    for most, nodes in ((59, 2), (60, 3)):
        cluster = _empty()
        cluster.train("wait", 6, WHOLE)
        limit = Limit(name="cards", max=((f"devices-{DRIVER}", most),))
        plan = _plan(cluster, limits=(limit,))
        assert group(plan, "gpu").desired == nodes
    assert "LimitReached" not in codes(pod(plan, "shop/wait-6-1"))


def test_new_nodes_run_the_pods_that_they_were_added_for() -> None:
    """15 x 1g and 1 whole GPU on 2 GPUs per node: 14 and 1 + 1 are two nodes, now and in the end."""
    cluster = _empty()
    cluster.train("small", 15, SMALL)
    cluster.train("whole", 1, WHOLE)
    rules = policy(node_group("gpu", min=0, max=9, template=Template(devices=(_gpus(),))))

    rest = come_to_rest(cluster.world(), rules, Memory(), NOW, plan_of(cluster.world(), rules))

    assert group(rest.plan, "gpu").settled == 2
    assert rest.impact.waiting == ()


# Against `fit`, which is compared with kube-scheduler itself.


def _random_devices(rng: random.Random) -> TemplateDevices:
    memory, slices = rng.choice((40, 80)), rng.choice((4, 7))
    partitions = []
    for number in range(rng.randint(0, 3)):
        gi, parts = rng.randint(1, memory), rng.randint(0, slices)
        consumes = (("memory", f"{gi}Gi"), *((("slices", str(parts)),) if parts else ()))
        partitions.append(
            DevicePartition(
                name=f"p{number}",
                count=rng.randint(1, 8),
                attributes=(DeviceAttribute(name="type", text=rng.choice(("mig", f"p{number}"))),),
                capacity=(("memory", f"{gi}Gi"),),
                consumes_counters=consumes,
            )
        )
    return TemplateDevices(
        name="gpu",
        driver=DRIVER,
        count=rng.randint(1, 9),
        attributes=(DeviceAttribute(name="type", text="gpu"),),
        capacity=(("memory", f"{memory}Gi"),),
        counters=(("memory", f"{memory}Gi"), ("slices", str(slices))),
        partitions=tuple(partitions),
    )


def _published(one: TemplateDevices, node: str) -> list[ResourceSlice]:
    """What a driver publishes for a node: one slice of counter sets per eight devices, then one slice per device. Like `_read`,
    it shares nothing with the code that it is compared with but the reader of ResourceSlices."""
    names = [f"gpu-{number}" for number in range(one.count)]
    counters = {name: {"value": text} for name, text in one.counters}
    sets = [{"name": f"{name}-counters", "counters": counters} for name in names]
    specs: list[dict[str, object]] = [{"sharedCounters": sets[first : first + 8]} for first in range(0, len(sets), 8)]
    for name in names:
        counter_set = f"{name}-counters"
        devices = [_device(name, counter_set, dict(one.counters), one.capacity[0][1], type="gpu")]
        for part in one.partitions:
            devices += [
                _device(
                    f"{name}-{part.name}-{number}", counter_set, dict(part.consumes_counters), part.capacity[0][1],
                    type=part.attributes[0].text or "",
                )
                for number in range(part.count)
            ]  # fmt: skip
        specs.append({"devices": devices})
    pool = {"name": node, "generation": 1, "resourceSliceCount": len(specs)}
    manifests = [
        {"metadata": {"name": f"{node}-{index:02}"}, "spec": {"driver": DRIVER, "pool": pool, "nodeName": node, **spec}}
        for index, spec in enumerate(specs)
    ]
    return [resource_slice(msgspec.convert(manifest, wire.ResourceSlice)) for manifest in manifests]


def _random_request(rng: random.Random, devices: TemplateDevices) -> DeviceRequest:
    kinds = ["gpu", "mig", *(part.attributes[0].text or "" for part in devices.partitions)]
    least = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("{rng.choice((1, 10, 20, 40))}Gi")) >= 0'
    selector = rng.choice((f'{ATTRIBUTES}.type == "{rng.choice(kinds)}"', least, least))
    return request(rng.choice((1, 1, 1, 2)), selector)


def test_a_new_node_takes_the_pods_that_fit_on_one_with_the_slices_of_a_driver() -> None:
    """Random devices, partitions and pods of one kind: as many pods of a plan get room on one new node as `fit` places, one after
    the other, on a node with the slices written out."""
    placed = refused = 0
    for _ in range(40):
        seed = random.randrange(1 << 32)
        rng = random.Random(seed)
        devices, pods = _random_devices(rng), rng.randint(1, 12)
        wanted = _random_request(rng, devices)
        there, empty = DeviceCluster(), _empty()
        there.node("n", cpu="64", memory="256Gi")
        there.slices.extend(_published(devices, "n"))
        for cluster in (there, empty):
            cluster.train("wait", pods, wanted)

        expected = sum(node == 0 for node in one_by_one(there.world()))
        rules = policy(node_group("gpu", min=0, max=1, template=Template(devices=(devices,))))
        plan = plan_of(empty.world(), rules)

        assert sum(line.outcome is PodOutcome.TRIGGERS_SCALE_UP for line in plan.pods) == expected, seed
        placed, refused = placed + expected, refused + pods - expected
    assert placed > 40
    assert refused > 20
