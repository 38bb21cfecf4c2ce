"""How many new nodes pods with volumes need: limits of drivers, and the room that drivers of local disks have on a node.

Expected sizes are hand arithmetic. What a node that is there takes is kube-scheduler's rule
(tests/scheduling/volumes/test_volumes.py).
"""

from textwrap import dedent

import msgspec
import pytest

from reconciler.cluster.nodes.attachment import CsiDriver, StorageCapacity
from reconciler.cluster.pods.pod import VolumeUse
from reconciler.cluster.target import TargetTemplate
from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.cluster.volume import CsiDriverLimit, CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass
from reconciler.cluster.world import Storage, World
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from reconciler.policy.documents import Size, Template
from reconciler.policy.tree import read_tree
from reconciler.simulation.settled import settled
from reconciler.values.label_selector import LabelSelector, Requirement
from tests.builders import NOW, ClusterBuilder, amounts, node_group, policy
from tests.decisions.deciding import codes, group, plan_of, pod

DISK, LVM = "disk.example.com", "lvm.example.com"
DISK_LIMIT = "attachable-volumes-csi-disk.example.com"
GI = 1 << 30
CLASSES = (
    StorageClass(name="disk", provisioner=DISK, binding_mode="WaitForFirstConsumer"),
    StorageClass(name="lvm", provisioner=LVM, binding_mode="WaitForFirstConsumer"),
)
NODE_KEY = "topology.lvm.example.com/node"


def _claims(cluster: ClusterBuilder, storage_class: str, count: int, gib: int = 10) -> tuple[PersistentVolumeClaim, ...]:
    """As many pods with a volume each that nobody has made yet."""
    for number in range(count):
        uses = {"volumes": (VolumeUse(kind="PersistentVolumeClaim", claim=f"data-{number}"),)}
        cluster.pods(f"db-{number}", 1, cpu="100m", shape=uses)
    return tuple(
        PersistentVolumeClaim(
            namespace="shop",
            name=f"data-{number}",
            uid=f"uid-{number}",
            storage_class=storage_class,
            access_modes=("ReadWriteOnce",),
            requested_bytes=gib * GI,
            phase="Pending",
        )
        for number in range(count)
    )


def _attaching(*limits: int | None, pods: int = 5, unready: int = 0, template: TargetTemplate | None = None) -> World:
    """A group of full nodes with these limits (None: its driver has not registered), and pods with a volume each."""
    cluster = ClusterBuilder()
    offered = msgspec.structs.replace(
        template or TargetTemplate(), capacity=amounts("4", "16Gi", 110), allocatable=amounts("4", "16Gi", 110)
    )
    ref = cluster.target("gen", len(limits), template=offered)
    for number in range(len(limits)):
        name = cluster.node(f"gen-{number}", ready=number >= unready)
        cluster.machine(name, ref, node=name)
        cluster.pods(f"full-{number}", 1, cpu="4", on=name)
    registered = [
        CsiNode(name=f"gen-{number}", drivers=(CsiDriverLimit(driver=DISK, count=limit),))
        for number, limit in enumerate(limits)
        if limit is not None
    ]
    storage = Storage(claims=_claims(cluster, "disk", pods), classes=CLASSES, csi_nodes=tuple(registered))
    return cluster.world(storage=storage)


def _decided(world: World, template: Template | None = None) -> Plan:
    written = {"template": template} if template is not None else {}
    return plan_of(world, policy(node_group("gen", size=Size(min=0, max=20), **written)))


def _new(plan: Plan) -> int:
    line = group(plan, "gen")
    return line.desired - (line.current or 0)


@pytest.mark.parametrize(
    ("limits", "nodes"),
    [
        ((2,), 3),  # five volumes, two a node
        ((3, 2), 3),  # the smallest counts
        ((2, None), 3),  # a node without the driver says nothing
        ((None,), 1),  # nobody knows a limit
        ((5,), 1),
        ((1,), 5),
    ],
)
def test_limits_of_the_nodes_that_are_there(limits: tuple[int | None, ...], nodes: int) -> None:
    assert _new(_decided(_attaching(*limits))) == nodes


@pytest.mark.parametrize(("limits", "nodes"), [((), 1), ((5,), 1), ((5, None), 1), ((None,), 1)])
def test_new_nodes_have_the_required_drivers_of_those_that_are_there(limits: tuple[int | None, ...], nodes: int) -> None:
    """Of a group whose nodes say nothing, nobody knows better: without a first node it would never have one."""
    world = _attaching(*limits)
    storage = msgspec.structs.replace(world.storage, csi_drivers=(CsiDriver(name=DISK, required=True),))
    assert _new(_decided(msgspec.structs.replace(world, storage=storage))) == nodes


def test_a_group_whose_nodes_lack_a_required_driver_does_not_grow_for_it() -> None:
    """Its node has registered another driver with a required name."""
    world = _attaching(5)
    other = CsiDriver(name="other.example.com", required=True)
    registered = CsiNode(name="gen-0", drivers=(CsiDriverLimit(driver=other.name, count=None),))
    drivers = (CsiDriver(name=DISK, required=True), other)
    storage = msgspec.structs.replace(world.storage, csi_drivers=drivers, csi_nodes=(registered,))
    assert _new(_decided(msgspec.structs.replace(world, storage=storage))) == 0


def test_a_node_that_is_not_ready_tells_no_limit() -> None:
    """One of the two says 1, and is not ready."""
    assert _new(_decided(_attaching(1, 5, unready=1))) == 1


def test_the_policy_states_a_limit_from_zero() -> None:
    """Two a node, also from zero; the resource is none that the node has for pods to request."""
    stated = Template(capacity=((DISK_LIMIT, 2),))
    plan = _decided(_attaching(), stated)
    assert _new(plan) == 3


def test_the_target_states_a_limit_from_zero() -> None:
    assert _new(_decided(_attaching(template=TargetTemplate(attach_limits=((DISK, 2),))))) == 3
    assert _new(_decided(_attaching(template=TargetTemplate(attach_limits=(("other.example.com", 2),))))) == 1


def test_none_at_all_may_be_stated() -> None:
    assert _new(_decided(_attaching(), Template(capacity=((DISK_LIMIT, 0),)))) == 0


def test_the_policy_wins_over_the_target() -> None:
    world = _attaching(template=TargetTemplate(attach_limits=((DISK, 5),)))
    assert _new(_decided(world, Template(capacity=((DISK_LIMIT, 1),)))) == 5


def test_a_limit_in_a_policy_file() -> None:
    """It is no resource of the node, and `explain group` shows it as it is written."""
    text = """
        apiVersion: reconciler.dev/v1alpha1
        kind: NodeGroupPolicy
        metadata: {name: prod}
        spec: {}
        ---
        apiVersion: reconciler.dev/v1alpha1
        kind: NodeGroup
        metadata: {name: gen, namespace: x}
        spec:
          policyRef: {name: prod}
          target: {clusterAPI: {kind: MachineDeployment, namespace: prod, name: gen}}
          size: {max: 9}
          template:
            capacity: {cpu: 4, memory: 16Gi, attachable-volumes-csi-disk.example.com: 2}
    """
    tree = read_tree({"p.yaml": dedent(text).encode()}, now_seconds=NOW)
    assert tree.problems == ()
    (found,) = effective_groups(_attaching(), tree.sets[0], NOW)
    assert found.template is not None
    assert found.template.volumes.limits == ((DISK, 2),)
    assert found.template.allocatable == amounts("4", "16Gi", 110)
    assert f"{DISK_LIMIT} 2" in found.chains["template.capacity"][0].value
    assert group(plan_of(_attaching(), tree.sets[0]), "gen").desired == 3


def test_nodes_that_attach_less_than_is_stated_are_believed() -> None:
    """Stated are 5, the node attaches 2."""
    assert _new(_decided(_attaching(2), Template(capacity=((DISK_LIMIT, 5),)))) == 3


def test_a_pod_with_more_volumes_than_any_node_attaches() -> None:
    cluster = ClusterBuilder()
    cluster.group("gen", nodes=1)
    claims = _claims(cluster, "disk", 3)
    uses = tuple(VolumeUse(kind="PersistentVolumeClaim", claim=f"data-{number}") for number in range(3))
    cluster.pods("big", 1, cpu="3500m", shape={"volumes": uses})
    limit = (CsiDriverLimit(driver=DISK, count=2),)
    storage = Storage(claims=claims, classes=CLASSES, csi_nodes=(CsiNode(name="gen-1", drivers=limit),))
    plan = plan_of(cluster.world(storage=storage), policy(node_group("gen", size=Size(max=9))))
    assert group(plan, "gen").desired == 2
    assert "GroupRejects" in codes(pod(plan, "shop/big-1"))
    said = " ".join(reason.message for reason in pod(plan, "shop/big-1").reasons)
    assert "disk.example.com attaches at most 2: 0 are there, 3 more needed" in said


def test_groups_that_differ_in_limits_alone() -> None:
    """Nodes of `few` attach one volume, those of `many` attach five: one node of `many` serves all, and no answer for the one
    group stands for the other."""
    cluster = ClusterBuilder()
    for name in ("few", "many"):
        cluster.group(name, nodes=1, labels={"pool": "same"})
        cluster.pods(f"full-{name}", 1, cpu="4", on=f"{name}-1")
    limits = {"few-1": (CsiDriverLimit(driver=DISK, count=1),), "many-1": (CsiDriverLimit(driver=DISK, count=5),)}
    nodes = tuple(CsiNode(name=name, drivers=drivers) for name, drivers in limits.items())
    storage = Storage(claims=_claims(cluster, "disk", 5), classes=CLASSES, csi_nodes=nodes)
    rules = policy(node_group("few", size=Size(max=9)), node_group("many", size=Size(max=9)))
    plan = plan_of(cluster.world(storage=storage), rules)
    assert (group(plan, "few").desired, group(plan, "many").desired) == (1, 2)


# Room on the node itself.


def _on(key: str, value: str) -> LabelSelector:
    return LabelSelector((Requirement(key, "In", (value,)),))


def _local(
    *,
    left: int,
    largest: int | None = None,
    taken: int = 0,
    pods: int = 5,
    gib: int = 10,
    key: str = NODE_KEY,
    value: str = "gen-1",
    tracked: bool = True,
) -> World:
    """A full node whose driver has `left` GiB left and made volumes of `taken`, and pods with a volume of `gib` each."""
    cluster = ClusterBuilder()
    cluster.group("gen", nodes=1, labels={"topology.kubernetes.io/zone": "z1"})
    cluster.pods("full", 1, cpu="4", on="gen-1")
    limit = left if largest is None else largest
    here = (NodeSelectorTerm((Requirement(NODE_KEY, "In", ("gen-1",)),)),)
    volume = PersistentVolume(
        name="pv", driver=LVM, handle="pv", storage_class="lvm", capacity_bytes=taken * GI, required_terms=here, phase="Bound"
    )
    storage = Storage(
        claims=_claims(cluster, "lvm", pods, gib),
        classes=CLASSES,
        volumes=(volume,) if taken else (),
        csi_nodes=(CsiNode(name="gen-1", drivers=(CsiDriverLimit(driver=LVM, topology_keys=(NODE_KEY,)),)),),
        csi_drivers=(CsiDriver(name=LVM, storage_capacity=tracked),),
        capacities=(
            StorageCapacity(
                namespace="x",
                name="c",
                storage_class="lvm",
                nodes=_on(key, value),
                limit_bytes=limit * GI,
                left_bytes=left * GI,
            ),
        ),
    )
    return cluster.world(storage=storage)


@pytest.mark.parametrize(
    ("world", "nodes"),
    [
        (_local(left=50), 1),
        (_local(left=49), 2),  # four of 10 a node
        (_local(left=20), 3),
        (_local(left=0, taken=20), 3),  # an empty node has what volumes take on this one
        (_local(left=5), 0),
        (_local(left=50, largest=9), 0),  # the driver makes no volume as large
        (_local(left=50, largest=10), 1),
        (_local(left=20, key="kubernetes.io/hostname"), 3),
        (_local(left=0, tracked=False), 1),  # nobody is to believe the number
        (_local(left=0, key="topology.kubernetes.io/zone", value="z2"), 0),  # not of this node alone, and elsewhere
    ],
)
def test_room_on_the_node_itself(world: World, nodes: int) -> None:
    assert _new(_decided(world)) == nodes


def _at_zero(*, tracked: bool = True, nodes: int = 0) -> World:
    """A group of which no driver has said anything, and five pods with a volume of 10 GiB each."""
    cluster = ClusterBuilder()
    cluster.group("gen", nodes=nodes)
    storage = Storage(
        claims=_claims(cluster, "lvm", 5), classes=CLASSES, csi_drivers=(CsiDriver(name=LVM, storage_capacity=tracked),)
    )
    return cluster.world(storage=storage)


def _declared(**room: str) -> Template:
    return Template(storage=tuple(room.items()))


@pytest.mark.parametrize(
    ("world", "template", "nodes"),
    [
        (_at_zero(), None, 0),
        (_at_zero(), _declared(lvm="20Gi"), 3),
        (_at_zero(), _declared(lvm="49Gi"), 2),
        (_at_zero(), _declared(lvm="9Gi"), 0),
        (_at_zero(), _declared(disk="100Gi"), 0),
        (_at_zero(tracked=False), _declared(lvm="20Gi"), 3),  # the driver reports nothing, but its disks are not larger
        (_local(left=20), _declared(lvm="100Gi"), 3),  # the node that is there has less
        (_local(left=50), _declared(lvm="20Gi"), 3),
    ],
)
def test_the_policy_declares_room_on_the_node_itself(world: World, template: Template | None, nodes: int) -> None:
    """kubernetes/autoscaler#5093: without a node, nothing tells what its driver will report."""
    assert _new(_decided(world, template)) == nodes


@pytest.mark.parametrize(("age", "nodes"), [(60, 0), (960, 3)])
def test_a_new_node_keeps_its_room_until_its_driver_reports(age: int, nodes: int) -> None:
    """Drivers report some time after the node is Ready. Two pods with 10 GiB are expected there, so that two more nodes would do
    for the others. After maxNodeStartupTime (15 minutes) nothing is expected any more."""
    cluster = ClusterBuilder()
    cluster.group("gen", nodes=1, created=NOW - age)
    storage = Storage(
        claims=_claims(cluster, "lvm", 2 if age == 60 else 5), classes=CLASSES,
        csi_drivers=(CsiDriver(name=LVM, storage_capacity=True),),
    )  # fmt: skip
    assert _new(_decided(cluster.world(storage=storage), _declared(lvm="20Gi"))) == nodes


@pytest.mark.parametrize("world", [_attaching(2), _local(left=20)])
def test_what_settles_is_what_was_decided(world: World) -> None:
    """Nodes that come by the template hold the pods that they were added for: nothing is added a second time."""
    rules = policy(node_group("gen", size=Size(min=0, max=20)))
    plan = plan_of(world, rules)
    assert group(settled(world, rules, Memory(), NOW, plan), "gen").settled == 4
