"""A platform that refuses sizes outside its own bounds: the smaller of both bounds applies, and a refused write is a failure of
its group alone."""

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide, settle
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.lints.cluster import findings
from reconciler.decisions.memory import Memory, Outcome
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Budget, PolicySet, Size, Tier, Window
from reconciler.policy.pace import Pace
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, codes, group, of_kind, plan_of

_ORIGIN = "MinSize and MaxSize of the Auto Scaling group"


def _bound(cluster: ClusterBuilder, name: str, least: int, most: int, **fields: object) -> World:
    """The world, where the platform bounds one target."""
    world = cluster.world()
    bounds = {"min_size": least, "max_size": most, "size_origin": _ORIGIN, "sizes_bind": True, **fields}
    return msgspec.structs.replace(
        world,
        targets=tuple(msgspec.structs.replace(one, **bounds) if one.ref.name == name else one for one in world.targets),
    )


def _general(nodes: int = 1) -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=nodes)
    cluster.pods("train", nodes, cpu="4", on=[f"general-{number}" for number in range(1, nodes + 1)])
    return cluster


@pytest.mark.parametrize(
    ("low", "high", "least", "most", "range_"),
    [
        (None, None, 1, 3, (1, 3)),
        (0, 10, 1, 3, (1, 3)),
        (2, 2, 1, 3, (2, 2)),
        (5, 10, 0, 3, (3, 3)),
        (0, 1, 2, 5, (2, 1)),
    ],
    ids=["the target alone", "a wider policy", "a narrower policy", "a minimum that cannot be", "a maximum that cannot be"],
)
def test_the_narrower_bound_applies(low: int | None, high: int | None, least: int, most: int, range_: tuple[int, int]) -> None:
    """No size is wanted that the platform refuses."""
    (found,) = effective_groups(_bound(_general(), "general", least, most), policy(node_group("general", min=low, max=high)), NOW)
    assert (found.min_size, found.max_size) == range_


def test_bounds_that_do_not_bind_give_way_to_the_policy() -> None:
    """Size annotations are sizes of a policy, not of a platform."""
    world = _bound(_general(), "general", 1, 3, sizes_bind=False)
    (found,) = effective_groups(world, policy(node_group("general", min=0, max=10)), NOW)
    assert (found.min_size, found.max_size) == (0, 10)


def test_a_window_does_not_pass_the_platform() -> None:
    """It raises the minimum above what the platform allows."""
    always = Window(schedule="* * * * *", duration_seconds=3600, size=Size(min=7))
    world = _bound(_general(), "general", 0, 3)
    (found,) = effective_groups(world, policy(node_group("general", min=0, max=10, windows=(always,))), NOW)
    assert (found.min_size, found.max_size) == (3, 3)


def test_a_plan_grows_to_the_platforms_maximum() -> None:
    """Four pods wait, two more nodes are allowed: two are asked for, and the plan says why not more."""
    cluster = _general()
    cluster.pods("waiting", 4, cpu="4")
    plan = plan_of(_bound(cluster, "general", 1, 3), policy(node_group("general", min=1, max=10)))
    assert [action.to for action in of_kind(plan, ActionKind.RESIZE)] == [3]
    reason = next(one for one in group(plan, "general").reasons if one.code == "PlatformBound")
    assert reason.message == f"size.max 10 is above 3, the most that {_ORIGIN} allow: 3 applies"


def test_a_minimum_that_the_platform_refuses_is_said() -> None:
    """And a lower one than the platform's as well; what the platform allows is not spoken of."""
    world = _bound(_general(), "general", 1, 3)
    for low, said in ((5, f"size.min 5 is above 3, the most that {_ORIGIN} allow: 3 applies"), (0, f"size.min 0 is below 1, the "
                      f"least that {_ORIGIN} allow: 1 applies"), (2, "")):  # fmt: skip
        line = group(plan_of(world, policy(node_group("general", min=low, max=3))), "general")
        assert [one.message for one in line.reasons if one.code == "PlatformBound"] == ([said] if said else [])


def test_doctor_says_it() -> None:
    """One finding for each bound that can never be reached."""
    view = View.of(_bound(_general(), "general", 1, 3), policy(node_group("general", min=1, max=10)), Memory(), NOW, Work(10_000))
    found = [one for one in findings(view) if one.code == "PlatformBound"]
    assert [(one.object, one.message) for one in found] == [
        ("NodeGroup general", f"size.max 10 is above 3, the most that {_ORIGIN} allow: 3 applies")
    ]


def _refused(kind: ActionKind = ActionKind.RESIZE) -> Outcome:
    return Outcome(
        kind=kind.value, group="first", target="MachineDeployment prod/first", to=2, done=False, code="Refused",
        message="2 is above its MaxSize", at_seconds=NOW,
    )  # fmt: skip


def _tiers() -> tuple[ClusterBuilder, PolicySet]:
    """Two tiers with a node each, and one node of the second that is idle."""
    cluster = ClusterBuilder()
    cluster.group("first", nodes=1)
    cluster.group("second", nodes=2)
    cluster.pods("base", 1, cpu="4", on="first-1")
    cluster.pods("other", 1, cpu="4", on="second-1")
    groups = (node_group("first", max=5, tier="one"), node_group("second", max=5, tier="two"))
    pace = Pace(delay_after_add_seconds=600, delay_after_delete_seconds=240, delay_after_failure_seconds=180)
    return cluster, policy(*groups, tiers=(Tier(name="one"), Tier(name="two")), budgets=(Budget(nodes=100),), pace=pace)


@pytest.mark.parametrize("kind", [ActionKind.RESIZE, ActionKind.REPLACE])
def test_a_refused_write_leaves_the_group_alone_for_a_while(kind: ActionKind) -> None:
    """The next tier takes the pod, and the group says why it does not. Where there is no other group, it is tried again later."""
    cluster, rules = _tiers()
    cluster.pods("waiting", 2, cpu="4")
    memory = settle(Memory(), (_refused(kind),))
    plan, _ = decide(cluster.world(), rules, memory, NOW + 2)
    assert [action.group for action in of_kind(plan, ActionKind.RESIZE)] == ["second"]
    assert "2 is above its MaxSize" in memory.backoffs["first"].reason
    alone = policy(node_group("first", max=5))
    until = memory.backoffs["first"].until_seconds
    before, _ = decide(cluster.world(), alone, memory, until - 1)
    assert of_kind(before, ActionKind.RESIZE) == []
    later, _ = decide(cluster.world(), alone, memory, until)
    assert [action.group for action in of_kind(later, ActionKind.RESIZE)] == ["first"]


def test_a_refused_write_blocks_no_removal_of_others() -> None:
    """The idle node of the other group leaves while the refused one waits."""
    cluster, rules = _tiers()
    memory = settle(Memory(unneeded_since={"second-2": NOW - 7200}), (_refused(),))
    assert memory.last_failed_seconds == 0
    plan, _ = decide(cluster.world(), rules, memory, NOW + 2)
    assert [action.nodes for action in of_kind(plan, ActionKind.REMOVE_NODE)] == [("second-2",)]
    assert blocker_codes(plan, "second-2") == []


def test_pods_of_a_refused_group_say_so() -> None:
    """Where no other group takes them."""
    cluster = _general()
    cluster.pods("waiting", 1, cpu="4")
    refused = msgspec.structs.replace(_refused(), group="general")
    plan, _ = decide(cluster.world(), policy(node_group("general", max=5)), settle(Memory(), (refused,)), NOW + 2)
    assert codes(plan.pods[0]) == ["GroupsExhausted", "BackedOff"]
