"""Pods promised to a node: which of them count, and which plugins look at them, as kube-scheduler 1.36's framework decides."""

import msgspec
import pytest

from reconciler.cluster.pods.pod import AffinityTerm, HostPort, PodPhase, VolumeUse
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.volume import PersistentVolume, PersistentVolumeClaim
from reconciler.cluster.world import Storage, World
from reconciler.scheduling.fit import fit
from reconciler.scheduling.state import SchedulingState
from tests.builders import ClusterBuilder, selector

ZONE = "zone"


def _term(app: str, key: str = ZONE) -> AffinityTerm:
    return AffinityTerm(topology_key=key, selector=selector(app=app), namespaces=("shop",))


def _disk(identity: str, *, read_only: bool = False) -> dict[str, object]:
    return {"volumes": (VolumeUse(kind="GCEPersistentDisk", identity=identity, read_only=read_only),)}


_REPELS = {"anti_affinity": (_term("web"),)}
_CLAIM = {"volumes": (VolumeUse(kind="PersistentVolumeClaim", claim="data"),)}


@pytest.mark.parametrize(
    ("web", "promised", "there", "said"),
    [
        # InterPodAffinity had nothing to look at, so that it does not look at promised pods either.
        ({}, _REPELS, {}, []),
        ({"affinity": (_term("db"),)}, _REPELS, {}, ["InterPodAffinity"]),
        ({"anti_affinity": (_term("cache"),)}, _REPELS, {}, ["InterPodAffinity"]),
        ({}, _REPELS, _REPELS, ["InterPodAffinity"]),
        ({}, {"anti_affinity": (_term("web"), _term("web", "rack"))}, _REPELS, ["InterPodAffinity"]),
        ({"anti_affinity": (_term("promised"),)}, {}, {}, ["InterPodAffinity"]),
        # VolumeRestrictions looks at disks of types that are not shared freely.
        (_disk("d"), _disk("d"), {}, ["VolumeRestrictions"]),
        (_disk("d"), _disk("e"), {}, []),
        (
            {"volumes": (*_disk("d")["volumes"], VolumeUse(kind="AzureDisk", identity="x"))},
            _disk("d"),
            {},
            ["VolumeRestrictions"],
        ),
        (_disk("d", read_only=True), _disk("d", read_only=True), {}, []),
        # A claim for one pod: only one that is in use already makes it look.
        (_CLAIM, _CLAIM, {}, []),
        (_CLAIM, {}, _CLAIM, ["VolumeRestrictions"]),
        # Others always look.
        ({"host_ports": (HostPort(80),)}, {"host_ports": (HostPort(80),)}, {}, ["NodePorts"]),
    ],
)
def test_which_plugins_look_at_promised_pods(
    web: dict[str, object], promised: dict[str, object], there: dict[str, object], said: list[str]
) -> None:
    """What a pod is told of node a when one is promised to it; a pod of app db runs there, another one in zone b."""
    cluster = ClusterBuilder()
    cluster.node("a", labels={ZONE: "a"})
    cluster.node("b", labels={ZONE: "b"})
    cluster.pods("db", 1, on="a")
    cluster.pods("far", 1, on="b", shape=there)
    cluster.pods("promised", 1, shape=promised)
    cluster.pods("web", 1, shape=web)
    claim = PersistentVolumeClaim(
        namespace="shop", name="data", volume="pv", bind_completed=True, phase="Bound", access_modes=("ReadWriteOncePod",)
    )
    storage = Storage(volumes=(PersistentVolume(name="pv", driver="NFS"),), claims=(claim,))
    world = cluster.world(storage=storage)
    state = SchedulingState(world)
    shapes = {shape.labels[0][1]: index for index, shape in enumerate(world.pod_shapes)}
    before = state.verdict(shapes["web"], 0)

    found = state.verdict_with(shapes["web"], 0, [shapes["promised"]])

    assert [rejection.plugin for rejection in found] == said
    assert state.verdict(shapes["web"], 0) == before
    assert state.bound(0) == ((shapes["db"], 1),)


@pytest.mark.parametrize(
    ("promised", "counts"),
    [
        ({}, True),
        ({"gated": True}, True),
        ({"node": 1, "phase": PodPhase.RUNNING}, False),
        ({"unknown_node": "gone"}, False),
        ({"phase": PodPhase.SUCCEEDED}, False),
        ({"phase": PodPhase.FAILED}, False),
        ({"nominated": 1}, False),
        ({"nominated": -1}, False),
    ],
)
def test_which_promises_count(promised: dict[str, object], counts: bool) -> None:
    """Those of pods that wait for this scheduler; one that runs elsewhere or has finished takes nothing from others."""
    assert _rejected(_promise(_one_cpu(), **promised)) is counts


def test_a_pod_that_runs_is_promised_nothing() -> None:
    """It was nominated to the second node and runs on the first: the second one is free."""
    world = _promise(_one_cpu(), node=0, phase=PodPhase.RUNNING, nominated=1)
    (found,) = (pod for pod in fit(world) if pod.pod == "shop/web-1")

    assert [bool(node.rejections) for node in found.nodes] == [True, False]


@pytest.mark.parametrize(("priority", "counts"), [(4, False), (5, True), (6, True)])
def test_pods_of_equal_or_higher_priority_come_first(priority: int, counts: bool) -> None:
    """The pod that asks has priority 5."""
    assert _rejected(_promise(_one_cpu(priority))) is counts


def test_promises_of_another_scheduler_do_not_count() -> None:
    """kube-scheduler keeps nominations of its own pods alone."""
    assert not _rejected(_promise(_one_cpu(shape={"scheduler_name": "batch"})))


def test_what_promised_pods_change_is_told_apart() -> None:
    """A plugin that says no already is named once, with its own sentence; sorted with those that promised pods add."""
    cluster = ClusterBuilder()
    cluster.node("n", cpu="1", taints=["t:NoSchedule"])
    cluster.pods("there", 1, cpu="1", on="n")
    cluster.pods("promised", 1, cpu="1", shape={"host_ports": (HostPort(80),)})
    cluster.pods("web", 1, cpu="1", shape={"host_ports": (HostPort(80),)})
    world = _promise(cluster.world())
    (found,) = (pod for pod in fit(world) if pod.pod == "shop/web-1")

    assert [(said.plugin, said.message) for said in found.nodes[0].rejections] == [
        ("NodePorts", "host port 80/TCP is taken (with the pods promised to the node)"),
        ("NodeResourcesFit", "needs 1 cpu (0 of 1 free)"),
        ("TaintToleration", "untolerated taint t:NoSchedule"),
    ]


def _one_cpu(priority: int = 5, **fields: object) -> World:
    cluster = ClusterBuilder()
    cluster.node("n0", cpu="1")
    cluster.node("n1", cpu="1")
    cluster.pods("promised", 1, cpu="1", priority=priority, **fields)
    cluster.pods("web", 1, cpu="1", priority=5)
    return cluster.world()


def _promise(world: World, **fields: object) -> World:
    given = {"nominated": 0, **fields}
    rows = [msgspec.structs.replace(pod, **given) if pod.name == "promised-1" else pod for pod in world.pods]
    return msgspec.structs.replace(world, pods=PodTable(rows))


def _rejected(world: World) -> bool:
    """Whether the pod that asks is told that the first node has no room."""
    (found,) = (pod for pod in fit(world) if pod.pod == "shop/web-1")
    return bool(found.nodes[0].rejections)
