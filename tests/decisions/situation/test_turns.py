"""Each group has one turn for pods that wait; then the group that failed longest ago has the next one, whatever its tier."""

import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.memory import BackoffState, LeadTime, LeadTimes, Memory
from reconciler.decisions.situation.turns import turns_of
from reconciler.plan.plan import PodOutcome
from reconciler.policy.documents import PolicySet, Tier
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import plan_of, pod

WAITING_SECONDS = 3_000


def _cluster(age: int = WAITING_SECONDS) -> ClusterBuilder:
    """One pod that waits, and room for it only on a new node of spot-a, spot-b (first tier) or demand."""
    cluster = ClusterBuilder()
    for name in ("spot-a", "spot-b", "demand"):
        cluster.group(name, nodes=0, cpu="4")
    cluster.pods("web", 1, cpu="3", age=age)
    return cluster


def _rules(least: int = 0) -> PolicySet:
    tiers = (Tier(name="spot"), Tier(name="on-demand"))
    spot = [node_group(name, tier="spot", min=least if name == "spot-a" else 0) for name in ("spot-a", "spot-b")]
    return policy(*spot, node_group("demand", tier="on-demand"), tiers=tiers)


def _grown(failed_ago: dict[str, int], **memory: object) -> list[str]:
    failures = {name: NOW - ago for name, ago in failed_ago.items()}
    return [action.group for action in plan_of(_cluster().world(), _rules(), Memory(last_failures=failures, **memory)).actions]


@pytest.mark.parametrize(
    ("failed_ago", "next_turn"),
    [
        ({}, "spot-a"),
        ({"spot-a": 900}, "spot-b"),
        ({"spot-a": 1800, "spot-b": 900}, "demand"),
        ({"spot-a": 2700, "spot-b": 1800, "demand": 900}, "spot-a"),
        ({"spot-a": 900, "spot-b": 1800, "demand": 2700}, "demand"),
        ({"spot-a": WAITING_SECONDS + 1, "spot-b": 900}, "spot-a"),
    ],
)
def test_whose_turn_it_is(failed_ago: dict[str, int], next_turn: str):
    """A failure before the pod came does not count."""
    assert _grown(failed_ago) == [next_turn]


def test_a_back_off_that_lasts_passes_the_turn_on():
    """All were tried, and the one that failed longest ago is still left alone: the next has the turn."""
    backoff = BackoffState(failures=9, failed_seconds=NOW - 2700, until_seconds=NOW + 60)
    assert _grown({"spot-a": 2700, "spot-b": 1800, "demand": 900}, backoffs={"spot-a": backoff}) == ["spot-b"]


def test_a_failure_is_known_when_its_back_off_is_forgotten():
    """The machine of spot-a is overdue. The next plan is after `reset`, and the pod still waits."""
    cluster = _cluster()
    cluster.group("spot-a", nodes=0, replicas=1, cpu="4")
    cluster.machine("spot-a-1", machine_deployment("spot-a"), created=NOW - 900)
    _, memory = decide(cluster.world(), _rules(), Memory(), NOW)
    assert memory.last_failures == {"spot-a": NOW}
    _, later = decide(_cluster(WAITING_SECONDS + 20_000).world(), _rules(), memory, NOW + 20_000)
    assert (later.backoffs, later.last_failures) == ({}, {"spot-a": NOW})
    cluster = ClusterBuilder()
    cluster.group("spot-a", nodes=0, cpu="4")
    _, served = decide(cluster.world(), _rules(), later, NOW + 20_010)
    assert served.last_failures == {}


@pytest.mark.parametrize(("age", "group"), [(WAITING_SECONDS, "spot-b"), (300, "spot-a")])
def test_pods_do_not_wait_behind_a_minimum(age: int, group: str):
    """spot-a failed 600 s ago and asks again for the node of its minimum. A pod that waited already goes to another group; one
    that came since expects the node."""
    cluster = _cluster(age)
    cluster.group("spot-a", nodes=0, replicas=1, cpu="4")
    cluster.machine("spot-a-1", machine_deployment("spot-a"), created=NOW - 60)
    line = pod(plan_of(cluster.world(), _rules(least=1), Memory(last_failures={"spot-a": NOW - 600})), "shop/web-1")
    assert line.group == group
    assert line.outcome is (PodOutcome.FITS_UPCOMING if group == "spot-a" else PodOutcome.TRIGGERS_SCALE_UP)


def test_the_bound_is_the_sum_of_all_turns():
    """15 m is the default. A group with 20 requests of 4 minutes each is given up after six. Three iterations of a minute are
    added, and the longest back-off of 30 m."""
    times = LeadTimes(requests=tuple(LeadTime(NOW, 240, 240) for _ in range(20)))
    world, rules = _cluster().world(), _rules()
    groups = effective_groups(world, rules, NOW)
    assert turns_of(groups, Memory()).within_seconds == 3 * 900 + 3 * 60 + 1800
    learned = Memory(lead_times={str(groups[0].target): times})
    assert turns_of(groups, learned).within_seconds == 360 + 2 * 900 + 3 * 60 + 1800
