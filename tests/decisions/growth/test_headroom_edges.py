"""Room kept free, at its edges: what one placeholder takes, which nodes it stands on, what a group that grows whole adds."""

import pytest

from reconciler.plan.plan import Plan
from reconciler.policy.documents import Growth, Headroom, HeadroomPods, ScaleUp, Template
from tests.builders import ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import blocker_codes, codes, group, plan_of

ZONE = "topology.kubernetes.io/zone"


def _pods(count: int, cpu_milli: int) -> Headroom:
    return Headroom(pods=(HeadroomPods(count=count, requests=(("cpu", cpu_milli),)),))


@pytest.mark.parametrize(("slots", "nodes"), [(2, 1), (1, 2)])
def test_a_placeholder_takes_one_place_of_a_pod(slots: int, nodes: int) -> None:
    """A node with a pod and one place more, and one without."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, max_pods=slots)
    cluster.pods("web", 1, cpu="1", on="general-1", traits={"safe_to_evict": "false"})
    plan = plan_of(cluster.world(), policy(node_group("general", headroom=_pods(1, 100))))
    assert group(plan, "general").desired == nodes


@pytest.mark.parametrize(("count", "short"), [(3, []), (4, ["HeadroomShort"])])
def test_all_nodes_of_a_group_that_grows_whole_take_placeholders(count: int, short: list[str]) -> None:
    """Three nodes at once, one placeholder of 3 cores on each; a fourth has no room."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    whole = node_group("general", max=3, scale_up=ScaleUp(growth=Growth.ZERO_OR_MAX), headroom=_pods(count, 3_000))
    line = group(plan_of(cluster.world(), policy(whole)), "general")
    assert line.desired == 3
    assert codes(line) == ["Headroom", *short]
    told = line.reasons[0].data
    assert (told["wanted"], told["free"], told["nodes"]) == (count, 0, 3)
    assert [reason.data["missing"] for reason in line.reasons[1:]] == [1] * len(short)


def test_placeholders_fill_what_is_there_first() -> None:
    """Of five of a core three have room on the node, two on a new one, which says so; the node stays for them."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("web", 1, cpu="1", on="general-1")
    line = group(plan := plan_of(cluster.world(), policy(node_group("general", headroom=_pods(5, 1_000)))), "general")
    assert (line.desired, codes(line)) == (2, ["Headroom"])
    told = line.reasons[0].data
    assert (told["wanted"], told["free"], told["nodes"]) == (5, 3, 1)
    assert plan.actions[0].to == 2


def test_placeholders_that_fit_no_node_of_the_group() -> None:
    """Two of 9 cores on nodes of four: none is bought, and both are missing."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    line = group(plan_of(cluster.world(), policy(node_group("general", headroom=_pods(2, 9_000)))), "general")
    assert (line.desired, codes(line)) == (0, ["HeadroomShort"])
    assert line.reasons[0].data["missing"] == 2


def _two_zones(first: str, headroom: Headroom, pods: int) -> Plan:
    """A group of zone b with a node in zone a as well; so many of its two nodes, from the first, are full."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, replicas=2, labels={ZONE: "b"})
    cluster.node("other", labels={ZONE: "a"})
    cluster.machine("other", machine_deployment("general"), node="other")
    for name in ("general-1", "other")[:pods]:
        cluster.pods(f"full-{name}", 1, cpu="4", on=name)
    return plan_of(cluster.world(), policy(node_group("general", headroom=headroom)))


@pytest.mark.parametrize(
    ("full", "each", "desired"),
    [
        (0, 1, 2),  # an empty node in each zone
        (1, 1, 3),  # b is full, and b is where new nodes come
        (2, 1, 3),  # both are full: only b can be given one
        (0, 2, 3),  # two in each zone: one more in b, where it may be had
    ],
)
def test_headroom_in_every_zone_that_new_nodes_may_be_in(full: int, each: int, desired: int) -> None:
    """New nodes come in the template's zone."""
    plan = _two_zones("b", Headroom(nodes_per_zone=each), full)
    assert group(plan, "general").desired == desired


def test_empty_nodes_beyond_the_headroom_are_not_kept_by_it() -> None:
    """Of three empty nodes two are headroom; a node with a DaemonSet's pod, or a mirror pod, alone is empty."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    cluster.daemonset("agent")
    cluster.pods("proxy", 1, cpu="100m", on="general-1", owner=None, traits={"mirror": True})
    plan = plan_of(cluster.world(), policy(node_group("general", headroom=Headroom(nodes=2))))
    assert group(plan, "general").desired == 3
    kept = [name for name in ("general-1", "general-2", "general-3") if "Headroom" in blocker_codes(plan, name)]
    assert kept == ["general-1", "general-2"]
    assert "Headroom" not in codes(group(plan, "general"))


def test_a_lack_of_headroom_is_told_with_what_was_added() -> None:
    """Four empty nodes wanted, two may come."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("full", 1, cpu="4", on="general-1")
    line = group(plan_of(cluster.world(), policy(node_group("general", max=3, headroom=Headroom(nodes=4)))), "general")
    assert line.desired == 3
    assert [(reason.code, reason.data.get("nodes"), reason.data.get("missing")) for reason in line.reasons] == [
        ("Headroom", 2, None),
        ("HeadroomShort", None, 2),
    ]


def test_a_target_that_is_not_there_wants_no_room() -> None:
    """Nobody could give it nodes, were it held by nobody: what it would go to is what it has."""
    cluster = ClusterBuilder()
    cluster.group("other", nodes=1)
    written = Template(capacity=(("cpu", 8_000), ("memory", 32 << 30)))
    missing = node_group("general", headroom=Headroom(nodes=2), template=written)
    line = group(plan_of(cluster.world(), policy(missing, node_group("other"))), "general")
    assert (line.desired, line.wanted) == (0, 0)
