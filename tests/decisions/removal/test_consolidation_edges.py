"""Replacements at their edges: what a node is worth to the last digit, which nodes count, and which stand in."""

import msgspec
import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory, Replacement
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import WithoutMachines
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group
from tests.decisions.deciding import blocker_codes, group, of_kind, plan_of
from tests.decisions.removal.test_consolidation_choice import ON, _group, _replaced, _rules


@pytest.mark.parametrize(("least", "replaced"), [(1, [("small", ("small-1", "small-2"))]), (2, [])])
def test_new_nodes_of_a_group_may_be_larger_than_those_that_they_replace(
    least: int, replaced: list[tuple[str, tuple[str, ...]]]
) -> None:
    """Two nodes of 4 cores with 3 used, made before the template said 8: one new node takes both, if the group may be of one."""
    cluster = ClusterBuilder()
    names = cluster.group("small", nodes=2, cpu="8")
    for name in names:
        cluster.node(name, "4", labels={"pool": "small"})
    cluster.pods("web", 2, cpu="3", on=list(names))
    rules = _rules(_group("small", "0.20", min=least))
    world = cluster.world()
    made_before = tuple(msgspec.structs.replace(machine, outdated=True) for machine in world.machines)
    assert _replaced(plan_of(msgspec.structs.replace(world, machines=made_before), rules)) == replaced


def test_a_thousand_millicores_are_a_core_beside_memory() -> None:
    """8 GiB are worth 33,896 and 1,073 millicores 33,918 in millionths of a dollar: the node with these in its stead is worth
    more and goes last, which shows where the price of a node is as small."""
    cluster = ClusterBuilder()
    names = cluster.group("small", nodes=3, cpu="3")
    for name, cpu, memory in zip(names, ("1800m", "2873m", "2"), ("8Gi", "0", "0"), strict=True):
        cluster.pods(f"web-{name}", 1, cpu=cpu, memory=memory, on=name)
    cluster.group("mega", nodes=0, cpu="6")
    plan = plan_of(cluster.world(), _rules(_group("small", "0.000010"), _group("mega", "0.000015")))
    assert _replaced(plan) == [("mega", ("small-1", "small-3"))]
    (action,) = of_kind(plan, ActionKind.REPLACE)
    assert (action.from_, action.to) == (0, 1)


def test_of_nodes_worth_the_same_for_their_price_the_one_with_more_beside_goes_later() -> None:
    """A node of twice the price with twice the cpu and 1 MiB more."""
    cluster = ClusterBuilder()
    cluster.group("large", nodes=1, cpu="3")
    cluster.group("small", nodes=2, cpu="1500m")
    cluster.pods("a", 1, cpu="2800m", memory="1Mi", on="large-1")
    cluster.pods("b", 1, cpu="1400m", on="small-1")
    cluster.pods("c", 1, cpu="1300m", on="small-2")
    cluster.group("mega", nodes=0, cpu="5")
    groups = (_group("large", "0.000020"), _group("small", "0.000010"), _group("mega", "0.000015"))
    assert _replaced(plan_of(cluster.world(), _rules(*groups))) == [("mega", ("small-1", "small-2"))]


def test_a_node_that_is_replaced_does_not_stand_in_for_itself() -> None:
    """It joined again under its name since then; the group has not grown, so that the replacement never began."""
    cluster = ClusterBuilder()
    (name,) = cluster.group("small", nodes=1, cpu="4", created=NOW - 60)
    cluster.pods("web", 1, cpu="3", on=name)
    target = str(machine_deployment("small"))
    one = Replacement(target=target, nodes=(name,), to=2, started_seconds=NOW - 120, saving_micros=1)
    plan, memory = decide(cluster.world(), _rules(_group("small", "0.20")), Memory(replacements=(one,)), NOW)
    assert (memory.replacements, blocker_codes(plan, name)) == ((), ["NotUnderutilized"])


@pytest.mark.parametrize(("least", "replaced"), [(1, [("small-1",)]), (2, [])])
def test_a_request_that_never_came_is_no_node(least: int, replaced: list[tuple[str, ...]]) -> None:
    """Three are asked for and two are there, in a pool without Machines, whose size nobody takes back: with a least of two none
    may go."""
    cluster = ClusterBuilder()
    names = cluster.group("small", nodes=2, cpu="4", replicas=3)
    cluster.pods("web", 2, cpu="3", on=list(names))
    cluster.group("mega", nodes=0, cpu="4")
    chosen = msgspec.structs.replace(ON, without_machines=WithoutMachines.PLATFORM_CHOOSES)
    rules = _rules(node_group("small", price_per_hour="0.40", scale_down=chosen, min=least), _group("mega", "0.20"))
    world = cluster.world()
    small = next(one for one in world.targets if one.ref == machine_deployment("small"))
    others = tuple(one for one in world.targets if one is not small)
    world = msgspec.structs.replace(world, targets=(*others, msgspec.structs.replace(small, selectable=False)))
    memory = Memory(waiting_since={f"{small.ref} at 3": NOW - 900})
    reasons = [reason for reason in group(plan_of(world, rules, memory), "small").reasons if reason.code == "CouldBeReplaced"]
    assert [reason.data["nodes"] for reason in reasons] == replaced
