"""Pods promised to a node and topology spread: what kube-scheduler 1.36.3's filter plugins answered to each of these cases."""

import msgspec
import pytest

from reconciler.cluster.pods.pod import SpreadConstraint
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.scheduling.fit import fit
from reconciler.scheduling.state import SchedulingState
from reconciler.values.label_selector import LabelSelector
from tests.builders import ClusterBuilder, selector

ZONE = "topology.kubernetes.io/zone"
_SPREAD, _TAINT = "PodTopologySpread", "TaintToleration"
_EVERY_POD = LabelSelector()


@pytest.mark.parametrize(
    ("zones", "promised", "constraint", "said"),
    [
        ("ab", 1, {}, [{_SPREAD}, set()]),
        ("ab", 2, {"max_skew": 3}, [set(), set()]),
        ("ab", 2, {"max_skew": 2}, [{_SPREAD}, set()]),
        ("a", 1, {}, [set()]),
        ("a", 1, {"min_domains": 2}, [{_SPREAD}]),
        ("abc", 1, {"min_domains": 2}, [{_SPREAD}, set(), set()]),
        ("-b", 1, {}, [{_SPREAD}, set()]),
        ("Ab", 1, {"node_taints_policy": "Honor"}, [{_TAINT}, set()]),
        ("Ab", 1, {"node_taints_policy": "Ignore"}, [{_SPREAD, _TAINT}, set()]),
        ("ab", 1, {"selector": None}, [set(), set()]),
        ("ab", 1, {"selector": selector(app="p")}, [{_SPREAD}, set()]),
        ("ab", 1, {"selector": selector(app="q")}, [set(), set()]),
    ],
)
def test_an_empty_selector_counts_promised_pods(
    zones: str, promised: int, constraint: dict[str, object], said: list[set[str]]
) -> None:
    """A node a zone (`-`: without one, a capital: tainted), pods promised to the first, and one more with an empty selector
    unless told: it counts no bound pod, yet those that are promised."""
    assert _said(zones, ["shop"] * promised, constraint) == said


def test_pods_that_are_promised_to_a_node_that_does_not_count() -> None:
    """Source: `updateWithPod` looks at the inclusion policies of the constraint: behind the taint of zone a nobody is counted."""
    assert _said("Abc", ["shop"], {"node_taints_policy": "Honor"}) == [{_TAINT}, set(), set()]
    assert _said("Abc", ["shop"], {"node_taints_policy": "Ignore"}) == [{_TAINT, _SPREAD}, set(), set()]


def test_pods_of_other_namespaces_are_not_counted() -> None:
    assert _said("ab", ["batch"], {}) == [set(), set()]


def _said(zones: str, promised: list[str], constraint: dict[str, object]) -> list[set[str]]:
    cluster = ClusterBuilder()
    for number, zone in enumerate(zones):
        labels = {} if zone == "-" else {ZONE: zone.lower()}
        cluster.node(f"n{number}", labels=labels, taints=["t:NoSchedule"] if zone.isupper() else [])
    for number, namespace in enumerate(promised):
        cluster.pods(f"p{number}", 1, labels={"app": "p"}, namespace=namespace)
    given = {"topology_key": ZONE, "max_skew": 1, "selector": _EVERY_POD, **constraint}
    cluster.pods("web", 1, labels={"app": "p"}, shape={"spread": (SpreadConstraint(**given),)})
    world = cluster.world()
    rows = [msgspec.structs.replace(pod, nominated=0) if pod.name.startswith("p") else pod for pod in world.pods]
    world = msgspec.structs.replace(world, pods=PodTable(rows))
    (found,) = (pod for pod in fit(world) if pod.pod == "shop/web-1")
    return [{rejection.plugin for rejection in node.rejections} for node in found.nodes]


def test_a_plugin_that_objects_twice_is_named_once() -> None:
    """A pod is promised to n0: by host an empty selector counts it, by zone a selector of its labels does."""
    cluster = ClusterBuilder()
    cluster.node("n0", labels={ZONE: "a"})
    cluster.node("n1", labels={ZONE: "b"})
    cluster.pods("p", 1)
    hosts = SpreadConstraint(topology_key="kubernetes.io/hostname", max_skew=1, selector=_EVERY_POD)
    zones = SpreadConstraint(topology_key=ZONE, max_skew=1, selector=selector(app="p"))
    for constraints in ((hosts,), (zones, hosts)):
        cluster.pods("web", 1, labels={"app": "p", "is": "web"}, shape={"spread": constraints})
        world = cluster.world()
        state = SchedulingState(world)
        shapes = {shape.spread: index for index, shape in enumerate(world.pod_shapes)}

        assert [said.plugin for said in state.verdict_with(shapes[constraints], 0, [shapes[()]])] == [_SPREAD]
        assert state.verdict_with(shapes[constraints], 1, []) == ()
