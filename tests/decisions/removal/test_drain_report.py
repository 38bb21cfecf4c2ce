"""The drain report: nodes times thresholds, every blocker, the money that it pins."""

import msgspec
import pytest

from reconciler.cluster.pods.pod import PodPhase
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.decisions.removal.drains.drain_report import DrainReport, NodeDrain, Pin, drain_report
from reconciler.policy.documents import Hold, ScaleDown, Toggle
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


def test_a_whole_report() -> None:
    """Three pods of 1 core of which another node takes one; a pod of 2.5 without controller and without another place; a node
    that leaves; a smaller node that nobody manages, whose pod of 1.5 fits on the second."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    cluster.node("general-3", labels={"pool": "general"}, taints=("reconciler.dev/deleting=test.1:NoSchedule",))
    cluster.node("alone", cpu="2")
    cluster.pods("web", 3, cpu="1", on="general-1")
    cluster.pods("odd", 1, cpu="2500m", on="general-2", owner=None)
    cluster.pods("gone", 1, cpu="1", on="general-3", owner=None)
    cluster.pods("shell", 1, cpu="1500m", on="alone", owner=None)
    cluster.pods("bare", 1, on="general-1")
    cluster.pods("waits", 1)
    cluster.pods("little", 1, memory="1Mi", on="general-1")
    cluster.pods("ended", 1, on="general-1")
    world = cluster.world()
    rows = (msgspec.structs.replace(one, phase=PodPhase.SUCCEEDED) if one.name == "ended-1" else one for one in world.pods)
    world = msgspec.structs.replace(world, pods=PodTable(rows))
    rules = policy(node_group("general", min=5, price_per_hour="0.40"), currency="EUR")
    unowned = ("Unreplicated", "it has no controller that would recreate it")
    leaving = (
        "its taint reconciler.dev/deleting says that the node is being removed. If nobody works there, "
        "remove the taint with `kubectl taint nodes general-3 reconciler.dev/deleting-`"
    )
    found = drain_report(world, rules, NOW, (30, 62, 80), 1_000_000)

    def said(one: NodeDrain) -> list[tuple[str, str, str]]:
        return [(blocker.code, blocker.pod, blocker.message) for blocker in one.blockers]

    assert [
        (one.node, one.group, one.utilization_permille, one.price_per_hour, one.safe, said(one)) for one in found.nodes
    ] == [
        ("alone", None, 750, None, (False, False, False), [(unowned[0], "shop/shell-1", unowned[1])]),
        (
            "general-1", "general", 750, "0.40", (False, False, False),
            [("NoPlaceToMove", "shop/web-1", "2 of 3 pods like it fit on no other node")],
        ),
        (
            "general-2", "general", 625, "0.40", (False, False, False),
            [
                (unowned[0], "shop/odd-1", unowned[1]),
                ("NoPlaceToMove", "shop/odd-1", "1 of 1 pod like it fits on no other node"),
            ],
        ),
        ("general-3", "general", 250, "0.40", (False, False, False), [("Leaving", "", leaving)]),
    ]  # fmt: skip
    no_room = "the pod needs room on another node: lower its requests, or let a group grow"
    assert found.pins == (
        Pin(
            pod="shop/odd-1", codes=("NoPlaceToMove", "Unreplicated"), nodes=("general-2",), price_per_hour="0.40",
            advice=(no_room, "run it under a controller"),
        ),
        Pin(pod="shop/web-1", codes=("NoPlaceToMove",), nodes=("general-1",), price_per_hour="0.40", advice=(no_room,)),
        Pin(
            pod="shop/shell-1", codes=("Unreplicated",), nodes=("alone",), price_per_hour=None,
            advice=("run it under a controller",),
        ),
    )  # fmt: skip
    assert (found.cluster, found.thresholds, found.currency) == ("test", (30, 62, 80), "EUR")
    assert found.without_requests == ("shop/bare-1",)
    lower = drain_report(world, rules, NOW, (30, 62), 1_000_000)
    assert lower.pins == ()
    at_it = drain_report(world, rules, NOW, (63,), 1_000_000)
    assert [one.pod for one in at_it.pins] == ["shop/odd-1"]


@pytest.mark.parametrize(("work", "examined"), [(0, 0), (2, 0), (3, 1), (9, 3)])
def test_nodes_that_the_work_budget_did_not_reach_are_not_safe(work: int, examined: int) -> None:
    """Three nodes with a pod each, whose places are looked for on three nodes."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=3)
    cluster.pods("web", 3, cpu="1", on=list(names))
    found = drain_report(cluster.world(), policy(node_group("general")), NOW, (50,), work)
    assert [one.safe for one in found.nodes] == [(True,)] * examined + [(False,)] * (3 - examined)
    assert {(b.code, b.message) for one in found.nodes[examined:] for b in one.blockers} <= {
        ("NotExamined", "the work budget of this plan ran out before it")
    }


def test_what_only_the_loop_minds_makes_no_node_unsafe() -> None:
    """A hold, a mode, a maximum of use: whoever drains by hand need not mind; a pod in the way he must."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    held = node_group("general", hold=Hold(reason="repair"), scale_down=ScaleDown(mode=Toggle.DISABLED))
    assert drain_report(cluster.world(), policy(held), NOW, (0,), 9).nodes[0].safe == (True,)


@pytest.mark.parametrize(("cpu", "safe", "pins"), [("2", True, 1), ("2001m", False, 0)])
def test_a_threshold_passes_at_or_below_it(cpu: str, safe: bool, pins: int) -> None:
    """Two of four cores are 50 %: safe, and a pod without controller pins the node; a thousandth more is above."""
    for owner, expected in (("ReplicaSet", safe), (None, False)):
        cluster = ClusterBuilder()
        cluster.group("general", nodes=2)
        cluster.pods("web", 1, cpu=cpu, on="general-1", owner=owner)
        found = _report(cluster, 50)
        assert found.nodes[0].safe == (expected,)
        assert len(found.pins) == (0 if owner else pins)


@pytest.mark.parametrize(("cpu", "permille"), [("4", 0), ("0", None)])
def test_a_node_with_nothing_in_use_passes_at_zero(cpu: str, permille: int | None) -> None:
    """One that offers neither cpu nor memory, too; a pod that requests nothing pins either."""
    for owner, safe in (("ReplicaSet", (True,)), (None, (False,))):
        cluster = ClusterBuilder()
        cluster.group("general", nodes=1, cpu=cpu, memory="16Gi" if cpu == "4" else "0")
        cluster.node("spare")
        cluster.pods("web", 1, on="general-1", owner=owner)
        found = _report(cluster, 0)
        assert (found.nodes[0].utilization_permille, found.nodes[0].safe) == (permille, safe)
        assert [pin.nodes for pin in found.pins] == [("general-1",)] * (owner is None)
