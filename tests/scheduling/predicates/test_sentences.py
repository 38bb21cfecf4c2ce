"""The sentences of InterPodAffinity and PodTopologySpread: everything that is in the way is named, each thing once."""

import msgspec
import pytest

from reconciler.cluster.nodes.node import HOSTNAME_LABEL
from reconciler.cluster.pods.pod import AffinityTerm, SpreadConstraint
from reconciler.scheduling.state import SchedulingState
from tests.builders import ClusterBuilder, selector


def _term(key: str, app: str) -> AffinityTerm:
    return AffinityTerm(topology_key=key, selector=selector(app=app), namespaces=("shop",))


def _spread(key: str, **fields: object) -> SpreadConstraint:
    return SpreadConstraint(**{"topology_key": key, "max_skew": 1, "selector": selector(app="web"), **fields})


def _said(shape: dict[str, object], there: dict[str, object] | None = None, node: int = 0) -> list[str]:
    """What a pod of app web is told of a node: n0 in zone a and rack r, with a pod of app web; n1 in zone b, without a rack; n2
    without either."""
    cluster = ClusterBuilder()
    cluster.node("n0", labels={"zone": "a", "rack": "r"})
    cluster.node("n1", labels={"zone": "b"})
    cluster.node("n2")
    cluster.pods("there", 1, labels={"app": "web", "is": "there"}, on="n0", shape=there)
    cluster.pods("web", 1, shape=shape)
    world = cluster.world()
    asked = next(index for index, value in enumerate(world.pod_shapes) if value.labels == (("app", "web"),))
    return [said.message for said in SchedulingState(world).verdict(asked, node)]


@pytest.mark.parametrize(
    ("shape", "there", "node", "said"),
    [
        ({"affinity": (_term("zone", "web"),)}, None, 0, []),
        ({"affinity": (_term("zone", "web"),)}, None, 1, ["affinity: no matching pod in zone=b"]),
        ({"affinity": (_term("zone", "web"),)}, None, 2, ["affinity: the node has no label zone"]),
        ({"affinity": (_term("rack", "web"), _term("zone", "web"))}, None, 1, ["affinity: the node has no label rack"]),
        ({"affinity": (_term("rack", "db"), _term("zone", "db"))}, None, 0, ["affinity: no matching pod in rack=r, zone=a"]),
        ({"anti_affinity": (_term("zone", "web"),)}, None, 0, ["anti-affinity: a matching pod is in zone=a"]),
        ({"anti_affinity": (_term("zone", "web"),)}, None, 1, []),
        ({"anti_affinity": (_term("zone", "web"),)}, None, 2, []),
        ({"anti_affinity": (_term("zone", "db"),)}, None, 0, []),
        ({"anti_affinity": (_term("rack", "web"),)}, None, 1, []),
        ({}, {"anti_affinity": (_term("rack", "web"),)}, 1, []),
        (
            {"anti_affinity": (_term("rack", "web"), _term("zone", "web"))},
            None,
            0,
            ["anti-affinity: a matching pod is in rack=r, and anti-affinity: a matching pod is in zone=a"],
        ),
        (
            # Two terms that mean the same pods in the same zone are one thing to say.
            {
                "anti_affinity": (
                    _term("zone", "web"),
                    AffinityTerm(topology_key="zone", selector=selector(**{"is": "there"}), namespaces=("shop",)),
                )
            },
            None,
            0,
            ["anti-affinity: a matching pod is in zone=a"],
        ),
        ({}, {"anti_affinity": (_term("zone", "web"),)}, 0, ["a pod in zone=a has anti-affinity to this one"]),
        ({}, {"anti_affinity": (_term("zone", "web"),)}, 1, []),
        (
            {"affinity": (_term("zone", "db"),), "anti_affinity": (_term("rack", "web"),)},
            {"anti_affinity": (_term("zone", "web"),)},
            0,
            [
                "affinity: no matching pod in zone=a, anti-affinity: a matching pod is in rack=r, "
                "and a pod in zone=a has anti-affinity to this one"
            ],
        ),
    ],
)
def test_what_affinity_says(shape: dict[str, object], there: dict[str, object] | None, node: int, said: list[str]) -> None:
    """A missing label before everything else, then each domain that is empty and should not be, or the other way round."""
    assert _said(shape, there, node) == said


@pytest.mark.parametrize(
    ("constraints", "node", "said"),
    [
        ((_spread("zone"),), 0, ["zone=a has 1 matching pod, the least is 0 (in b), so one more would exceed maxSkew 1"]),
        ((_spread("zone"),), 1, []),
        ((_spread("zone"),), 2, ["the node has no label zone"]),
        ((_spread("zone", max_skew=2),), 0, []),
        ((_spread("rack"),), 0, []),
        (
            (_spread("rack", min_domains=2),),
            0,
            ["rack=r has 1 matching pod, the least is 0 (only 1 of 2 domains), so one more would exceed maxSkew 1"],
        ),
        ((_spread("rack", min_domains=1),), 0, []),
        ((_spread("zone"), _spread("rack")), 1, ["the node has no label rack"]),
        ((_spread("zone"), _spread("rack")), 2, ["the node has no label zone, and the node has no label rack"]),
        # A pod that its own selector does not match adds nothing: one pod above the least is within a skew of one.
        ((_spread("zone", selector=selector(**{"is": "there"})),), 0, []),
        ((_spread("zone", selector=selector(app="db")),), 0, []),
        ((_spread("zone", selector=None),), 0, []),
    ],
)
def test_what_spread_says(constraints: tuple[SpreadConstraint, ...], node: int, said: list[str]) -> None:
    """Each constraint that is broken, with the numbers that it was measured by."""
    assert _said({"spread": constraints}, None, node) == said


def test_pods_are_counted_in_words() -> None:
    """Two pods of an app that does not count itself: three would still be one too many."""
    cluster = ClusterBuilder()
    cluster.node("n0", labels={"zone": "a"})
    cluster.node("n1", labels={"zone": "b"})
    cluster.pods("db", 2, on="n0")
    cluster.pods("web", 1, shape={"spread": (_spread("zone", selector=selector(app="db")),)})

    (said,) = SchedulingState(cluster.world()).verdict(1, 0)

    assert said.message == "zone=a has 2 matching pods, the least is 0 (in b), so one more would exceed maxSkew 1"


def test_a_node_without_host_name_is_no_zone_of_pods_that_spread_over_hosts_too() -> None:
    """Every key has to be there: zone b has one node, which has no host name, and holds nobody back."""
    for without, placed in ((False, ((0, 1),)), (True, ((0, 2),))):
        cluster = ClusterBuilder()
        cluster.node("n0", cpu="2", labels={"zone": "a"})
        cluster.node("n1", cpu="0", labels={"zone": "b"})
        cluster.pods("web", 1, cpu="1", shape={"spread": (_spread("zone"), _spread(HOSTNAME_LABEL, max_skew=9))})
        world = cluster.world()
        shapes = [
            msgspec.structs.replace(shape, without_hostname=without) if index == world.nodes[1].shape else shape
            for index, shape in enumerate(world.node_shapes)
        ]
        state = SchedulingState(msgspec.structs.replace(world, node_shapes=tuple(shapes)))

        assert state.place(0, 5) == placed


def test_the_domain_with_the_fewest_is_one_that_counts() -> None:
    """Zone a has no pod and counts not, since no pod of the shape may go there: of the others c has the fewest."""
    cluster = ClusterBuilder()
    for name, zone, pool in (("n0", "a", "other"), ("n1", "b", "mine"), ("n2", "c", "mine")):
        cluster.node(name, labels={"zone": zone, "pool": pool})
    shape = {"spread": (_spread("zone"),), "node_selector": (("pool", "mine"),)}
    cluster.pods("web", 2, on=["n1", None], labels={"app": "web"}, shape=shape)

    (said,) = SchedulingState(cluster.world()).verdict(0, 1)
    assert said.message == "zone=b has 1 matching pod, the least is 0 (in c), so one more would exceed maxSkew 1"
