"""What held groups would do is worked out anew only where it can differ: both ways come to the same plan."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from reconciler.decisions import decide as module
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide, decide_counted
from reconciler.decisions.memory import Memory
from reconciler.decisions.work import Work
from reconciler.plan.plan import Plan
from reconciler.policy.documents import Headroom, Hold, NodeGroup, PolicySet
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.properties.random_clusters import random_cluster

HELD = Hold(reason="maintenance")
SEEDS = range(40)


def always_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reconciler.decisions.decide._holds_cost_nothing", lambda *_: False)


def held_clusters() -> Iterator[tuple[object, PolicySet, int]]:
    for seed in SEEDS:
        found = random_cluster(seed, headroom=seed % 3 == 0, expendable=seed % 4 == 0)
        if found.held:
            priced = tuple(msgspec.structs.replace(group, price_per_hour="0.20") for group in found.policy.groups)
            yield found.world, found.policy if seed % 2 else msgspec.structs.replace(found.policy, groups=priced), seed


@pytest.mark.parametrize("work_budget", [DEFAULT_WORK_BUDGET, 150])
def test_same_plans_as_when_all_is_grown_again(monkeypatch: pytest.MonkeyPatch, work_budget: int):
    """Random clusters with held groups: plan and memory are equal, with plenty of work to spend and with too little."""
    clusters = list(held_clusters())
    assert len(clusters) > 5
    quick = [decide(world, rules, Memory(), NOW, work_budget) for world, rules, _ in clusters]
    always_anew(monkeypatch)
    assert quick == [decide(world, rules, Memory(), NOW, work_budget) for world, rules, _ in clusters]


def test_nothing_else_changes_where_nobody_asks_for_it() -> None:
    """Random clusters with held groups: the plan is the same but for `wanted` (and its digest), and so is the memory."""
    told = 0
    for world, rules, _ in held_clusters():
        plan, memory = decide(world, rules, Memory(), NOW)
        short, short_memory = decide_counted(world, rules, Memory(), NOW, Work(DEFAULT_WORK_BUDGET), with_wanted=False)
        told += any(line.wanted is not None for line in plan.groups)
        assert all(line.wanted is None for line in short.groups)
        without = tuple(msgspec.structs.replace(line, wanted=None) for line in plan.groups)
        assert msgspec.structs.replace(short, digest="") == msgspec.structs.replace(plan, groups=without, digest="")
        assert short_memory == memory
    assert told > 5


def plan_of(group: NodeGroup, *, pending: int = 0) -> Plan:
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=2, cpu="4", memory="16Gi")
    cluster.pods("web", 2, cpu="1", on=names)
    cluster.pods("more", pending, cpu="4")
    return decide(cluster.world(), policy(group), Memory(), NOW)[0]


def test_settled_held_group_wants_what_it_has():
    """All pods run and nothing is asked for: two nodes, without growing a second time."""
    (line,) = plan_of(node_group("general", hold=HELD)).groups
    assert (line.current, line.desired, line.wanted) == (2, 2, 2)


def test_held_group_wants_nodes_for_pods_that_wait():
    """Two pods of four cores have no place on two nodes with three free cores each."""
    (line,) = plan_of(node_group("general", hold=HELD), pending=2).groups
    assert (line.desired, line.wanted) == (2, 4)


def test_held_group_wants_its_minimum():
    """Below its minimum of five a group would get three nodes."""
    (line,) = plan_of(node_group("general", min=5, hold=HELD)).groups
    assert (line.desired, line.wanted) == (2, 5)


def test_held_group_wants_its_headroom():
    """Both nodes are used, one empty node is to be kept."""
    (line,) = plan_of(node_group("general", hold=HELD, headroom=Headroom(nodes=1))).groups
    assert (line.desired, line.wanted) == (2, 3)


def test_held_group_would_take_back_a_request_that_failed():
    """Two nodes with a pod each and a machine that failed: three replicas, two without the hold."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=2, replicas=3)
    cluster.pods("web", 2, cpu="4", on=list(names))
    cluster.machine("late", machine_deployment("general"), created=NOW - 60, failed="quota")
    (line,) = decide(cluster.world(), policy(node_group("general", hold=HELD)), Memory(), NOW)[0].groups
    assert (line.desired, line.wanted) == (3, 2)


def test_held_group_would_take_back_a_request_without_machine():
    """The same where no machine was made for the third replica in a quarter of an hour."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=2, replicas=3)
    cluster.pods("web", 2, cpu="4", on=list(names))
    rules = policy(node_group("general", hold=HELD))
    _, memory = decide(cluster.world(), rules, Memory(), NOW - 900)
    (line,) = decide(cluster.world(), rules, memory, NOW)[0].groups
    assert (line.desired, line.wanted) == (3, 2)


@pytest.mark.parametrize(
    ("pending", "fields", "passes"),
    [
        (0, {}, [False]),
        (2, {}, [False]),
        (0, {"min": 2}, [False]),
        (3, {}, [False, True]),
        (0, {"min": 3}, [False, True]),
        (0, {"headroom": Headroom(nodes=1)}, [False, True]),
    ],
)
def test_groups_grow_a_second_time_only_where_a_hold_may_cost_something(
    monkeypatch: pytest.MonkeyPatch, pending: int, fields: dict[str, Any], passes: list[bool]
):
    """Two nodes with three free cores each: pods of three that wait have room on them, a third one has not."""
    lifted: list[bool] = []
    plain = module.grown

    def noted(view: Any, *, lift_holds: bool) -> Any:
        lifted.append(lift_holds)
        return plain(view, lift_holds=lift_holds)

    monkeypatch.setattr(module, "grown", noted)
    cluster = ClusterBuilder()
    cluster.pods("web", 2, cpu="1", on=cluster.group("general", nodes=2, cpu="4", memory="16Gi"))
    cluster.pods("more", pending, cpu="3")
    decide(cluster.world(), policy(node_group("general", hold=HELD, price_per_hour="0.20", **fields)), Memory(), NOW)
    assert lifted == passes
