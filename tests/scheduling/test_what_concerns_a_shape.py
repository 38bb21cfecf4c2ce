"""What a state says of a pod shape itself: whether other pods, hosts or domains matter to where its pods go."""

from array import array
from collections.abc import Mapping

import msgspec
import pytest

from reconciler.cluster.devices.device_class import DeviceClass
from reconciler.cluster.pods.pod import AffinityTerm, ClaimUse, HostPort, SpreadConstraint, VolumeUse
from reconciler.scheduling.filled_nodes import HostSpread
from reconciler.scheduling.new_nodes import NO_HOST, NO_SPREAD, Entries
from reconciler.scheduling.state import SchedulingState
from tests.builders import ClusterBuilder, selector

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"

# What pods may carry, by a short name. `web` is the app that is asked about.
_PARTS: dict[str, Mapping[str, object]] = {
    "nothing": {},
    "apart by host": {"anti_affinity": (AffinityTerm(topology_key=HOST, selector=selector(app="web"), namespaces=("shop",)),)},
    "apart by zone": {"anti_affinity": (AffinityTerm(topology_key=ZONE, selector=selector(app="web"), namespaces=("shop",)),)},
    "away from db by host": {
        "anti_affinity": (AffinityTerm(topology_key=HOST, selector=selector(app="db"), namespaces=("shop",)),)
    },
    "near by host": {"affinity": (AffinityTerm(topology_key=HOST, selector=selector(app="web"), namespaces=("shop",)),)},
    "near by rack": {"affinity": (AffinityTerm(topology_key="rack", selector=selector(app="web"), namespaces=("shop",)),)},
    "spread by zone": {"spread": (SpreadConstraint(topology_key=ZONE, max_skew=1, selector=selector(app="web")),)},
    "spread by host": {"spread": (SpreadConstraint(topology_key=HOST, max_skew=1, selector=selector(app="web")),)},
    "spread by host, another app": {"spread": (SpreadConstraint(topology_key=HOST, max_skew=1, selector=selector(app="db")),)},
    "spread by host and zone": {
        "spread": tuple(SpreadConstraint(topology_key=key, max_skew=1, selector=selector(app="web")) for key in (HOST, ZONE)),
    },
    "port 80": {"host_ports": (HostPort(80),)},
    "port 81": {"host_ports": (HostPort(81),)},
    "port 80 and apart by host": {
        "host_ports": (HostPort(80),),
        "anti_affinity": (AffinityTerm(topology_key=HOST, selector=selector(app="web"), namespaces=("shop",)),),
    },
    "port 80 and spread": {
        "host_ports": (HostPort(80),),
        "spread": (SpreadConstraint(topology_key=ZONE, max_skew=1, selector=selector(app="web")),),
    },
    "a volume": {"volumes": (VolumeUse(kind="GCEPersistentDisk", identity="d"),)},
    "a host name": {"host_name_bound": True},
    "a claim": {"claims": (ClaimUse(name="gpu", claim="gpu"),)},
}
WEB, OTHER = 0, 1


def _state(web: str, other: str = "nothing", *, other_app: str = "db") -> SchedulingState:
    """Shape 0 is `web` with the one part, shape 1 another app with the other."""
    cluster = ClusterBuilder()
    cluster.node("n", labels={ZONE: "a", "rack": "r"})
    cluster.pods("a-web", 1, labels={"app": "web"}, shape=_PARTS[web])
    cluster.pods("b-other", 1, labels={"app": other_app, "of": "other"}, shape=_PARTS[other])
    return SchedulingState(cluster.world())


@pytest.mark.parametrize(
    ("web", "other", "rivals"),
    [
        ("nothing", "nothing", set()),
        ("apart by host", "nothing", {WEB}),
        ("away from db by host", "nothing", {OTHER}),
        ("nothing", "apart by host", {OTHER}),
        ("apart by host", "apart by host", {WEB, OTHER}),
        ("apart by zone", "nothing", None),
        ("nothing", "apart by zone", None),
        ("near by host", "nothing", None),
        ("spread by host", "nothing", set()),
        ("spread by host", "apart by host", {OTHER}),
        ("spread by host, another app", "nothing", None),
        ("spread by host and zone", "nothing", set()),
        ("nothing", "near by host", set()),
        ("nothing", "spread by zone", set()),
        ("port 80", "nothing", {WEB}),
        ("port 80", "port 80", {WEB, OTHER}),
        ("port 80", "port 81", {WEB}),
        ("nothing", "port 80", set()),
        ("port 80", "apart by host", {WEB, OTHER}),
        ("port 80 and apart by host", "port 81", {WEB}),
        ("port 80 and spread", "nothing", {WEB}),
        ("a volume", "nothing", None),
        ("nothing", "a volume", set()),
        ("a host name", "nothing", None),
        ("a claim", "nothing", None),
    ],
)
def test_who_shares_no_host(web: str, other: str, rivals: set[int] | None) -> None:
    """Pods that keep apart by host, in both directions, and those that take the same host port; no answer where more plays a
    part."""
    assert _state(web, other).host_rivals(WEB) == rivals


@pytest.mark.parametrize(
    ("web", "other", "keys"),
    [
        ("nothing", "nothing", set()),
        ("spread by zone", "nothing", {ZONE}),
        ("near by rack", "nothing", {"rack"}),
        ("apart by zone", "nothing", {ZONE}),
        ("nothing", "apart by zone", {ZONE}),
        ("near by rack", "apart by zone", {"rack", ZONE}),
        ("spread by host", "nothing", None),
        ("near by host", "nothing", None),
        ("nothing", "apart by host", None),
        ("port 80", "nothing", None),
        ("a volume", "nothing", None),
        ("a host name", "nothing", None),
        ("a claim", "nothing", None),
    ],
)
def test_in_which_domains_it_matters(web: str, other: str, keys: set[str] | None) -> None:
    """The topology keys of its own rules and of those that keep it away; no answer where the host itself matters."""
    assert _state(web, other).domain_keys(WEB) == keys


@pytest.mark.parametrize(
    ("other", "keys"), [("spread by zone", {ZONE}), ("near by rack", {"rack"}), ("spread by host", None), ("nothing", set())]
)
def test_who_is_counted_matters_once_it_is_asked_about(other: str, keys: set[str] | None) -> None:
    """Pods that another shape's rules count concern it from its first question on."""
    state = _state("nothing", other)
    assert state.domain_keys(WEB) == set()
    state.verdict(OTHER, 0)
    assert state.domain_keys(WEB) == keys


@pytest.mark.parametrize(
    ("web", "other", "local"),
    [
        ("nothing", "nothing", True),
        ("nothing", "port 80", True),
        ("nothing", "apart by host", False),
        *((part, "nothing", False) for part in _PARTS if part != "nothing"),
    ],
)
def test_whether_nothing_but_the_node_matters(web: str, other: str, local: bool) -> None:
    """Rules, ports, volumes, host names and device claims tie a pod to more than its node."""
    state = _state(web, other)
    assert state.node_local(WEB) is local
    assert state.node_local(WEB) is local


def test_a_counted_shape_is_local_no_more() -> None:
    """Another shape's spread counts its pods once that one is asked about."""
    state = _state("nothing", "spread by zone")
    assert state.node_local(WEB)
    state.verdict(OTHER, 0)
    assert not state.node_local(WEB)


def test_how_far_shapes_are_local() -> None:
    """The first entry that is not, or the end; what is known already is not asked again."""
    state = _state("nothing", "port 80")
    for _ in range(2):
        assert state.node_local_until([WEB, WEB, OTHER, WEB], 0) == 2
        assert state.node_local_until([WEB, WEB, OTHER, WEB], 2) == 2
        assert state.node_local_until([WEB, WEB, OTHER, WEB], 3) == 4


@pytest.mark.parametrize(
    ("listed", "wanted", "touches"),
    [(0, True, True), (1, True, True), (0, False, False)],
)
def test_devices_play_a_part(listed: int, wanted: bool, touches: bool) -> None:
    """A resource that a device class serves: whether nodes list it or not, more than plain amounts decides."""
    cluster = ClusterBuilder()
    cluster.node("n", **({"example.com/card": listed} if listed else {}))
    cluster.pods("web", 1, **({"example.com/card": 1} if wanted else {}))
    classes = (DeviceClass(name="card", extended_resource="example.com/card"),)
    state = SchedulingState(cluster.world(device_classes=classes))

    assert state.node_local(0) is not touches
    assert (state.host_rivals(0) is None) is touches
    assert (state.domain_keys(0) is None) is touches


def test_a_host_of_its_own() -> None:
    """Known by its name unless its labels say another one."""
    cluster = ClusterBuilder()
    cluster.node("n1")
    cluster.node("n2", labels={HOST: "rack-7"})
    cluster.node("n3", labels={HOST: "n3"})
    state = SchedulingState(cluster.world())

    assert [state.own_host(node) for node in range(3)] == [True, False, True]


def test_whether_a_node_lets_a_pod_in() -> None:
    """Taints, cordons, labels and features count; room does not."""
    cluster = ClusterBuilder()
    cluster.node("n1", cpu="0")
    cluster.node("n2", taints=["t:NoSchedule"])
    cluster.node("n3", cordoned=True)
    cluster.node("n4", labels={"pool": "db"})
    cluster.pods("web", 1, cpu="1")
    cluster.pods("worker", 1, tolerations=["t"], node_selector={"pool": "db"})
    state = SchedulingState(cluster.world())

    assert [state.enters(0, node) for node in range(4)] == [True, False, False, True]
    assert [state.enters(1, node) for node in range(4)] == [False, False, False, True]


@pytest.mark.parametrize(
    ("most", "opened", "columns", "served", "looked"),
    [
        (4, 4, [(0, 0, 1), (0, 1, 1), (0, 2, 1), (1, 3, 2)], ((0, 3), (1, 2)), 3 + 4),
        (3, 3, [(0, 0, 1), (0, 1, 1), (0, 2, 1)], ((0, 3),), 3 + 3),
        (1, 1, [(0, 0, 1)], ((0, 1),), 1 + 1),
        (99, 4, [(0, 0, 1), (0, 1, 1), (0, 2, 1), (1, 3, 2)], ((0, 3), (1, 2)), 3 + 4),
    ],
)
def test_how_new_nodes_would_fill(
    most: int, opened: int, columns: list[tuple[int, int, int]], served: tuple[tuple[int, int], ...], looked: int
) -> None:
    """Three pods that take a node each, then two of 2 cpus that share none with them but one with each other: four nodes of
    4 cpus. Nothing is bound."""
    cluster = ClusterBuilder()
    cluster.node("n", cpu="4")
    cluster.pods("a-web", 3, cpu="1")
    cluster.pods("b-other", 2, cpu="2")
    state = SchedulingState(cluster.world())

    asked = Entries(array("i", (0, 1)), array("i", (3, 2)), [[], [0]], bytearray((1, 0)), [NO_SPREAD] * 2)
    filled, seen = state.fill_new(0, asked, most)

    assert (filled.opened, list(filled), filled.served) == (opened, columns, served)
    assert len(filled) == len(columns)
    assert seen == looked
    assert state.bound(0) == ()


def test_new_nodes_are_shared_where_nothing_forbids_it() -> None:
    """A pod of 3 cpus and one of 1 on a node of 4, the second pod of 3 on the next one."""
    cluster = ClusterBuilder()
    cluster.node("n", cpu="4")
    cluster.pods("a-web", 2, cpu="3")
    cluster.pods("b-other", 1, cpu="1")
    cluster.pods("c-none", 1, cpu="5")
    state = SchedulingState(cluster.world())

    asked = Entries(array("i", (0, 1, 2)), array("i", (2, 1, 1)), [[], [], []], bytearray(3), [NO_SPREAD] * 3)
    filled, _ = state.fill_new(0, asked, 9)

    assert list(filled) == [(0, 0, 1), (0, 1, 1), (1, 0, 1)]
    assert filled.served == ((0, 2), (1, 1))


@pytest.mark.parametrize(
    ("spread", "pods", "most", "on_each"),
    [
        # The first host may take all; each further one may get one more than the fewest, which are 4.
        (HostSpread(1, NO_HOST, 0), 9, 9, [4, 4, 1]),
        (HostSpread(1, 0, 0), 3, 9, [1, 1, 1]),
        (HostSpread(2, 0, 0), 5, 9, [2, 2, 1]),
        (HostSpread(1, 2, 0), 7, 9, [3, 3, 1]),
        # Two more hosts have to come before the fewest are more than none.
        (HostSpread(1, NO_HOST, 2), 4, 9, [1, 2, 1]),
        (HostSpread(1, NO_HOST, 9), 4, 9, [1, 1, 1, 1]),
        (HostSpread(1, 0, 0), 5, 2, [1, 1]),
    ],
)
def test_pods_spread_over_new_hosts(spread: HostSpread, pods: int, most: int, on_each: list[int]) -> None:
    """Pods of 1 cpu on new nodes of 4, worked out by hand after the rule: at most maxSkew above the fewest of all hosts."""
    cluster = ClusterBuilder()
    cluster.node("n", cpu="4")
    cluster.pods("web", 1, cpu="1")
    state = SchedulingState(cluster.world())

    filled, _ = state.fill_new(0, Entries(array("i", (0,)), array("i", (pods,)), [[]], bytearray(1), [spread]), most)

    assert [many for _, _, many in filled] == on_each
    assert [node for _, node, _ in filled] == list(range(len(on_each)))


def test_a_pod_on_the_emptiest_host_lets_the_others_have_more() -> None:
    """Three nodes of 4 cpus with a pod of 3.8 each, and five pods of 0.1 under a skew of 1: one each, then a second each."""
    cluster = ClusterBuilder()
    cluster.node("n", cpu="4")
    cluster.pods("a-large", 1, cpu="3800m")
    cluster.pods("b-small", 1, cpu="100m")
    state = SchedulingState(cluster.world())

    asked = Entries(array("i", (0, 1)), array("i", (3, 5)), [[], []], bytearray(2), [NO_SPREAD, HostSpread(1, NO_HOST, 0)])
    filled, _ = state.fill_new(0, asked, 3)

    assert list(filled)[3:] == [(1, 0, 2), (1, 1, 2), (1, 2, 1)]


@pytest.mark.parametrize(
    ("there", "min_domains", "lowest", "missing"),
    [
        ((2, 1), 1, 1, 0),
        ((2, 0), 1, 0, 0),
        ((2, 2), 3, 2, 1),
        ((2, 2), 5, 2, 3),
        ((), 1, NO_HOST, 1),
        ((), 2, NO_HOST, 2),
    ],
)
def test_a_spread_over_hosts_beside_a_new_node(there: tuple[int, ...], min_domains: int, lowest: int, missing: int) -> None:
    """Of the hosts that are there the one with the fewest pods, and how many hosts are to come before that counts."""
    cluster = ClusterBuilder()
    spread = SpreadConstraint(topology_key=HOST, max_skew=3, min_domains=min_domains, selector=selector(app="web"))
    for number, pods in enumerate(there):
        cluster.node(f"n{number}")
        if pods:
            cluster.pods(f"on-{number}", pods, labels={"app": "web"}, on=f"n{number}", shape={"spread": (spread,)})
    cluster.pods("web", 1, shape={"spread": (spread,)})
    cluster.node("other")
    world = cluster.world()
    nodes = tuple(node for node in world.nodes if node.name != "other")
    shape = world.node_shapes[world.nodes[-1].shape]
    state = SchedulingState(msgspec.structs.replace(world, nodes=nodes))
    waiting = world.pods.shape[len(world.pods) - 1]
    new = state.add_node("x", shape)

    assert state.host_spread(waiting, new) == HostSpread(max_skew=3, lowest=lowest, missing=missing)
    tainted = msgspec.structs.replace(shape, without_hostname=True)
    assert state.host_spread(waiting, state.add_node("y", tainted)) is None


def test_a_new_node_behind_a_taint_is_no_host_of_a_spread() -> None:
    """nodeTaintsPolicy Honor: pods of the spread do not tolerate the taint, so that the node does not count; with Ignore it
    does."""
    for policy, counts in (("Honor", False), ("Ignore", True)):
        cluster = ClusterBuilder()
        spread = SpreadConstraint(topology_key=HOST, max_skew=1, selector=selector(app="web"), node_taints_policy=policy)
        cluster.node("n", taints=["t:NoSchedule"])
        cluster.pods("web", 1, shape={"spread": (spread,)})
        state = SchedulingState(cluster.world())

        assert (state.host_spread(0, state.add_node("x", state.shape_of(0))) is not None) is counts


def test_whom_a_spread_counts() -> None:
    """The shapes that its selector matches, its own among them; none without a spread."""
    state = _state("spread by host", "nothing", other_app="web")
    assert state.spread_with(WEB) == {WEB, OTHER}
    assert state.spread_with(OTHER) == frozenset()
