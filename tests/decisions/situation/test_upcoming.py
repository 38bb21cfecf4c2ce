"""Nodes that were asked for: since when, and which will not come."""

from collections import Counter

from reconciler.cluster.pods.pod import SpreadConstraint
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import LeadTime, LeadTimes, Memory
from reconciler.decisions.outcome.upcoming_nodes import UpcomingNode, upcoming_nodes
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.plan import PodOutcome
from reconciler.policy.documents import Template
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy, selector
from tests.decisions.deciding import plan_of

A = machine_deployment("a")
ZONE = "topology.kubernetes.io/zone"
NOTHING = Memory()
PATIENCE = 900  # scaleUp.maxNodeProvisionTime is 15 minutes unless told otherwise


def upcoming(cluster: ClusterBuilder, memory: Memory = NOTHING, now: int = NOW) -> tuple[UpcomingNode, ...]:
    return upcoming_nodes(View.of(cluster.world(), policy(node_group("a", max=9)), memory, now, Work(0)))


def test_machines_without_a_node():
    """The one that was made first comes first; the one that failed says why, the one that is late says so."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=1, replicas=4)
    cluster.machine("a-new", A, created=NOW - 60)
    cluster.machine("a-late", A, created=NOW - 1000)
    cluster.machine("a-bad", A, created=NOW - 30, failed="InvalidConfiguration: no such image")
    assert [(node.machine, node.since_seconds, node.until_seconds, node.failed) for node in upcoming(cluster)] == [
        ("a-late", NOW - 1000, NOW - 1000 + PATIENCE, "no node within 15m"),
        ("a-new", NOW - 60, NOW - 60 + PATIENCE, ""),
        ("a-bad", NOW - 30, NOW - 30 + PATIENCE, "InvalidConfiguration: no such image"),
    ]


def test_requests_without_a_machine():
    """They count from when the loop first saw them, which its memory says."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=1, replicas=3)
    _, memory = decide(cluster.world(), policy(node_group("a", max=9)), Memory(), NOW)
    later = NOW + 120
    assert upcoming(cluster, memory, later) == 2 * (UpcomingNode(group="a", since_seconds=NOW, until_seconds=NOW + PATIENCE),)
    assert {node.failed for node in upcoming(cluster, memory, NOW + PATIENCE)} == {"no machine within 15m"}


def test_nothing_is_on_its_way():
    """Nodes that have registered are no upcoming ones."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=2)
    assert upcoming(cluster) == ()


def test_failed_machines_stand_for_no_request_without_one():
    """Three are asked for: one machine failed, the other two have none yet."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=1, replicas=4)
    cluster.machine("a-bad", A, created=NOW - 30, failed="no such image")
    found = upcoming(cluster)
    assert sorted((node.machine, node.failed) for node in found) == [("", ""), ("", ""), ("a-bad", "no such image")]


def test_room_that_a_purchase_frees_on_an_upcoming_node():
    """A pod in zone a, three in b are one too many: the node bought in a makes the fourth fit on the node that b is to get."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=1, cpu="4", labels={ZONE: "a"})
    cluster.group("b", nodes=1, replicas=2, cpu="16", memory="64Gi", labels={ZONE: "b"})
    cluster.pods("w", 1, cpu="3", on="a-1", labels={"app": "w"})
    cluster.pods("full", 1, cpu="16", on="b-1")
    spread = {"spread": (SpreadConstraint(topology_key=ZONE, max_skew=1, selector=selector(app="w")),)}
    cluster.pods("more", 4, cpu="3", labels={"app": "w"}, shape=spread)
    template = Template(labels=((ZONE, "a"),)), Template(labels=((ZONE, "b"),))
    rules = policy(node_group("a", max=2, template=template[0]), node_group("b", max=2, template=template[1]))
    plan = plan_of(cluster.world(), rules)
    outcomes = Counter((line.outcome, line.group) for line in plan.pods)
    assert outcomes == {(PodOutcome.FITS_UPCOMING, "b"): 3, (PodOutcome.TRIGGERS_SCALE_UP, "a"): 1}


def test_when_they_are_expected():
    """The slowest of five took 150 s; of four, nothing is said."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=1, replicas=3)
    cluster.machine("a-new", A, created=NOW - 60)
    took = tuple(LeadTime(NOW - 86_400 + number * 3600, 90, 110 + 10 * number) for number in range(5))
    known = Memory(lead_times={str(A): LeadTimes(requests=took)}, waiting_since={f"{A} at 3": NOW - 20})
    assert [(node.machine, node.expected_seconds - NOW) for node in upcoming(cluster, known)] == [("a-new", 90), ("", 130)]
    few = Memory(lead_times={str(A): LeadTimes(requests=took[1:])})
    assert {node.expected_seconds for node in upcoming(cluster, few)} == {0}
