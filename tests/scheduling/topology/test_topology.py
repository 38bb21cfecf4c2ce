"""Spread and inter-pod affinity, by small cases that can be followed by hand."""

import msgspec
import pytest

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.pods.pod import AffinityTerm, SpreadConstraint
from reconciler.scheduling.lasting_state import LastingState
from reconciler.scheduling.state import SchedulingState
from reconciler.scheduling.topology import rationing
from reconciler.scheduling.verdict import Rejection
from reconciler.values.label_selector import LabelSelector, Requirement
from tests.builders import ClusterBuilder, selector

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def _zones(*zones: str | None) -> ClusterBuilder:
    cluster = ClusterBuilder()
    for number, zone in enumerate(zones):
        cluster.node(f"n{number}", labels={ZONE: zone} if zone else {})
    return cluster


def _spread(key: str = ZONE, skew: int = 1, **more: object) -> dict[str, object]:
    constraint = SpreadConstraint(topology_key=key, max_skew=skew, selector=selector(app="web"), **more)
    return {"spread": (constraint,)}


def test_pods_go_round_the_zones() -> None:
    """With maxSkew 1 the second pod of a zone waits for every other zone; first fit picks the first node of each."""
    cluster = _zones("a", "a", "b", "c")
    cluster.pods("web", 1, cpu="1", shape=_spread())

    assert SchedulingState(cluster.world()).place(0, 7) == ((0, 3), (2, 2), (3, 2))


def test_a_full_zone_holds_the_others_back() -> None:
    """Zone c has room for one pod: the others stop at two."""
    cluster = _zones("a", "b")
    cluster.node("n2", cpu="1", labels={ZONE: "c"})
    cluster.pods("web", 1, cpu="1", shape=_spread())
    state = SchedulingState(cluster.world())

    assert state.place(0, 9) == ((0, 2), (1, 2), (2, 1))
    assert state.verdict(0, 0) == (
        Rejection(
            "PodTopologySpread", f"{ZONE}=a has 2 matching pods, the least is 1 (in c), so one more would exceed maxSkew 1"
        ),
    )


def test_a_node_without_the_key_is_out() -> None:
    """The constraint's label must be there."""
    cluster = _zones("a", None)
    cluster.pods("web", 1, shape=_spread())

    assert SchedulingState(cluster.world()).verdict(0, 1) == (Rejection("PodTopologySpread", f"the node has no label {ZONE}"),)


def test_too_few_domains_count_as_an_empty_one() -> None:
    """minDomains 3 with two zones: the least is taken as 0, so that each zone takes maxSkew pods."""
    cluster = _zones("a", "b")
    cluster.pods("web", 1, shape=_spread(skew=2, min_domains=3))

    assert SchedulingState(cluster.world()).place(0, 9) == ((0, 2), (1, 2))


def test_nodes_that_the_pod_cannot_use_are_no_domains() -> None:
    """Zone b is not selected, so that it holds nobody back; with policy Ignore it does."""
    for policy, placed in (("Honor", ((0, 4),)), ("Ignore", ((0, 1),))):
        cluster = ClusterBuilder()
        cluster.node("n0", labels={ZONE: "a", "pool": "web"}, cpu="4")
        cluster.node("n1", labels={ZONE: "b", "pool": "db"})
        cluster.pods("web", 1, cpu="1", node_selector={"pool": "web"}, shape=_spread(node_affinity_policy=policy))

        assert SchedulingState(cluster.world()).place(0, 9) == placed


def test_tainted_nodes_are_domains_unless_asked() -> None:
    """nodeTaintsPolicy is Ignore by default: an empty zone behind a taint holds pods back."""
    for policy, placed in (("Ignore", ((0, 1),)), ("Honor", ((0, 4),))):
        cluster = ClusterBuilder()
        cluster.node("n0", labels={ZONE: "a"}, cpu="4")
        cluster.node("n1", labels={ZONE: "b"}, taints=["t=1:NoSchedule"])
        cluster.pods("web", 1, cpu="1", shape=_spread(node_taints_policy=policy))

        assert SchedulingState(cluster.world()).place(0, 9) == placed


def test_terminating_pods_do_not_count_for_spread() -> None:
    """A pod that is being deleted in zone a does not hold back the next one there; it still uses its room."""
    cluster = _zones("a", "b")
    cluster.pods("web", 1, cpu="1", on="n0", shape=_spread())
    world = cluster.world()
    world.pods.deletion_seconds[0] = cluster.now
    state = SchedulingState(world)

    assert state.verdict(0, 0) == ()
    assert state.used(0).cpu_milli == 1000


def test_two_constraints_hold_together() -> None:
    """Zone and host, both maxSkew 1, two zones of two hosts: five pods go 2+1 and 1+1."""
    cluster = _zones("a", "a", "b", "b")
    both = (*_spread(HOST)["spread"], *_spread(ZONE)["spread"])
    cluster.pods("web", 1, cpu="100m", shape={"spread": both})

    assert SchedulingState(cluster.world()).place(0, 5) == ((0, 2), (2, 1), (1, 1), (3, 1))


def _apart(key: str = HOST, **labels: str) -> AffinityTerm:
    return AffinityTerm(topology_key=key, selector=selector(**(labels or {"app": "web"})), namespaces=("shop",))


def test_pods_that_keep_apart_take_a_node_each() -> None:
    """Anti-affinity to their own kind by host: one pod a node."""
    cluster = _zones("a", "a", "b")
    cluster.pods("web", 1, shape={"anti_affinity": (_apart(),)})

    assert SchedulingState(cluster.world()).place(0, 9) == ((0, 1), (1, 1), (2, 1))


@pytest.mark.parametrize("most", [0, 256])
def test_pods_that_keep_apart_by_zone_are_free_without_one(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One pod a zone; a node without the label belongs to no domain and takes all that are left, whether there are many zones or
    few."""
    monkeypatch.setattr(rationing, "_MOST_GROUPS", most)
    cluster = _zones("a", "a", "b", None)
    cluster.pods("web", 1, cpu="1", shape={"anti_affinity": (_apart(ZONE),)})

    assert SchedulingState(cluster.world()).place(0, 9) == ((0, 1), (2, 1), (3, 4))


def test_anti_affinity_of_others_counts() -> None:
    """A pod without any rule is kept away from the zone of one whose terms select it."""
    cluster = _zones("a", "b")
    cluster.pods("lonely", 1, on="n0", shape={"anti_affinity": (_apart(ZONE, app="web"),)})
    cluster.pods("web", 1, cpu="1")
    state = SchedulingState(cluster.world())

    assert state.verdict(1, 0) == (Rejection("InterPodAffinity", f"a pod in {ZONE}=a has anti-affinity to this one"),)
    assert state.place(1, 9) == ((1, 4),)
    state.unbind(0, 0)
    assert state.verdict(1, 0) == ()


def test_the_first_pod_of_a_group_may_go_anywhere_with_the_keys() -> None:
    """It matches its own term and nobody else does; the others then follow it into its zone."""
    cluster = _zones(None, "b", "a", "b")
    cluster.pods("web", 1, cpu="3", shape={"affinity": (_apart(ZONE),)})

    for pods, placed in ((9, ((1, 1), (3, 1))), (2, ((1, 1), (3, 1))), (1, ((1, 1),)), (0, ())):
        assert SchedulingState(cluster.world()).place(0, pods) == placed


def test_nobody_starts_a_group_that_it_is_not_part_of() -> None:
    """Affinity to pods that are nowhere rejects every node."""
    cluster = _zones("a")
    cluster.pods("web", 1, shape={"affinity": (_apart(ZONE, app="db"),)})

    assert SchedulingState(cluster.world()).verdict(0, 0) == (
        Rejection("InterPodAffinity", f"affinity: no matching pod in {ZONE}=a"),
    )


def test_namespaces_of_a_term() -> None:
    """A term looks at its namespaces, and at those whose labels its namespace selector matches."""
    by_label = LabelSelector((Requirement("team", "In", ("red",)),))
    for chosen, rejected in ((None, False), (by_label, True), (LabelSelector(), True)):
        cluster = _zones("a")
        term = AffinityTerm(topology_key=ZONE, selector=selector(app="db"), namespaces=("shop",), namespace_selector=chosen)
        cluster.pods("db", 1, on="n0", namespace="data")
        cluster.pods("web", 1, shape={"anti_affinity": (term,)})
        world = cluster.world(namespaces=(("data", (("team", "red"),)), ("shop", ())))

        assert bool(SchedulingState(world).verdict(1, 0)) is rejected


def test_one_pod_a_zone_where_each_zone_has_one_node() -> None:
    """A node without the label takes all that are left, also when no zone is shared."""
    cluster = _zones("a", "b", None)
    cluster.pods("web", 1, cpu="1", shape={"anti_affinity": (_apart(ZONE),)})

    assert SchedulingState(cluster.world()).place(0, 9) == ((0, 1), (1, 1), (2, 4))


def test_namespaces_that_nobody_knows() -> None:
    """A selector in a pod's own term stands for Namespace objects; in a term of others, a namespace without one has no
    labels."""
    without_team = LabelSelector((Requirement("team", "DoesNotExist"),))
    for here, there, rejected in (("shop", "data", False), ("data", "shop", True)):
        cluster = _zones("a")
        term = AffinityTerm(topology_key=ZONE, selector=selector(app="b"), namespace_selector=without_team)
        cluster.pods("b", 1, on="n0" if here == "shop" else None, namespace="data")
        cluster.pods("a", 1, on="n0" if here == "data" else None, shape={"anti_affinity": (term,)})
        state = SchedulingState(cluster.world(namespaces=(), scheduler_version=(1, 37, 1)))
        asked = next(index for index in (0, 1) if state.pod_shape(index).labels == (("app", "a" if here == "shop" else "b"),))

        assert bool(state.verdict(asked, 0)) is rejected, there


def test_a_new_node_opens_its_zone_and_undo_closes_it() -> None:
    """An added node brings a domain that holds the others back until it is undone."""
    cluster = _zones("a")
    cluster.pods("web", 1, cpu="100m", on="n0", shape=_spread())
    world = cluster.world()
    state = SchedulingState(world)
    assert state.fits(0, 0)
    mark = state.mark()

    state.add_node("new", _in_zone(world.node_shapes[0], "b"))

    assert not state.fits(0, 0)
    state.undo(mark)
    assert state.fits(0, 0)


def _in_zone(shape: NodeShape, zone: str) -> NodeShape:
    return msgspec.structs.replace(shape, labels=((ZONE, zone),))


def test_terminating_pods_are_left_out_one_by_one() -> None:
    """Of a running and a terminating pod in zone a one counts, and none once the running one is gone; two that terminate are
    two."""
    cluster = _zones("a", "b")
    cluster.pods("web", 2, cpu="1", on="n0", shape=_spread())
    for gone, said in (([0], ["PodTopologySpread"]), ([0, 1], [])):
        world = cluster.world()
        for pod in gone:
            world.pods.deletion_seconds[pod] = cluster.now
        state = SchedulingState(world)
        assert [item.plugin for item in state.verdict(0, 0)] == said
        if said:
            state.unbind(0, 0)
            assert state.verdict(0, 0) == ()
            state.bind(0, 0)
            assert [item.plugin for item in state.verdict(0, 0)] == said


def test_a_node_without_one_of_the_keys_counts_for_none() -> None:
    """Zone b has no rack: it is no domain of pods that spread over both, and holds nobody back."""
    cluster = ClusterBuilder()
    cluster.node("n0", labels={ZONE: "a", "rack": "r"})
    cluster.node("n1", labels={ZONE: "b"})
    both = (*_spread("rack")["spread"], *_spread(ZONE)["spread"])
    cluster.pods("web", 1, cpu="1", shape={"spread": both})

    assert SchedulingState(cluster.world()).place(0, 3) == ((0, 3),)


def test_a_group_has_begun_where_any_of_its_keys_is() -> None:
    """One pod is in zone a on a node without a rack: the next one is no first of its group, and finds no rack with another.
    Source: InterPodAffinity starts a group only while no term has counted any pod."""
    cluster = ClusterBuilder()
    cluster.node("n0", labels={ZONE: "a"})
    cluster.node("n1", labels={ZONE: "a", "rack": "r"})
    cluster.pods("web", 1, on="n0", shape={"affinity": (_apart(ZONE), _apart("rack"))})
    state = SchedulingState(cluster.world())

    assert [item.message for item in state.verdict(0, 1)] == ["affinity: no matching pod in rack=r"]
    state.unbind(0, 0)
    assert state.verdict(0, 1) == ()


def test_the_first_node_with_room_comes_first_whatever_its_zone() -> None:
    """Zones a and b in turn: n0 is full after one pod, n1 (zone b) comes before n2 (zone a) whenever both may take one."""
    for nodes in (None, [0, 1, 2] * 9, [0, 1, 2]):
        cluster = ClusterBuilder()
        cluster.node("n0", cpu="1", labels={ZONE: "a"})
        cluster.node("n1", cpu="5", labels={ZONE: "b"})
        cluster.node("n2", cpu="5", labels={ZONE: "a"})
        cluster.pods("web", 1, cpu="1", shape=_spread())
        state = SchedulingState(cluster.world())
        assert dict(state.place(0, 5, nodes)) == {0: 1, 1: 3, 2: 1}
        assert dict(state.place(0, 1, nodes)) == {2: 1}


def test_pods_on_nodes_that_do_not_count_are_not_counted() -> None:
    """With nodeTaintsPolicy Honor a pod behind a taint in zone a is nowhere, whether it was there or came; with Ignore it holds
    the next one back."""
    for policy, fits in (("Honor", True), ("Ignore", False)):
        cluster = ClusterBuilder()
        cluster.node("n0", labels={ZONE: "a"})
        cluster.node("n1", labels={ZONE: "a"}, taints=["t=1:NoSchedule"])
        cluster.node("n2", labels={ZONE: "b"})
        cluster.pods("web", 1, cpu="1", on="n1", shape=_spread(node_taints_policy=policy))
        state = SchedulingState(cluster.world())

        assert state.fits(0, 0) is fits
        state.unbind(0, 1)
        assert state.fits(0, 0)
        state.bind(0, 1)
        assert state.fits(0, 0) is fits


def test_terminating_pods_that_go_with_their_node_are_nobody() -> None:
    """Two pods terminate on n1 of zone b, and the node goes for good: the zone has none, as before, and takes one."""
    cluster = _zones("a", "b", "b")
    cluster.pods("web", 2, cpu="1", on="n1", shape=_spread())
    world = cluster.world()
    for pod in range(2):
        world.pods.deletion_seconds[pod] = cluster.now
    state = LastingState(world)
    assert state.fits(0, 2)

    state.remove(1)

    assert state.place(0, 9, [2]) == ((2, 1),)


def test_terminating_pods_of_others_hide_nobody() -> None:
    """A pod of another app terminates where one of this app runs: that one counts."""
    cluster = _zones("a", "b")
    cluster.pods("web", 1, cpu="1", on="n1", shape=_spread())
    cluster.pods("db", 1, cpu="1", on="n1")
    world = cluster.world()
    web = next(index for index, shape in enumerate(world.pod_shapes) if shape.spread)
    for pod, shape in enumerate(world.pods.shape):
        world.pods.deletion_seconds[pod] = 0 if shape == web else cluster.now

    assert [SchedulingState(world).fits(web, node) for node in (0, 1)] == [True, False]


def test_a_new_zone_is_one_more() -> None:
    """minDomains 3: a second zone leaves the least at none, a third one ends that."""
    cluster = _zones("a")
    cluster.pods("web", 1, cpu="1", on="n0", shape=_spread(min_domains=3))
    world = cluster.world()
    state = SchedulingState(world)
    for zone, fits in (("b", False), ("c", True)):
        node = state.add_node(zone, _in_zone(world.node_shapes[0], zone))
        assert not state.fits(0, 0)
        state.bind(0, node)
        assert state.fits(0, 0) is fits


def test_every_key_of_a_pod_has_to_be_on_a_node() -> None:
    """Zone b has a host name and no rack: it is no domain of pods that spread over zones, racks and hosts."""
    cluster = ClusterBuilder()
    cluster.node("n0", labels={ZONE: "a", "rack": "r"})
    cluster.node("n1", labels={ZONE: "b"})
    every = (*_spread(HOST)["spread"], *_spread("rack")["spread"], *_spread(ZONE)["spread"])
    cluster.pods("web", 1, cpu="1", shape={"spread": every})

    assert SchedulingState(cluster.world()).place(0, 3) == ((0, 3),)


def test_nodes_without_a_taint_count_where_taints_are_honored() -> None:
    """An empty zone b holds back the second pod of zone a."""
    cluster = _zones("a", "b")
    cluster.pods("web", 1, cpu="1", shape=_spread(node_taints_policy="Honor"))

    assert SchedulingState(cluster.world()).place(0, 9, [0]) == ((0, 1),)


@pytest.mark.parametrize("rules", ["anti_affinity", "affinity", "spread"])
def test_a_key_that_comes_with_a_node_makes_domains(rules: str) -> None:
    """No node has a rack; then two have, and are one domain from then on, with what was bound before."""
    cluster = _zones("a")
    term = AffinityTerm(topology_key="rack", selector=selector(app="web"), namespaces=("shop",))
    spread = SpreadConstraint(topology_key="rack", max_skew=1, selector=selector(app="web"))
    cluster.pods("web", 1, cpu="1", shape={rules: (spread,) if rules == "spread" else (term,)})
    state = SchedulingState(cluster.world())
    assert [said.plugin for said in state.verdict(0, 0)] == {
        "anti_affinity": [],
        "affinity": ["InterPodAffinity"],
        "spread": ["PodTopologySpread"],
    }[rules]
    assert state.rejecting_plugins(0) == [tuple(said.plugin for said in state.verdict(0, 0))]

    racks = [
        state.add_node(name, NodeShape(labels=(("rack", "r1"),), allocatable=state.shape_of(0).allocatable)) for name in "xy"
    ]

    assert [state.fits(0, node) for node in racks] == [True, True]
    state.bind(0, racks[0])
    assert [state.fits(0, node) for node in racks] == [rules != "anti_affinity"] * 2
