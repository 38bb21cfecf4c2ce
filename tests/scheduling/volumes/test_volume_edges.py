"""The edges of the volume plugins: what is counted, who owns a claim, which node a volume is for."""

import pytest

from reconciler.cluster.nodes.attachment import CsiDriver, StorageCapacity, VolumeAttachment
from reconciler.cluster.pods.pod import VolumeUse
from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.cluster.volume import CsiDriverLimit, CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass
from reconciler.cluster.world import Storage
from reconciler.scheduling.state import SchedulingState
from reconciler.values.label_selector import LabelSelector, Requirement
from tests.builders import ClusterBuilder

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
DRIVER, OTHER = "disk.csi.example.com", "other.csi.example.com"
LATER = StorageClass(name="later", provisioner=DRIVER, binding_mode="WaitForFirstConsumer")
LOCAL = StorageClass(name="local", provisioner="kubernetes.io/no-provisioner", binding_mode="WaitForFirstConsumer")
_GIB = 1 << 30
# As many entries as make a list of nodes a long one.
_MANY = [0, 1, 2] * 9


def _claim(name: str, **fields: object) -> PersistentVolumeClaim:
    given = {"namespace": "shop", "name": name, "uid": f"uid-{name}", "phase": "Pending", "requested_bytes": _GIB}
    return PersistentVolumeClaim(**{**given, **fields})


def _bound(name: str, volume: str, **fields: object) -> PersistentVolumeClaim:
    return _claim(name, volume=volume, bind_completed=True, phase="Bound", **fields)


def _volume(name: str, **fields: object) -> PersistentVolume:
    return PersistentVolume(
        **{"name": name, "phase": "Available", "driver": DRIVER, "handle": name, "capacity_bytes": 5 * _GIB, **fields}
    )


def _uses(*claims: str, ephemeral: tuple[str, ...] = ()) -> dict[str, object]:
    uses = [VolumeUse(kind="PersistentVolumeClaim", claim=claim) for claim in claims]
    uses += [VolumeUse(kind="PersistentVolumeClaim", claim=claim, ephemeral=True) for claim in ephemeral]
    return {"volumes": tuple(uses)}


def _state(
    storage: Storage, *pods: tuple[dict[str, object], str | None], labels: tuple[dict[str, str], ...] | None = None
) -> SchedulingState:
    """Nodes n0, n1 and n2 in zones a, b and c unless told, and a pod a given (shape, node), in this order."""
    cluster = ClusterBuilder()
    for number, found in enumerate(labels or [{ZONE: zone} for zone in "abc"]):
        cluster.node(f"n{number}", labels=found)
    for number, (shape, node) in enumerate(pods):
        cluster.pods(f"p{number}", 1, cpu="1", on=node, shape=shape)
    return SchedulingState(cluster.world(storage=storage))


def _says(state: SchedulingState, shape: int = 0) -> list[list[str]]:
    found = [[said.plugin for said in state.verdict(shape, node)] for node in range(state.node_count)]
    assert [list(names) for names in state.rejecting_plugins(shape)] == found
    return found


def _limit(node: str, driver: str, count: int | None) -> CsiNode:
    return CsiNode(name=node, drivers=(CsiDriverLimit(driver=driver, count=count),))


@pytest.mark.parametrize(("limit", "fits"), [(1, False), (2, True)])
def test_each_volume_takes_one_place(limit: int, fits: bool) -> None:
    """One volume is attached; a second one needs a second place, and while none is attached two volumes need two."""
    storage = Storage(
        volumes=tuple(_volume(name) for name in ("one", "two", "three")),
        claims=tuple(_bound(name, name) for name in ("one", "two", "three")),
        csi_nodes=(_limit("n0", DRIVER, limit),),
    )
    state = _state(storage, (_uses("one"), None), (_uses("two"), None), (_uses("two", "three"), None))

    assert state.fits(2, 0) is fits
    state.bind(0, 0)
    assert state.fits(1, 0) is fits
    assert not state.fits(2, 0)
    state.unbind(0, 0)
    assert state.fits(1, 0)
    assert state.fits(2, 0) is fits


def test_a_volume_is_attached_once_for_all_its_pods() -> None:
    """Two pods use one volume, one goes: it is still attached, and leaves with the last."""
    storage = Storage(
        volumes=(_volume("one"), _volume("two")),
        claims=(_bound("one", "one"), _bound("two", "two")),
        csi_nodes=(_limit("n0", DRIVER, 1),),
    )
    state = _state(storage, (_uses("one"), "n0"), (_uses("two"), None))
    state.bind(0, 0)
    for left, fits in ((1, False), (0, True)):
        state.unbind(0, 0)
        assert (sum(many for _, many in state.bound(0)), state.fits(1, 0)) == (left, fits)


def test_limits_are_of_each_driver() -> None:
    """One driver is full; volumes of another one, and of one without a number, are attached."""
    node = CsiNode(
        name="n0",
        drivers=(CsiDriverLimit(driver=DRIVER, count=0), CsiDriverLimit(driver=OTHER, count=1), CsiDriverLimit(driver="free")),
    )
    storage = Storage(
        volumes=(_volume("full"), _volume("other", driver=OTHER), _volume("free", driver="free"), _volume("none", driver="x")),
        claims=tuple(_bound(name, name) for name in ("full", "other", "free", "none")),
        csi_nodes=(node,),
    )
    state = _state(storage, *((_uses(name), None) for name in ("full", "other", "free", "none")))

    assert [state.fits(shape, 0) for shape in range(4)] == [False, True, True, True]


def test_idle_attachments_are_counted_for_their_driver() -> None:
    """Two volumes of one driver and one of another are attached without a pod: 3 and 2 places leave one each."""
    node = CsiNode(name="n0", drivers=(CsiDriverLimit(driver=DRIVER, count=3), CsiDriverLimit(driver=OTHER, count=2)))
    names = (("a", DRIVER), ("b", DRIVER), ("c", OTHER), ("new", DRIVER), ("more", DRIVER), ("else", OTHER), ("fresh", OTHER))
    storage = Storage(
        volumes=tuple(_volume(name, driver=driver) for name, driver in names),
        claims=tuple(_bound(name, name) for name, _ in names),
        csi_nodes=(node,),
        attachments=(
            *(VolumeAttachment(name=name, driver=driver, node="n0", volume=name) for name, driver in names[:3]),
            VolumeAttachment(name="gone", driver=DRIVER, node="n0", volume="gone"),
        ),
    )
    state = _state(
        storage, (_uses("new"), None), (_uses("new", "more"), None), (_uses("else"), None), (_uses("else", "fresh"), None)
    )

    assert [state.fits(shape, 0) for shape in range(4)] == [True, False, True, False]
    (said,) = state.verdict(1, 0)
    assert said.message == f"{DRIVER} attaches at most 3: 2 are there, 2 more needed"


@pytest.mark.parametrize(
    ("provisioner", "limits"),
    [(DRIVER, True), ("kubernetes.io/azure-file", False), ("kubernetes.io/vsphere-volume", False)],
)
def test_a_pod_of_somebody_elses_claim_stops_those_with_csi_volumes(provisioner: str, limits: bool) -> None:
    """A pod on n0 uses a claim that was not made for it: pods that bring a volume to be attached are turned away there, others
    are not looked at. Source: NodeVolumeLimits returns before it looks at the node when the pod brings none."""
    found = StorageClass(name="later", provisioner=provisioner, binding_mode="WaitForFirstConsumer")
    storage = Storage(
        volumes=(_volume("one"), _volume("nfs", driver="NFS")),
        claims=(
            _bound("p0-own", "one", owner_uid="else"),
            _claim("data", storage_class="later"),
            _bound("nfs", "nfs"),
        ),
        classes=(found,),
        csi_nodes=(_limit("n0", DRIVER, 9),),
    )
    state = _state(storage, (_uses(ephemeral=("p0-own",)), "n0"), (_uses("data"), None), (_uses("nfs"), None), ({}, None))

    assert _says(state, 1)[0] == (["NodeVolumeLimits"] if limits else [])
    assert _says(state, 2)[0] == _says(state, 3)[0] == []


def test_an_ephemeral_volume_among_others() -> None:
    """Its claim was made for the pod, by the pod's uid; the other one is anybody's."""
    storage = Storage(
        volumes=(_volume("one"), _volume("two")),
        claims=(_bound("p0-1-own", "one", owner_uid="uid-shop-p0-1"), _bound("data", "two")),
        csi_nodes=(_limit("n0", DRIVER, 9),),
    )

    assert _says(_state(storage, (_uses("data", ephemeral=("p0-1-own",)), None))) == [[], [], []]


def test_the_claim_of_an_ephemeral_volume_is_made_with_its_pod() -> None:
    """As long as it is not there, only the plugins that would use it say no."""
    state = _state(Storage(), (_uses(ephemeral=("p0-1-own",)), None))

    assert _says(state) == [["NodeVolumeLimits", "VolumeBinding"]] * 3
    assert {said.plugin: said.message for said in state.verdict(0, 0)}["VolumeBinding"] == "claim p0-1-own was not made yet"


@pytest.mark.parametrize(
    ("request_gib", "limit_gib", "fits"), [(2, 2, True), (2, 1, False), (0, 1, True), (0, None, True), (2, None, False)]
)
def test_what_a_driver_has_left_is_enough(request_gib: int, limit_gib: int | None, fits: bool) -> None:
    """Source: `hasEnoughCapacity`: a claim that asks for no size is not measured; a capacity without a number has nothing."""
    storage = Storage(
        claims=(_claim("data", storage_class="later", requested_bytes=request_gib * _GIB),),
        classes=(LATER,),
        csi_drivers=(CsiDriver(name=DRIVER, storage_capacity=True),),
        capacities=(
            StorageCapacity(
                namespace="x",
                name="x",
                storage_class="later",
                nodes=LabelSelector(),
                limit_bytes=None if limit_gib is None else limit_gib * _GIB,
            ),
            StorageCapacity(namespace="x", name="y", storage_class="other", nodes=LabelSelector(), limit_bytes=9 * _GIB),
        ),
    )
    state = _state(storage, (_uses("data"), None))

    assert _says(state) == [[] if fits else ["VolumeBinding"]] * 3
    assert bool(state.place(0, 1, _MANY)) is fits


def test_a_driver_without_anything_left_anywhere() -> None:
    """It reports capacity and has reported none for the class; what is needed is rounded up."""
    storage = Storage(
        claims=(_claim("data", storage_class="later", requested_bytes=_GIB + 1),),
        classes=(LATER,),
        csi_drivers=(CsiDriver(name=DRIVER, storage_capacity=True),),
    )
    (said,) = _state(storage, (_uses("data"), None)).verdict(0, 0)

    assert said.message == "no storage of class later that this node can reach has 1.01Gi left for claim data"


def _term(key: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm((Requirement(key, "In", values),))


_BY_NAME = (Requirement("metadata.name", "In", ("n1",)),)


@pytest.mark.parametrize(
    ("terms", "usable"),
    [
        (None, [0, 1, 2]),
        ((), []),
        ((_term(ZONE, "b"),), [1]),
        ((_term(ZONE, "b"), _term(ZONE, "c")), [1, 2]),
        # Terms on fields always hold: a volume is judged by labels alone.
        ((NodeSelectorTerm((), _BY_NAME),), [0, 1, 2]),
        ((NodeSelectorTerm(_term(ZONE, "c").expressions, _BY_NAME),), [2]),
        ((_term(ZONE, "c"), NodeSelectorTerm((), _BY_NAME)), [0, 1, 2]),
        ((NodeSelectorTerm(),), []),
        ((NodeSelectorTerm(), _term(ZONE, "a")), [0]),
        ((_term("kubernetes.io/hostname", "n2"),), [2]),
    ],
)
def test_where_a_volume_can_be_used(terms: tuple[NodeSelectorTerm, ...] | None, usable: list[int]) -> None:
    """Terms are alternatives; whether few nodes are asked or many, and whether the claim is bound or takes the volume."""
    for claim, volume in (
        (_bound("data", "pv"), _volume("pv", required_terms=terms)),
        (_claim("data", storage_class="local"), _volume("pv", required_terms=terms, storage_class="local")),
    ):
        state = _state(Storage(volumes=(volume,), claims=(claim,), classes=(LOCAL,)), (_uses("data"), None))
        assert [node for node, said in enumerate(_says(state)) if not said] == usable
        assert state.place(0, 1, _MANY) == tuple((node, 1) for node in usable[:1])


def test_an_amazon_disk_is_used_by_the_keys_of_whoever_attaches_it() -> None:
    """n0 has handed Amazon's disks over to the CSI driver and goes by the driver's key, n1 goes by the zone."""
    key = "topology.ebs.csi.aws.com/zone"
    labels = ({key: "a", ZONE: "x"}, {key: "x", ZONE: "a"}, {key: "a", ZONE: "x"})
    storage = Storage(
        volumes=(_volume("pv", driver="AWSElasticBlockStore", handle="vol-1", required_terms=(_term(ZONE, "a"),)),),
        claims=(_bound("data", "pv"),),
        csi_nodes=(CsiNode(name="n0", migrated=("kubernetes.io/aws-ebs",)),),
    )
    state = _state(storage, (_uses("data"), None), labels=labels)

    assert _says(state) == [[], [], ["VolumeBinding"]]
    assert state.place(0, 9, _MANY) == ((0, 4), (1, 4))


@pytest.mark.parametrize("node", ["n1", "gone"])
def test_a_claim_that_is_provisioned_on_a_node(node: str) -> None:
    """Nowhere else, and nowhere at all once that node is gone."""
    claims = (_claim("data", storage_class="later", selected_node=node), _claim("more", storage_class="later"))
    for claimed in (("data",), ("data", "more")):
        state = _state(Storage(claims=claims, classes=(LATER,)), (_uses(*claimed), None))
        assert _says(state) == [["VolumeBinding"], [] if node == "n1" else ["VolumeBinding"], ["VolumeBinding"]]
        assert state.place(0, 9, _MANY) == (((1, 4),) if node == "n1" else ())


def test_two_claims_on_two_nodes_are_nowhere() -> None:
    """A volume of the pod is being made on n0 and another one on n1."""
    claims = tuple(_claim(f"c{number}", storage_class="later", selected_node=f"n{number}") for number in (0, 1))
    state = _state(Storage(claims=claims, classes=(LATER,)), (_uses("c0", "c1"), None))

    assert [said.message for said in state.verdict(0, 0)] == ["a volume is being provisioned on n1"]
    assert [said.message for said in state.verdict(0, 2)] == ["a volume is being provisioned on n0, n1"]
    assert state.place(0, 1, _MANY) == ()


@pytest.mark.parametrize(
    ("wanted", "labels", "fits"), [("gold", (("tier", "gold"),), True), ("gold", (("tier", "base"),), False), ("gold", (), False)]
)
def test_a_claim_that_selects_volumes(wanted: str, labels: tuple[tuple[str, str], ...], fits: bool) -> None:
    """By their labels; a volume that is reserved for it needs none."""
    selecting = LabelSelector((Requirement("tier", "In", (wanted,)),))
    claim = _claim("data", storage_class="local", selector=selecting)
    for reserved, found in (("", fits), ("shop/data", True)):
        volume = _volume("pv", storage_class="local", labels=labels, claim=reserved)
        state = _state(Storage(volumes=(volume,), claims=(claim,), classes=(LOCAL,)), (_uses("data"), None))
        assert _says(state) == [[] if found else ["VolumeBinding"]] * 3


def test_two_claims_need_two_volumes() -> None:
    """One local volume for two claims of a pod is one too few; a claim for which one is made takes none of them."""
    claims = (_claim("one", storage_class="local"), _claim("two", storage_class="local"), _claim("new", storage_class="later"))
    storage = Storage(volumes=(_volume("pv", storage_class="local"),), claims=claims, classes=(LOCAL, LATER))

    assert _says(_state(storage, (_uses("one", "two"), None))) == [["VolumeBinding"]] * 3
    assert _says(_state(storage, (_uses("new", "one"), None))) == [[], [], []]


def test_a_volume_that_another_claim_has_taken_is_not_there() -> None:
    """Once a pod is placed its claim has the volume: the other claim is told so by each way to ask, and by an undo forgotten."""
    claims = (_claim("one", storage_class="local"), _claim("two", storage_class="local"))
    storage = Storage(volumes=(_volume("pv", storage_class="local"),), claims=claims, classes=(LOCAL,))
    state = _state(storage, (_uses("one"), None), (_uses("two"), None))
    for _ in range(2):
        assert state.place(1, 1, _MANY)
        mark = state.mark()
        state.unbind(1, 0)
        assert state.place(0, 1, _MANY) == ((0, 1),)
        assert state.place(1, 1, _MANY) == ()
        assert [said.message for said in state.verdict(1, 1)] == [
            "no volume of class local matches claim two on this node, and none is provisioned"
        ]
        state.undo(mark)
        assert state.place(0, 1, _MANY) == ()
        state.unbind(1, 0)


@pytest.mark.parametrize(
    ("labels", "node", "fits"),
    [
        (((ZONE, "a"),), {ZONE: "a"}, True),
        (((ZONE, "a"),), {ZONE: "b"}, False),
        # A node that says nothing of zones and regions takes every volume.
        (((ZONE, "a"),), {}, True),
        (((ZONE, "a"),), {REGION: "r"}, False),
        (((ZONE, "a"), (REGION, "r")), {ZONE: "a", REGION: "r"}, True),
        (((ZONE, "a"), (REGION, "r")), {ZONE: "a"}, False),
        (((ZONE, "a"), (REGION, "r")), {ZONE: "a", REGION: "s"}, False),
        # The old label is met by the new one, and not the other way round; where a node has both the old one counts.
        (((BETA_ZONE, "a"),), {ZONE: "a"}, True),
        (((BETA_ZONE, "a"),), {BETA_ZONE: "b", ZONE: "a"}, False),
        (((ZONE, "a"),), {BETA_ZONE: "a"}, False),
        (((ZONE, "a__b"),), {ZONE: "b"}, True),
        (((ZONE, "a__ b "),), {ZONE: "b"}, True),
        (((ZONE, "a__"),), {ZONE: "b"}, True),
        (((ZONE, ""),), {ZONE: "b"}, True),
        ((("tier", "gold"),), {ZONE: "b"}, True),
    ],
)
def test_zones_of_volumes(labels: tuple[tuple[str, str], ...], node: dict[str, str], fits: bool) -> None:
    """Source: VolumeZone's `getPVTopologies` and Filter."""
    storage = Storage(volumes=(_volume("pv", labels=labels),), claims=(_bound("data", "pv"),))
    state = _state(storage, (_uses("data"), None), labels=(node,))

    assert _says(state) == [[] if fits else ["VolumeZone"]]
    assert bool(state.place(0, 1, [0] * 9)) is fits


def test_a_claim_for_one_pod_that_nobody_uses_any_more() -> None:
    """In use while a pod has it, on whatever node; free again after that. A pod of another namespace has another claim."""
    storage = Storage(
        volumes=(_volume("pv"), _volume("pw")),
        claims=(
            _bound("data", "pv", access_modes=("ReadWriteOncePod",)),
            _bound("data", "pw", access_modes=("ReadWriteOncePod",), namespace="else"),
        ),
    )
    cluster = ClusterBuilder()
    cluster.node("n0")
    cluster.node("n1")
    cluster.pods("a", 1, on="n0", shape=_uses("data"))
    cluster.pods("b", 1, shape=_uses("data"))
    cluster.pods("c", 1, namespace="else", shape=_uses("data"))
    world = cluster.world(storage=storage)
    state = SchedulingState(world)
    first, second, other = (
        next(index for index, shape in enumerate(world.pod_shapes) if shape.labels == (("app", app),)) for app in "abc"
    )

    assert _says(state, second) == [["VolumeRestrictions"]] * 2
    assert _says(state, other) == [[], []]
    state.unbind(first, 0)
    assert _says(state, second) == [[], []]
    assert state.place(second, 3) == ((0, 1),)
    assert state.place(first, 3) == ()


def test_a_volume_that_matches_among_some_that_do_not() -> None:
    """A claim goes where the one that is large enough can be used, whichever comes first."""
    small, right = {"capacity_bytes": _GIB - 1}, {"required_terms": (_term(ZONE, "b"),)}
    for first, second in ((small, right), (right, small)):
        volumes = (_volume("pv", storage_class="local", **first), _volume("pw", storage_class="local", **second))
        storage = Storage(volumes=volumes, claims=(_claim("data", storage_class="local"),), classes=(LOCAL,))
        for order in (None, _MANY):
            assert _state(storage, (_uses("data"), None)).place(0, 1, order) == ((1, 1),)


@pytest.mark.parametrize("sizes", [(3, 4, 5), (5, 4, 3), (4, 5, 3), (3, 5, 4)])
def test_the_smallest_volume_is_taken_first(sizes: tuple[int, ...]) -> None:
    """Three claims of 1, 4 and 5 GiB find their volumes one after the other, in whatever order volumes come."""
    volumes = tuple(_volume(f"pv{size}", storage_class="local", capacity_bytes=size * _GIB) for size in sizes)
    claims = tuple(_claim(f"c{size}", storage_class="local", requested_bytes=size * _GIB) for size in (1, 4, 5))
    state = _state(Storage(volumes=volumes, claims=claims, classes=(LOCAL,)), *((_uses(claim.name), None) for claim in claims))

    assert [state.place(shape, 1, _MANY) for shape in range(3)] == [((0, 1),)] * 3


def test_of_two_equal_volumes_the_first_is_taken() -> None:
    """One can be used everywhere and the other in zone b: on n1 the first one is taken, and zone b is left."""
    volumes = (_volume("pv", storage_class="local"), _volume("pw", storage_class="local", required_terms=(_term(ZONE, "b"),)))
    claims = (_claim("one", storage_class="local"), _claim("two", storage_class="local"))
    state = _state(Storage(volumes=volumes, claims=claims, classes=(LOCAL,)), (_uses("one"), None), (_uses("two"), None))

    state.bind(0, 1)

    assert _says(state, 1) == [["VolumeBinding"], [], ["VolumeBinding"]]


def test_a_taint_is_no_matter_of_volumes() -> None:
    """A pod that tolerates the taint of its volume's only node runs there."""
    cluster = ClusterBuilder()
    cluster.node("n0", labels={ZONE: "a"}, taints=["t:NoSchedule"])
    cluster.pods("web", 1, tolerations=["t"], shape=_uses("data"))
    cluster.pods("zoo", 1, shape=_uses("data"))
    storage = Storage(volumes=(_volume("pv", required_terms=(_term(ZONE, "a"),)),), claims=(_bound("data", "pv"),))
    state = SchedulingState(cluster.world(storage=storage))

    assert (_says(state, 0), _says(state, 1)) == ([[]], [["TaintToleration"]])


def test_one_disk_of_several_is_enough_to_keep_apart() -> None:
    """The first pod has a disk in common with the second one and none with the third, beside disks that nobody minds."""
    first, second, third = (
        {"volumes": (VolumeUse(kind="AzureDisk", identity="x"), *(VolumeUse(kind="RBD", identity=name) for name in names))}
        for names in ("de", "ef", "fg")
    )
    state = _state(Storage(), (first, "n0"), (second, None), (third, None))

    assert _says(state, 1) == [["VolumeRestrictions"], [], []]
    assert _says(state, 2) == [[], [], []]
    assert state.place(1, 9, _MANY) == ((1, 1), (2, 1))
    assert _says(state, 0) == [["VolumeRestrictions"]] * 3
