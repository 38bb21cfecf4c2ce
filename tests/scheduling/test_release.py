import msgspec
import pytest

from reconciler.cluster.devices.device_class import DeviceClass
from reconciler.cluster.pods.pod import AffinityTerm
from reconciler.cluster.values.release import Resizes, release_of
from reconciler.scheduling.state import SchedulingState
from reconciler.values.label_selector import LabelSelector, Requirement
from tests.builders import ClusterBuilder, selector

ZONE = "topology.kubernetes.io/zone"

_NOT_DATA = LabelSelector((Requirement("kubernetes.io/metadata.name", "NotIn", ("data",)),))


@pytest.mark.parametrize(
    ("version", "rejected"),
    [
        ((1, 33, 9), False),
        ((1, 34, 0), True),
        ((1, 34, 11), True),
        ((1, 34, 12), False),
        ((1, 35, 8), True),
        ((1, 35, 9), False),
        ((1, 36, 3), True),
        ((1, 36, 5), False),
        ((1, 37, 0), True),
        ((1, 37, 1), False),
        ((1, 38, 0), False),
        ((2, 36, 0), False),
        (None, False),
    ],
)
def test_a_namespace_that_is_ruled_out_counts_in_some_releases(version: tuple[int, int, int] | None, rejected: bool) -> None:
    """Releases between 1.34.0 and the patches of September 2026 take every namespace for one that says only what must not
    be; an unknown version is taken for the newest one, and readers leave such selectors open."""
    cluster = ClusterBuilder()
    cluster.node("n0", labels={ZONE: "a"})
    cluster.pods("db", 1, on="n0", namespace="data")
    term = AffinityTerm(topology_key=ZONE, selector=selector(app="db"), namespace_selector=_NOT_DATA)
    cluster.pods("web", 1, shape={"anti_affinity": (term,)})
    labels = (("kubernetes.io/metadata.name", "data"),)
    world = cluster.world(namespaces=(("data", labels),), scheduler_version=version)
    state = SchedulingState(world)
    web = next(index for index, shape in enumerate(world.pod_shapes) if shape.anti_affinity)

    assert bool(state.verdict(web, 0)) is rejected


def test_a_selector_that_needs_a_label_selects_in_every_release() -> None:
    """Only selectors that hold for no labels at all are concerned: `In` beside `NotIn` is evaluated as ever."""
    cluster = ClusterBuilder()
    cluster.node("n0", labels={ZONE: "a"})
    cluster.pods("db", 1, on="n0", namespace="data")
    both = LabelSelector((*_NOT_DATA.requirements, Requirement("team", "In", ("red",))))
    term = AffinityTerm(topology_key=ZONE, selector=selector(app="db"), namespace_selector=both)
    cluster.pods("web", 1, shape={"anti_affinity": (term,)})
    world = cluster.world(namespaces=(("data", ()),), scheduler_version=(1, 36, 3))
    web = next(index for index, shape in enumerate(world.pod_shapes) if shape.anti_affinity)

    assert SchedulingState(world).verdict(web, 0) == ()


def test_an_unknown_version_is_the_newest_one_with_the_stricter_rule_for_resizes() -> None:
    """Only that, and that it is not known."""
    unknown, newest = release_of(None), release_of((1, 37, 99))
    assert not unknown.known
    assert unknown.resizes is Resizes.EITHER
    assert msgspec.structs.replace(unknown, known=True, resizes=newest.resizes) == newest


@pytest.mark.parametrize(("version", "missing"), [((1, 35, 4), False), ((1, 36, 0), True), ((2, 0, 0), True)])
def test_declared_features_matter_from_1_36_on(version: tuple[int, int, int], missing: bool) -> None:
    """Gate NodeDeclaredFeatures is off by default before 1.36."""
    cluster = ClusterBuilder()
    cluster.node("n0")
    cluster.pods("web", 1, shape={"required_features": ("RestartAllContainersOnContainerExits",)})
    state = SchedulingState(cluster.world(scheduler_version=version))
    said = state.verdict(0, 0)

    assert (state.enters(0, 0), bool(state.place(0, 1))) == (not missing, not missing)
    assert [rejection.plugin for rejection in said] == (["NodeDeclaredFeatures"] if missing else [])
    assert release_of(version).device_classes is missing


def _cards(version: tuple[int, int, int], resource: str, listed: int, classes: tuple[DeviceClass, ...]) -> SchedulingState:
    cluster = ClusterBuilder()
    cluster.node("n0", **({resource: listed} if listed else {}))
    cluster.node("o0")
    cluster.pods("train", 1, **{resource: 1})
    return SchedulingState(cluster.world(scheduler_version=version, device_classes=classes))


_CARD = DeviceClass(name="card", extended_resource="example.com/card")


@pytest.mark.parametrize("resource", ["example.com/card", "deviceclass.resource.kubernetes.io/card"])
def test_what_a_device_class_serves_is_never_a_wrong_no(resource: str) -> None:
    """No node lists it, but devices may serve it: not modelled, nothing is placed, and no plugin says a wrong no."""
    state = _cards((1, 36, 3), resource, 0, (_CARD,))

    assert [[rejection.plugin for rejection in state.verdict(0, node)] for node in (0, 1)] == [["NotModelled"]] * 2
    assert state.rejecting_plugins(0) == [("NotModelled",)] * 2
    assert state.modelled(0) == "DynamicResources"
    assert state.place(0, 1) == ()


def test_without_a_class_it_is_a_plain_no() -> None:
    """Nobody serves the resource, or the release does not know classes that do."""
    for version, classes in (((1, 36, 3), ()), ((1, 35, 4), (_CARD,))):
        state = _cards(version, "example.com/card", 0, classes)

        assert state.rejecting_plugins(0) == [("NodeResourcesFit",)] * 2
        assert not state.modelled(0)


def test_a_node_that_lists_it_serves_it_as_ever() -> None:
    """A device plugin is there on one node: that one is judged by its numbers, the other is not modelled."""
    state = _cards((1, 36, 3), "example.com/card", 1, (_CARD,))

    assert state.rejecting_plugins(0) == [(), ("NotModelled",)]
    assert not state.modelled(0)
    assert state.place(0, 2) == ((0, 1),)
