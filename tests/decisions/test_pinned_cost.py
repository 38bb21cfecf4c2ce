"""What blockers cost an hour in the drain report: which nodes count, the order, and what is not about the pods."""

from reconciler.decisions.removal.drains.drain_report import DrainReport, drain_report
from reconciler.policy.documents import Hold, ScaleDown, Toggle
from tests.builders import NOW, ClusterBuilder, node_group, policy

PRICES = {"cheap": "0.40", "dear": "2.50", "unpriced": None}


def _report(cluster: ClusterBuilder, *thresholds: int, hold: Hold | None = None, mode: Toggle | None = None) -> DrainReport:
    rules = ScaleDown(mode=mode)
    groups = [node_group(name, price_per_hour=price, hold=hold, scale_down=rules) for name, price in PRICES.items()]
    return drain_report(cluster.world(), policy(*groups), NOW, thresholds, 1_000_000)


def _cluster(cpu: str = "1") -> ClusterBuilder:
    """In every group two nodes, one with a pod that has no controller: names and prices run against each other."""
    cluster = ClusterBuilder()
    for name, app in (("cheap", "a"), ("dear", "c"), ("unpriced", "b")):
        cluster.group(name, nodes=2)
        cluster.pods(app, 1, cpu=cpu, on=f"{name}-1", owner=None)
    return cluster


def test_the_dearest_comes_first_and_the_unknown_last() -> None:
    """2.50, 0.40 and a node of unknown price, whatever the names of the pods."""
    pins = [(pin.pod, pin.nodes, pin.price_per_hour) for pin in _report(_cluster(), 50).pins]
    assert pins == [
        ("shop/c-1", ("dear-1",), "2.50"),
        ("shop/a-1", ("cheap-1",), "0.40"),
        ("shop/b-1", ("unpriced-1",), None),
    ]


def test_a_node_above_the_highest_threshold_is_pinned_by_its_use_alone() -> None:
    """3 of 4 cores: at 75 the pod is what keeps the node, at 74 it would stay without the pod's blocker as well."""
    assert len(_report(_cluster("3"), 30, 75).pins) == 3
    assert _report(_cluster("3"), 30, 74).pins == ()


def test_what_only_keeps_the_loop_away_pins_nothing() -> None:
    """A group on hold whose removals are disabled: its empty nodes are safe to drain by hand."""
    report = _report(_cluster(), 50, hold=Hold(reason="audit"), mode=Toggle.DISABLED)
    assert {line.node: line.safe for line in report.nodes if line.node.endswith("-2")} == {
        "cheap-2": (True,),
        "dear-2": (True,),
        "unpriced-2": (True,),
    }
    assert [blocker.code for blocker in report.nodes[0].blockers] == ["Unreplicated"]
