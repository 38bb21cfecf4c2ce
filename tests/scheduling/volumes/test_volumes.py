"""The four volume plugins, by small cases that can be followed by hand."""

import msgspec
import pytest

from reconciler.cluster.nodes.attachment import CsiDriver, StorageCapacity, VolumeAttachment
from reconciler.cluster.nodes.node import HOSTNAME_LABEL, NodeVolumes
from reconciler.cluster.pods.pod import VolumeUse
from reconciler.cluster.values.kubernetes_version import KubernetesVersion
from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.cluster.volume import CsiDriverLimit, CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass
from reconciler.cluster.world import Storage
from reconciler.scheduling.predicates.volume_restrictions import disks_conflict
from reconciler.scheduling.state import SchedulingState
from reconciler.scheduling.volumes.migration import translated_terms, volume_handle
from reconciler.values.label_selector import LabelSelector, Requirement
from tests.builders import ClusterBuilder

ZONE = "topology.kubernetes.io/zone"
DRIVER = "disk.csi.example.com"
LATER = StorageClass(name="later", provisioner=DRIVER, binding_mode="WaitForFirstConsumer")
LOCAL = StorageClass(name="local", provisioner="kubernetes.io/no-provisioner", binding_mode="WaitForFirstConsumer")
_GIB = 1 << 30


def _term(key: str, *values: str) -> tuple[NodeSelectorTerm, ...]:
    return (NodeSelectorTerm((Requirement(key, "In", values),)),)


def _claim(name: str, **fields: object) -> PersistentVolumeClaim:
    given = {"namespace": "shop", "name": name, "uid": f"uid-{name}", "access_modes": ("ReadWriteOnce",), "phase": "Pending"}
    return PersistentVolumeClaim(**{**given, "requested_bytes": _GIB, **fields})


def _bound(name: str, volume: str, **fields: object) -> PersistentVolumeClaim:
    return _claim(name, volume=volume, bind_completed=True, phase="Bound", **fields)


def _volume(name: str, **fields: object) -> PersistentVolume:
    given = {"driver": DRIVER, "handle": name, "capacity_bytes": 5 * _GIB, "access_modes": ("ReadWriteOnce",)}
    return PersistentVolume(**{"name": name, "phase": "Available", **given, **fields})


def _uses(*claims: str) -> dict[str, object]:
    return {"volumes": tuple(VolumeUse(kind="PersistentVolumeClaim", claim=claim) for claim in claims)}


def _state(
    storage: Storage, *pods: tuple[str, dict[str, object], str | None], nodes: int = 3, version: KubernetesVersion = (1, 37, 0)
) -> SchedulingState:
    """Nodes n0, n1, … in zones a, b, c and one pod a given (name, shape, node); its shape is at its position by name."""
    cluster = ClusterBuilder()
    for number in range(nodes):
        cluster.node(f"n{number}", labels={ZONE: "abc"[number % 3]})
    for name, shape, node in pods:
        cluster.pods(name, 1, cpu="1", on=node, shape=shape)
    return SchedulingState(cluster.world(storage=storage, scheduler_version=version))


def _says(state: SchedulingState, shape: int = 0) -> list[list[str]]:
    return [[said.plugin for said in state.verdict(shape, node)] for node in range(state.node_count)]


def test_a_missing_claim_is_named_by_four_plugins() -> None:
    """Every plugin that looks at claims rejects every node."""
    four = ["NodeVolumeLimits", "VolumeBinding", "VolumeRestrictions", "VolumeZone"]

    assert _says(_state(Storage(), ("web", _uses("data"), None))) == [four] * 3


def test_a_bound_volume_is_used_where_it_can_be() -> None:
    """The volume's node affinity decides."""
    storage = Storage(volumes=(_volume("pv", required_terms=_term(ZONE, "b")),), claims=(_bound("data", "pv"),))

    assert _says(_state(storage, ("web", _uses("data"), None))) == [["VolumeBinding"], [], ["VolumeBinding"]]


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (_claim("data", storage_class="now"), "claim data is not bound"),
        (_claim("data", volume="pv", storage_class="later"), "claim data is not bound"),
        (_bound("data", "gone"), "volume gone of claim data does not exist"),
        (_claim("data", volume="pv", phase="Lost"), "claim data has lost its volume pv"),
        (_bound("data", "pv", deleting=True), "claim data is being deleted"),
    ],
)
def test_claims_that_nothing_can_be_done_about(claim: PersistentVolumeClaim, message: str) -> None:
    """An unbound claim that does not wait for a consumer, a lost, a deleted and an unfounded one reject every node."""
    now = StorageClass(name="now", provisioner=DRIVER)
    state = _state(Storage(volumes=(_volume("pv"),), claims=(claim,), classes=(LATER, now)), ("web", _uses("data"), None))

    said = {item.plugin: item.message for item in state.verdict(0, 1)}

    assert said["VolumeBinding"] == message
    assert state.place(0, 1) == ()


def test_a_waiting_claim_goes_where_its_class_provisions() -> None:
    """allowedTopologies leaves zones b and c."""
    zonal = StorageClass(
        name="later", provisioner=DRIVER, binding_mode="WaitForFirstConsumer", allowed_topologies=_term(ZONE, "b", "c")
    )
    state = _state(Storage(claims=(_claim("data", storage_class="later"),), classes=(zonal,)), ("web", _uses("data"), None))

    assert _says(state) == [["VolumeBinding"], [], []]


def test_pods_that_share_a_waiting_claim_follow_the_first() -> None:
    """The claim gets its volume on the node of the first pod: of six pods of 1 cpu, four fit there, the others nowhere."""
    state = _state(Storage(claims=(_claim("data", storage_class="later"),), classes=(LATER,)), ("web", _uses("data"), None))
    mark = state.mark()

    assert state.place(0, 6, [1, 0, 2] * 9) == ((1, 4),)
    state.undo(mark)
    assert state.place(0, 6, [1, 0, 2]) == ((1, 4),)
    assert _says(state) == [["VolumeBinding"], ["NodeResourcesFit"], ["VolumeBinding"]]
    state.undo(mark)
    assert _says(state) == [[], [], []]


def test_a_claim_that_is_being_provisioned_keeps_its_node() -> None:
    """The scheduler's own choice is written on the claim."""
    claim = _claim("data", storage_class="later", selected_node="n2")

    assert _says(_state(Storage(claims=(claim,), classes=(LATER,)), ("web", _uses("data"), None))) == [
        ["VolumeBinding"],
        ["VolumeBinding"],
        [],
    ]


def test_a_local_volume_serves_one_claim() -> None:
    """Two claims, one volume on n1: the pod that comes first takes it."""
    volume = _volume("disk", storage_class="local", driver="Local", required_terms=_term("kubernetes.io/hostname", "n1"))
    claims = (_claim("one", storage_class="local"), _claim("two", storage_class="local"))
    state = _state(
        Storage(volumes=(volume,), claims=claims, classes=(LOCAL,)), ("a", _uses("one"), None), ("b", _uses("two"), None)
    )

    assert _says(state, 0) == _says(state, 1) == [["VolumeBinding"], [], ["VolumeBinding"]]
    assert state.place(1, 1) == ((1, 1),)
    assert state.place(0, 1) == ()


def test_two_claims_of_a_pod_take_two_volumes() -> None:
    """Once the pod is placed, neither of the two local volumes is left for a third claim."""
    volumes = tuple(_volume(name, storage_class="local", driver="Local") for name in ("d1", "d2"))
    claims = tuple(_claim(name, storage_class="local") for name in ("one", "three", "two"))
    state = _state(
        Storage(volumes=volumes, claims=claims, classes=(LOCAL,)), ("a", _uses("one", "two"), None), ("b", _uses("three"), None)
    )

    assert state.fits(1, 0)
    assert state.place(0, 1) == ((0, 1),)
    assert _says(state, 1) == [["VolumeBinding"]] * 3


@pytest.mark.parametrize(
    "unfit",
    [
        {"capacity_bytes": _GIB - 1},
        {"phase": "Released"},
        {"volume_mode": "Block"},
        {"deleting": True},
        {"claim": "shop/other"},
        {"access_modes": ("ReadOnlyMany",)},
        {"storage_class": "other"},
        {"attributes_class": "gold"},
    ],
)
def test_volumes_that_do_not_match_a_claim(unfit: dict[str, object]) -> None:
    """Too small, not available, of another mode or class, reserved for somebody else: no match."""
    volume = _volume("disk", **{"storage_class": "local", "driver": "Local", **unfit})
    storage = Storage(volumes=(volume,), claims=(_claim("one", storage_class="local"),), classes=(LOCAL,))

    assert _says(_state(storage, ("a", _uses("one"), None)))[0] == ["VolumeBinding"]


def test_capacity_that_a_driver_reports() -> None:
    """Only zone a has enough left; a driver that does not track capacity is believed everywhere."""
    zone_a = LabelSelector((Requirement(ZONE, "In", ("a",)),))
    capacities = (
        StorageCapacity(namespace="x", name="a", storage_class="later", nodes=zone_a, limit_bytes=_GIB),
        StorageCapacity(namespace="x", name="b", storage_class="later", nodes=LabelSelector(), limit_bytes=_GIB - 1),
        StorageCapacity(namespace="x", name="c", storage_class="later", nodes=None, limit_bytes=9 * _GIB),
    )
    for tracked, fits in ((True, [True, False, False]), (False, [True, True, True])):
        storage = Storage(
            claims=(_claim("data", storage_class="later"),),
            classes=(LATER,),
            csi_drivers=(CsiDriver(name=DRIVER, storage_capacity=tracked),),
            capacities=capacities,
        )
        state = _state(storage, ("web", _uses("data"), None))

        assert [state.fits(0, node) for node in range(3)] == fits


def test_read_write_once_pod() -> None:
    """A claim for one pod rejects every node while another pod has it, and one pod is placed at most."""
    storage = Storage(volumes=(_volume("pv"),), claims=(_bound("data", "pv", access_modes=("ReadWriteOncePod",)),))
    taken = _state(storage, ("a", _uses("data"), "n0"), ("b", _uses("data"), None))
    free = _state(storage, ("a", _uses("data"), None))

    assert _says(taken, 0) == [["VolumeRestrictions"]] * 3
    assert free.place(0, 5) == ((0, 1),)


@pytest.mark.parametrize(
    ("kind", "read_only", "clash"),
    [
        ("GCEPersistentDisk", True, False),
        ("GCEPersistentDisk", False, True),
        ("AWSElasticBlockStore", True, True),
        ("ISCSI", True, False),
        ("RBD", False, True),
        ("RBD", True, False),
        ("AzureDisk", False, False),
    ],
)
def test_disks_shared_on_a_node(kind: str, read_only: bool, clash: bool) -> None:
    """Reading is shared but for Amazon volumes; Azure disks are not looked at."""
    disk = VolumeUse(kind=kind, identity="d", read_only=read_only)

    assert disks_conflict(disk, disk) is clash
    assert not disks_conflict(disk, VolumeUse(kind=kind, identity="other"))
    writing = VolumeUse(kind=kind, identity="d")
    assert disks_conflict(disk, writing) is disks_conflict(writing, disk) is (kind != "AzureDisk")
    assert not disks_conflict(disk, VolumeUse(kind="GCEPersistentDisk" if kind == "RBD" else "RBD", identity="d"))
    state = _state(Storage(), ("a", {"volumes": (disk,)}, None))
    assert (state.place(0, 5) == ((0, 1), (1, 1), (2, 1))) is clash


def test_portworx_disks_count_for_the_driver_that_took_them_over() -> None:
    """Named by the pod or behind a claim, bound or still to be made: each fills one place of `pxd.portworx.com`."""
    nodes = tuple(
        CsiNode(name=f"n{number}", drivers=(CsiDriverLimit(driver="pxd.portworx.com", count=number),)) for number in range(3)
    )
    portworx = StorageClass(name="px", provisioner="kubernetes.io/portworx-volume", binding_mode="WaitForFirstConsumer")
    storage = Storage(
        volumes=(_volume("pv", driver="PortworxVolume", handle="px-1"),),
        claims=(_bound("data", "pv"), _claim("later", storage_class="px")),
        classes=(portworx,),
        csi_nodes=nodes,
    )
    inline = {"volumes": (VolumeUse(kind="PortworxVolume", identity="px-2"),)}
    for shape in (inline, _uses("data"), _uses("later")):
        assert _says(_state(storage, ("web", shape, None))) == [["NodeVolumeLimits"], [], []]


def test_volume_zones() -> None:
    """Labels of a volume name its zones, several with two underscores; the old label is met by the new one."""
    volume = _volume("pv", labels=(("failure-domain.beta.kubernetes.io/zone", "b__c"),))
    storage = Storage(volumes=(volume,), claims=(_bound("data", "pv"),))

    assert _says(_state(storage, ("web", _uses("data"), None))) == [["VolumeZone"], [], []]


def _limited(*limits: int | None) -> tuple[CsiNode, ...]:
    return tuple(
        CsiNode(name=f"n{number}", drivers=(CsiDriverLimit(driver=DRIVER, count=count),)) for number, count in enumerate(limits)
    )


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (
            _term(HOSTNAME_LABEL, "gone"),
            f"{HOSTNAME_LABEL}=gone, but this node has {HOSTNAME_LABEL}=n0. No node is left that has it",
        ),
        (_term("rack", "r1", "r2"), "rack in (r1,r2), but this node has no rack. No node is left that has it"),
        (_term(ZONE, "b"), f"{ZONE}=b, but this node has {ZONE}=a"),
    ],
)
def test_a_volume_names_the_place_that_it_needs(terms: tuple[NodeSelectorTerm, ...], message: str) -> None:
    """The zone or the host, what this node has instead, and whether any node has it."""
    storage = Storage(volumes=(_volume("pv", required_terms=terms),), claims=(_bound("data", "pv"),))
    (said,) = _state(storage, ("web", _uses("data"), None)).verdict(0, 0)
    assert said.message == f"volume pv needs {message}"


def test_a_new_node_has_the_limit_of_its_template_and_no_other() -> None:
    """A limit goes with the trial node that has it: the next one of the same number has its own, or none."""
    storage = Storage(
        volumes=tuple(_volume(name, phase="Bound") for name in ("pv1", "pv2")),
        claims=(_bound("one", "pv1"), _bound("two", "pv2")),
    )
    state = _state(storage, ("both", _uses("one", "two"), None), ("one", _uses("one"), None), nodes=1)
    plain = state.shape_of(0)
    for limit, fits in ((1, False), (None, True), (2, True), (1, False)):
        volumes = NodeVolumes(limits=((DRIVER, limit),)) if limit is not None else NodeVolumes()
        mark = state.mark()
        node = state.add_node("new", msgspec.structs.replace(plain, volumes=volumes))
        assert state.fits(0, node) is fits
        assert len(state.place(0, 1, [node])) == fits
        if limit == 1:
            assert state.place(1, 1, [node]) == ((node, 1),)
        state.undo(mark)


def test_volume_limits() -> None:
    """Limits of 0, 1 and none; one volume is attached once however many pods use it, and an idle attachment counts."""
    storage = Storage(
        volumes=(_volume("one"), _volume("two"), _volume("idle")),
        claims=(_bound("one", "one"), _bound("two", "two")),
        csi_nodes=_limited(0, 1, None),
    )
    state = _state(storage, ("a", _uses("one"), None), ("b", _uses("two"), None))

    assert _says(state) == [["NodeVolumeLimits"], [], []]
    state.bind(0, 1)
    assert _says(state, 0) == [["NodeVolumeLimits"], [], []]
    assert _says(state, 1) == [["NodeVolumeLimits"], ["NodeVolumeLimits"], []]
    state.unbind(0, 1)
    assert _says(state, 1) == [["NodeVolumeLimits"], [], []]


def test_a_driver_that_nodes_must_have() -> None:
    """Since 1.37, n1 and n2 are out: the CSINode of one has another driver, and the other has no CSINode. No limit is set."""
    csi_nodes = (*_limited(None), CsiNode(name="n1", drivers=(CsiDriverLimit(driver="other.example.com", count=None),)))
    storage = Storage(
        volumes=(_volume("one", phase="Bound"),),
        claims=(_bound("one", "one"),),
        csi_nodes=csi_nodes,
        csi_drivers=(CsiDriver(name=DRIVER, required=True),),
    )
    state = _state(storage, ("a", _uses("one"), None))

    assert _says(state) == [[], ["NodeVolumeLimits"], ["NodeVolumeLimits"]]
    assert [state.fits(0, node) for node in range(3)] == [True, False, False]
    assert [one.message for one in state.verdict(0, 2)] == [f"the node has no driver {DRIVER}"]
    assert _says(_state(storage, ("a", _uses("one"), None), version=(1, 36, 9))) == [[], [], []]
    free = msgspec.structs.replace(storage, csi_drivers=(CsiDriver(name=DRIVER),))
    assert _says(_state(free, ("a", _uses("one"), None))) == [[], [], []]


def test_a_new_node_has_the_drivers_of_its_template() -> None:
    """It has no CSINode yet."""
    storage = Storage(
        volumes=(_volume("one", phase="Bound"),),
        claims=(_bound("one", "one"),),
        csi_drivers=(CsiDriver(name=DRIVER, required=True),),
    )
    state = _state(storage, ("a", _uses("one"), None), nodes=1)
    for drivers, fits in (((), False), ((DRIVER,), True), (("other.example.com",), False)):
        mark = state.mark()
        volumes = NodeVolumes(required=drivers)
        node = state.add_node("new", msgspec.structs.replace(state.shape_of(0), volumes=volumes))
        assert state.fits(0, node) is fits
        state.undo(mark)


def test_attachments_without_a_pod_count() -> None:
    """A volume that is still attached to n0 takes its place there."""
    storage = Storage(
        volumes=(_volume("one"), _volume("idle")),
        claims=(_bound("one", "one"),),
        csi_nodes=_limited(1, 1),
        attachments=(VolumeAttachment(name="x", driver=DRIVER, node="n0", volume="idle"),),
    )

    assert _says(_state(storage, ("a", _uses("one"), None), nodes=2)) == [["NodeVolumeLimits"], []]


def test_disks_that_a_driver_took_over() -> None:
    """The zone becomes the driver's own key, from the affinity or else from the label; handles are the driver's."""
    amazon = _volume("pv", driver="AWSElasticBlockStore", handle="aws://eu-1a/vol-1", required_terms=_term(ZONE, "a"))
    google = _volume("pv", driver="GCEPersistentDisk", handle="disk", labels=((ZONE, "a"),))

    assert translated_terms(amazon) == _term("topology.ebs.csi.aws.com/zone", "a")
    assert volume_handle(amazon) == "vol-1"
    assert translated_terms(google) == _term("topology.gke.io/zone", "a")
    assert volume_handle(google) == "projects/UNSPECIFIED/zones/a/disks/disk"


def test_an_attachment_that_a_pod_uses_counts_once() -> None:
    """The volume of the bound pod is attached as well: of two places one is left."""
    storage = Storage(
        volumes=(_volume("one"), _volume("two")),
        claims=(_bound("one", "one"), _bound("two", "two")),
        csi_nodes=_limited(2),
        attachments=(VolumeAttachment(name="x", driver=DRIVER, node="n0", volume="one"),),
    )

    assert _says(_state(storage, ("a", _uses("one"), "n0"), ("b", _uses("two"), None), nodes=1), 1) == [[]]


def _message(state: SchedulingState, plugin: str, node: int = 0, shape: int = 0) -> str:
    return {said.plugin: said.message for said in state.verdict(shape, node)}[plugin]


def test_what_each_plugin_says_with_names_and_numbers() -> None:
    """The claim, volume, class, driver or zone that is in the way, and how many there are."""
    zonal = StorageClass(
        name="zonal", provisioner=DRIVER, binding_mode="WaitForFirstConsumer", allowed_topologies=_term(ZONE, "b")
    )
    storage = Storage(
        volumes=(
            _volume("one", labels=((ZONE, "b__c"),)),
            _volume("two"),
            _volume("far", required_terms=_term(ZONE, "b")),
            _volume("three", labels=((ZONE, "a__"), ("topology.kubernetes.io/region", "r"))),
        ),
        claims=(
            _bound("one", "one"),
            _bound("two", "two"),
            _bound("far", "far"),
            _bound("three", "three"),
            _claim("zonal", storage_class="zonal"),
            _claim("local", storage_class="local"),
            _claim("none"),
            _claim("lost", storage_class="gone"),
            _claim("now", storage_class="now"),
            _bound("away", "nowhere"),
            _claim("shared", access_modes=("ReadWriteOncePod",), storage_class="later"),
        ),
        classes=(zonal, LOCAL, LATER, StorageClass(name="now", provisioner=DRIVER)),
        csi_nodes=_limited(1, 0),
    )
    disk = {"volumes": (VolumeUse(kind="GCEPersistentDisk", identity="d"),)}
    asks = (
        ("NodeVolumeLimits", _uses("one", "two"), f"{DRIVER} attaches at most 1: 0 are there, 2 more needed"),
        ("NodeVolumeLimits", _uses("x", "y"), "claim x does not exist"),
        ("VolumeZone", _uses("one"), f"a volume is in {ZONE}=b|c"),
        ("VolumeZone", _uses("three"), "a volume is in topology.kubernetes.io/region=r"),
        ("VolumeZone", _uses("x"), "claim x does not exist"),
        ("VolumeZone", _uses("none"), "claim none has neither volume nor storage class"),
        ("VolumeZone", _uses("lost"), "storage class gone of claim lost does not exist"),
        ("VolumeZone", _uses("now"), "claim now has no volume yet"),
        ("VolumeZone", _uses("away"), "volume nowhere of claim away does not exist"),
        ("VolumeBinding", _uses("far", "now"), "claim now is not bound"),
        ("VolumeBinding", _uses("far"), f"volume far needs {ZONE}=b, but this node has {ZONE}=a"),
        ("VolumeBinding", _uses("zonal"), "class zonal of claim zonal provisions no volume for this node's topology"),
        (
            "VolumeBinding",
            _uses("far", "local"),
            f"volume far needs {ZONE}=b, but this node has {ZONE}=a, "
            "and no volume of class local matches claim local on this node, and none is provisioned",
        ),
        ("VolumeRestrictions", _uses("x"), "claim x does not exist"),
        ("VolumeRestrictions", _uses("shared"), "claim shared is ReadWriteOncePod and in use by another pod"),
        ("VolumeRestrictions", disk, "another pod on the node has the same disk mounted"),
    )
    for plugin, shape, message in asks:
        used = (("z", shape, "n0"),) if plugin == "VolumeRestrictions" and "exist" not in message else ()
        assert _message(_state(storage, ("web", shape, None), *used), plugin) == message
    assert "VolumeBinding" not in [said.plugin for said in _state(storage, ("web", _uses("zonal"), None)).verdict(0, 1)]


def test_claims_of_generic_ephemeral_volumes() -> None:
    """They belong to the pod that they were made for; one of somebody else stops the pod, and on the node every other."""
    storage = Storage(
        volumes=(_volume("one"), _volume("two")),
        claims=(_bound("web-1-a", "one", owner_uid="else"), _bound("web-1-b", "two", owner_uid="else")),
        csi_nodes=_limited(5, 5),
    )
    own = tuple(VolumeUse(kind="PersistentVolumeClaim", claim=f"web-1-{part}", ephemeral=True) for part in "ab")
    state = _state(storage, ("web", {"volumes": own}, None), ("zoo", _uses("web-1-b"), None))

    assert _message(state, "NodeVolumeLimits") == "claim web-1-a was not made for this pod"
    assert _message(state, "VolumeBinding") == "claim web-1-a was not made for this pod"
    state.bind(0, 1)
    assert _message(state, "NodeVolumeLimits", 1, 1) == "a pod on the node uses a claim that was not made for it"
    assert _says(state, 1)[0] == []
    state.unbind(0, 1)
    assert _says(state, 1)[1] == []


def test_a_waiting_claim_stays_as_long_as_a_pod_uses_it() -> None:
    """Two pods placed, one gone: the claim's volume is still on that node; with the second one it is free again."""
    storage = Storage(
        volumes=(_volume("pv", storage_class="local", driver="Local"),),
        claims=(_claim("data", storage_class="local"), _claim("other", storage_class="local")),
        classes=(LOCAL,),
    )
    state = _state(storage, ("a", _uses("data"), None), ("b", _uses("other"), None))
    assert _says(state, 1) == [[], [], []]

    state.bind(0, 1, 2)
    assert _says(state, 0) == [["VolumeBinding"], [], ["VolumeBinding"]]
    assert _says(state, 1) == [["VolumeBinding"]] * 3
    state.unbind(0, 1)
    assert _says(state, 1) == [["VolumeBinding"]] * 3
    state.unbind(0, 1)
    assert _says(state, 1) == _says(state, 0) == [[], [], []]


@pytest.mark.parametrize(
    ("volumes", "placed"),
    [
        ((_volume("pv", storage_class="local", required_terms=_term(ZONE, "b")),), (1,)),
        ((_volume("pv", storage_class="local", required_terms=_term(ZONE, "b"), capacity_bytes=_GIB),), (1,)),
        ((_volume("pv", storage_class="local", required_terms=_term(ZONE, "b"), capacity_bytes=_GIB - 1),), ()),
        ((_volume("pv", storage_class="local", claim="shop/data"),), (0, 1, 2)),
        ((_volume("pv", storage_class="local", claim="shop/data", claim_uid="uid-data", phase="Bound"),), (0, 1, 2)),
        ((_volume("pv", storage_class="local", claim="shop/data", claim_uid="other"),), ()),
        ((_volume("pv", storage_class="local", claim="shop/other"),), ()),
        ((_volume("pv", storage_class="local", phase="Released"),), ()),
        ((_volume("pv", storage_class="later"),), ()),
        (
            (
                _volume("a", storage_class="local", required_terms=_term(ZONE, "a")),
                _volume("c", storage_class="local", claim="shop/data", required_terms=_term(ZONE, "c")),
            ),
            (2,),
        ),
    ],
)
def test_where_a_claim_finds_its_volume(volumes: tuple[PersistentVolume, ...], placed: tuple[int, ...]) -> None:
    """On the nodes of volumes that match it; one that is reserved for it is the only candidate."""
    storage = Storage(volumes=volumes, claims=(_claim("data", storage_class="local"),), classes=(LOCAL,))
    state = _state(storage, ("web", _uses("data"), None))

    assert [node for node in range(3) if state.fits(0, node)] == list(placed)
    assert [node for node, said in enumerate(state.rejecting_plugins(0)) if not said] == list(placed)
    assert state.place(0, 1) == tuple((node, 1) for node in placed[:1])


def test_a_mark_of_the_binder_alone_binds_nothing() -> None:
    """Source: `isPVCFullyBound` asks for the volume's name as well: such a claim still waits for its consumer."""
    claim = _claim("data", storage_class="later", bind_completed=True)

    assert _says(_state(Storage(claims=(claim,), classes=(LATER,)), ("web", _uses("data"), None))) == [[], [], []]


def test_a_disk_among_others_keeps_pods_apart() -> None:
    """Whether few nodes are named or all: one pod a node, though most of its disks would be shared."""
    disks = tuple(VolumeUse(kind="GCEPersistentDisk", identity=name, read_only=name != "d") for name in "cde")
    for nodes in (None, [0, 1, 2]):
        assert _state(Storage(), ("a", {"volumes": disks}, None)).place(0, 5, nodes) == ((0, 1), (1, 1), (2, 1))


def test_a_claim_for_one_pod_is_for_one_pod() -> None:
    """On few nodes as on many; a pod whose own ephemeral volume is called like it does not use it."""
    claim = _bound("data", "pv", access_modes=("ReadWriteOncePod",))
    storage = Storage(volumes=(_volume("pv"),), claims=(claim,))
    for nodes in (None, [0, 1, 2]):
        assert _state(storage, ("web", _uses("data"), None)).place(0, 5, nodes) == ((0, 1),)
    own = {"volumes": (VolumeUse(kind="PersistentVolumeClaim", claim="data", ephemeral=True),)}
    assert _says(_state(storage, ("web", _uses("data"), None), ("zoo", own, "n0"))) == [[], [], []]


def test_claims_of_different_sizes_are_judged_apart() -> None:
    """The driver has 2 GiB left for zone a and 8 for the others: the larger claim goes elsewhere, whoever was asked first."""
    where = (("a", 2), ("b", 8), ("c", 8))
    capacities = tuple(
        StorageCapacity(
            namespace="kube-system", name=f"x-{zone}", storage_class="later", limit_bytes=most * _GIB,
            nodes=LabelSelector((Requirement(ZONE, "In", (zone,)),)),
        )
        for zone, most in where
    )  # fmt: skip
    storage = Storage(
        claims=(_claim("small", storage_class="later"), _claim("large", storage_class="later", requested_bytes=4 * _GIB)),
        classes=(LATER,),
        csi_drivers=(CsiDriver(name=DRIVER, storage_capacity=True),),
        capacities=capacities,
    )
    state = _state(storage, ("a", _uses("small"), None), ("b", _uses("large"), None))
    every = [*range(3), *range(3), *range(3)]
    for shape, placed in ((0, ((0, 1),)), (1, ((1, 1),))):
        mark = state.mark()
        assert state.place(shape, 1, every) == placed
        state.undo(mark)


def test_a_claim_that_is_provisioned_on_the_first_node() -> None:
    """The choice may be any node, the first of all included."""
    claim = _claim("data", storage_class="later", selected_node="n0")
    state = _state(Storage(claims=(claim,), classes=(LATER,)), ("web", _uses("data"), None))

    assert state.place(0, 1, [2, 1, 0] * 9) == ((0, 1),)


@pytest.mark.parametrize("driver", ["NFS", "AWSElasticBlockStore"])
def test_attachments_of_disks_that_are_no_csi_volumes(driver: str) -> None:
    """They do not count, under whatever driver they are attached."""
    storage = Storage(
        volumes=(_volume("one"), _volume("other", driver=driver)),
        claims=(_bound("one", "one"),),
        csi_nodes=_limited(1),
        attachments=(VolumeAttachment(name="x", driver=DRIVER, node="n0", volume="other"),),
    )

    assert _says(_state(storage, ("a", _uses("one"), None), nodes=1)) == [[]]


def test_a_claim_takes_the_smallest_volume_that_holds_it() -> None:
    """The larger one is left for a claim that needs it, whichever is named first."""
    sizes = (("a", 5), ("b", 3), ("c", 4))
    storage = Storage(
        volumes=tuple(_volume(name, storage_class="local", capacity_bytes=size * _GIB) for name, size in sizes),
        claims=(_claim("data", storage_class="local"), _claim("large", storage_class="local", requested_bytes=5 * _GIB)),
        classes=(LOCAL,),
    )
    state = _state(storage, ("a", _uses("data"), None), ("b", _uses("large"), None))
    state.bind(0, 1)
    assert _says(state, 1) == [[], [], []]
