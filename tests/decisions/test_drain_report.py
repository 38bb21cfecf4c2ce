"""The drain report: nodes times thresholds, every blocker, the money that it pins."""

from reconciler.decisions.removal.drain_report import DrainReport, drain_report
from tests.builders import NOW, ClusterBuilder, node_group, policy


def _report(cluster: ClusterBuilder, *thresholds: int, price: str | None = "0.40") -> DrainReport:
    rules = policy(node_group("general", min=5, price_per_hour=price))
    return drain_report(cluster.world(), rules, NOW, thresholds or (30, 50, 70, 90), 1_000_000)


def test_a_node_is_safe_from_its_own_threshold_on() -> None:
    """2 of 4 cores is 50 %: not safe at 30, safe at 50 and above, whatever the group's minimum size."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="2", on="general-1")
    first, second = _report(cluster).nodes
    assert first.safe == (False, True, True, True)
    assert second.safe == (True, True, True, True)


def test_nodes_are_judged_each_on_its_own() -> None:
    """Two nodes at half: each could join the other, so both are safe here, though only one could go."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 2, cpu="2", on=["general-1", "general-2"])
    assert [node.safe for node in _report(cluster, 50).nodes] == [(True,), (True,)]


def test_a_pod_without_another_place_is_named() -> None:
    """The other node is full."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="2", on="general-1")
    cluster.pods("full", 1, cpu="4", on="general-2")
    first = _report(cluster, 50).nodes[0]
    assert first.safe == (False,)
    assert [(blocker.code, blocker.pod) for blocker in first.blockers] == [("NoPlaceToMove", "shop/web-1")]


def test_pins_are_ranked_by_price_and_carry_advice() -> None:
    """One ownerless pod keeps a node of 0.40; the advice says what to do."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("shell", 1, cpu="100m", on="general-2", owner=None)
    (pin,) = _report(cluster).pins
    assert (pin.pod, pin.codes, pin.nodes, pin.price_per_hour) == ("shop/shell-1", ("Unreplicated",), ("general-2",), "0.40")
    assert pin.advice == ("run it under a controller",)


def test_pods_without_requests_are_listed() -> None:
    """They are invisible to every decision."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("bare", 1, on="general-1")
    cluster.pods("fine", 1, cpu="10m", on="general-1")
    assert _report(cluster).without_requests == ("shop/bare-1",)


def test_an_unknown_price_stays_unknown() -> None:
    """No price is not a price of zero."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("shell", 1, cpu="100m", on="general-1", owner=None)
    report = _report(cluster, price=None)
    assert report.nodes[0].price_per_hour is None
    assert report.pins[0].price_per_hour is None
