"""What a new node offers of devices: declared by the policy, or seen on a node of the group. Outcomes were worked out by hand."""

import msgspec
import pytest

from reconciler.cluster.devices.resource_slice import ResourceSlice
from reconciler.cluster.targets.capacity import DEVICES_KEY, GPU_COUNT_KEY, annotated
from reconciler.plan.plan import NodeState, Plan, PodOutcome
from reconciler.policy.documents import DeviceAttribute, Limit, ScaleDown, Template, TemplateDevices
from tests.builders import NOW, node_group, policy
from tests.decisions.deciding import codes, group, node, plan_of, pod
from tests.decisions.device_cluster import DRIVER, DeviceCluster, gpu, request, slice_of

H100 = f'device.attributes["{DRIVER}"].model == "h100"'


def _declared(count: int = 8, **rest: object) -> Template:
    model = DeviceAttribute(name="model", text="h100")
    devices = TemplateDevices(name="gpu", driver=DRIVER, count=count, attributes=(model,), capacity=(("memory", "80Gi"),))
    return Template(devices=(msgspec.structs.replace(devices, **rest),))


def _plan(cluster: DeviceCluster, template: Template | None = None) -> Plan:
    fields = {} if template is None else {"template": template}
    return plan_of(cluster.world(), policy(node_group("gpu", min=0, max=9, **fields)))


def test_a_group_without_nodes_grows_by_the_devices_that_its_policy_declares() -> None:
    """17 pods with one device each, 8 devices per node: 3 nodes."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=0, cpu="64", memory="256Gi")
    cluster.train("wait", 17, request(1, H100))

    plan = _plan(cluster, _declared())

    assert group(plan, "gpu").desired == 3
    assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP}


def test_the_reason_names_the_device_the_request_and_the_selector() -> None:
    """Declared are h100, asked for is an a100. An empty list means that there are none."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=0, cpu="64", memory="256Gi")
    cluster.train("wait", 1, request(1, H100.replace("h100", "a100")))

    (line,) = _plan(cluster, _declared(2)).pods
    assert line.outcome is PodOutcome.UNPLACEABLE
    assert line.reasons[1].message == (
        "gpu: claim gpu: request r needs 1 of 2 devices here, 0 can be had (2 not selected by selector 1 of request r) "
        "[DynamicResources]"
    )
    (line,) = _plan(cluster, Template(devices=())).pods
    assert line.reasons[1].message == "gpu: claim gpu: request r needs 1 of 0 devices here, 0 can be had [DynamicResources]"


def test_a_declared_class_selects_whatever_its_selectors_say() -> None:
    """The class wants an attribute that is not declared, so that its selector would fail."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=0, cpu="64", memory="256Gi")
    cluster.train("wait", 3)
    odd = msgspec.structs.replace(cluster.world().device_classes[0], selectors=(f'device.attributes["{DRIVER}"].kind == "x"',))
    world = cluster.world(device_classes=(odd,))

    for device_class, nodes in (("gpu", 2), ("", 0)):
        rules = policy(node_group("gpu", min=0, max=9, template=_declared(2, device_class=device_class)))
        assert group(plan_of(world, rules), "gpu").desired == nodes


def test_a_target_states_the_devices_of_a_group_without_nodes() -> None:
    """The annotations say 2 GPUs: 3 pods need 2 nodes. What the policy writes, or a node has, counts instead."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=0, cpu="64", memory="256Gi")
    cluster.train("wait", 3)
    world = cluster.world()
    (target,) = world.targets
    gpus = annotated({DEVICES_KEY: DRIVER, GPU_COUNT_KEY: "2"}).devices
    stated = msgspec.structs.replace(target, template=msgspec.structs.replace(target.template, devices=gpus))
    world = msgspec.structs.replace(world, targets=(stated,))

    for template, nodes in ((None, 2), (_declared(3), 1), (Template(devices=()), 0)):
        fields = {} if template is None else {"template": template}
        assert group(plan_of(world, policy(node_group("gpu", min=0, max=9, **fields))), "gpu").desired == nodes


def test_a_node_of_the_group_shows_what_the_next_one_has() -> None:
    """One node with 4 devices, all in use: 6 pods need 2 more."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=1, cpu="64", memory="256Gi"), 4)
    cluster.train("run", on={"gpu-1": [f"gpu-{number}" for number in range(4)]})
    cluster.train("wait", 6)

    assert group(_plan(cluster), "gpu").desired == 3


def test_a_node_whose_driver_hides_devices_in_use_shows_nothing() -> None:
    """google/dranet#178: the slice of gpu-1 lacks gpu-0, which a claim has. It is no sample; gpu-2 is, with 4 devices."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=2, cpu="64", memory="256Gi")
    cluster.slices.append(slice_of("gpu-1", [gpu(1)]))
    cluster.train("run", on={"gpu-1": ["gpu-0", "gpu-1"]})
    cluster.train("wait", 5)
    assert group(_plan(cluster), "gpu").desired == 2
    assert pod(_plan(cluster), "shop/wait-1-1").outcome is PodOutcome.UNPLACEABLE

    cluster.gpus(["gpu-2"], 4)
    assert group(_plan(cluster), "gpu").desired == 3


def _starting(age: int, *slices: ResourceSlice, empty: int = 1, declared: int = 4) -> Plan:
    """Nodes that came `age` seconds ago, Ready, for pods with four devices each. The group declares that many."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=empty, cpu="64", memory="256Gi", created=NOW - age)
    cluster.slices.extend(slices)
    cluster.train("wait", empty, request(4))
    return _plan(cluster, _declared(declared))


INCOMPLETE = slice_of("gpu-1", [gpu(number) for number in range(4)], slice_count=2)


@pytest.mark.parametrize("slices", [(), (INCOMPLETE,)], ids=["none", "an incomplete pool"])
@pytest.mark.parametrize("age", [60, 600])
def test_a_node_keeps_the_devices_of_its_template_until_its_slices_are_complete(
    age: int, slices: tuple[ResourceSlice, ...]
) -> None:
    """Slices that are ten minutes late cost no second node: maxNodeStartupTime is 15 minutes."""
    plan = _starting(age, *slices)

    assert node(plan, "gpu-1").state is NodeState.NOT_STARTED
    assert [line.outcome for line in plan.pods] == [PodOutcome.FITS_UPCOMING]
    assert group(plan, "gpu").desired == 1
    assert "devices of gpu.example.com" in str([reason.data for reason in group(plan, "gpu").reasons])


def test_a_node_with_complete_slices_counts_as_it_is() -> None:
    """A minute old, and all four devices are there."""
    plan = _starting(60, slice_of("gpu-1", [gpu(number) for number in range(4)]))

    assert [(line.outcome, line.node) for line in plan.pods] == [(PodOutcome.FITS_EXISTING, "gpu-1")]


def test_slices_that_never_come_cost_one_more_node_and_no_third() -> None:
    """After 16 minutes without slices another node is tried, since one driver may be broken. Two such nodes prove the lack."""
    assert group(_starting(960), "gpu").desired == 2
    plan = _starting(960, empty=2)
    assert group(plan, "gpu").desired == 2
    assert "TemplateRefuted" in codes(pod(plan, "shop/wait-1-1"))


def test_a_template_that_promises_more_than_its_node_has_adds_no_second_node() -> None:
    """Declared are four devices; the complete slice of the empty node has two."""
    plan = _starting(960, slice_of("gpu-1", [gpu(0), gpu(1)]))

    assert group(plan, "gpu").desired == 1
    line = pod(plan, "shop/wait-1-1")
    assert line.outcome is PodOutcome.UNPLACEABLE
    assert "its empty node gpu-1 rejects it: claim gpu: request r needs 4 of 2 devices here" in str(line.reasons)


def test_a_limit_counts_devices() -> None:
    """Four devices per node and at most 10: the node that is there and one more. The reason names the limit."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=1, cpu="64", memory="256Gi"), 4)
    cluster.train("wait", 16)
    limit = Limit(name="cards", max=((f"devices-{DRIVER}", 10),))

    plan = plan_of(cluster.world(), policy(node_group("gpu", min=0, max=9), limits=(limit,)))

    assert group(plan, "gpu").desired == 2
    waiting = [line for line in plan.pods if line.outcome is PodOutcome.UNPLACEABLE]
    assert len(waiting) == 8
    assert "LimitReached" in codes(waiting[0])
    assert f"devices-{DRIVER}" in str(waiting[0].reasons)


@pytest.mark.parametrize(("late", "size"), [(False, 2), (True, 2)])
def test_a_node_counts_with_the_devices_of_its_template_while_its_driver_is_late(late: bool, size: int) -> None:
    """A node for which nobody waits costs its four devices too: of 8 allowed, four are left for one more."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=1, cpu="64", memory="256Gi", created=NOW - 60)
    if not late:
        cluster.gpus(["gpu-1"], 4)
    cluster.train("wait", 12)
    limit = Limit(name="cards", max=((f"devices-{DRIVER}", 8),))
    rules = policy(node_group("gpu", min=0, max=9, template=_declared(4)), limits=(limit,))

    assert group(plan_of(cluster.world(), rules), "gpu").desired == size


def test_a_limit_keeps_devices() -> None:
    """Of two idle nodes with four devices each, one may leave: at least 4 are kept."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=2, cpu="64", memory="256Gi"), 4)
    limit = Limit(name="cards", min=((f"devices-{DRIVER}", 4),))
    at_once = ScaleDown(unneeded_time_seconds=0)

    plan = plan_of(cluster.world(), policy(node_group("gpu", min=0, max=9, scale_down=at_once), limits=(limit,)))

    assert group(plan, "gpu").desired == 1
    assert [line.node for line in plan.nodes if "LimitMin" in [one.code for one in line.blockers]] == ["gpu-2"]
