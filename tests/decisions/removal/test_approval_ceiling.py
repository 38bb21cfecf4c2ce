"""How many nodes a group may lose within a day, without an approval and by one."""

import msgspec
import pytest

from reconciler.decisions.decide import decide, settle
from reconciler.decisions.memory import Memory, Outcome
from reconciler.decisions.reasons.groups import WaitsForApproval
from reconciler.decisions.removal.under_way import intending, recovered
from reconciler.plan.plan import ActionKind, Plan
from reconciler.policy.documents import Budget, Consolidation, PolicySet, ScaleDown, Toggle
from reconciler.policy.pace import GroupApproval, Pace
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, codes, group, of_kind, plan_of

DAY = 86_400
OPEN = (Budget(nodes=100),)
AT_ONCE = ScaleDown(unneeded_time_seconds=0)
TARGET = "MachineDeployment prod/general"


def _cluster(nodes: int = 6, name: str = "general") -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group(name, nodes=nodes)
    return cluster


def _rules(above: int | None, *approvals: GroupApproval, name: str = "general") -> PolicySet:
    pace = Pace(require_approval_above=above, delay_after_add_seconds=0)
    found = policy(node_group(name, max=100, scale_down=AT_ONCE), budgets=OPEN, pace=pace)
    return msgspec.structs.replace(found, approvals=approvals)


def _approved(nodes: int, until: int = NOW + 60, **changes: str) -> GroupApproval:
    terms = {"policy_digest": "sha256:test", "cluster": "test", "group": "general"} | changes
    return GroupApproval(**terms, until_seconds=until, nodes=nodes)


def _leaving(plan: Plan) -> int:
    return sum(len(action.nodes) for action in of_kind(plan, ActionKind.REMOVE_NODE))


def _done(memory: Memory, plan: Plan, at: int = NOW) -> Memory:
    """As after a turn that carried everything out."""
    outcomes = (
        Outcome(
            kind=action.kind, group=action.group, target=action.target, to=action.to, nodes=action.nodes, done=True, at_seconds=at
        )
        for action in plan.actions
    )
    return settle(memory, tuple(outcomes))


def test_without_a_ceiling_nobody_is_asked() -> None:
    """All six empty nodes leave, and nothing is kept of it."""
    plan, memory = decide(_cluster().world(), _rules(None), Memory(), NOW)
    assert _leaving(plan) == 6
    assert decide(_cluster(1).world(), _rules(None), _done(memory, plan), NOW)[1].departures == {}


@pytest.mark.parametrize(("above", "leave"), [(0, 0), (2, 2), (6, 6), (7, 6)])
def test_what_is_above_waits(above: int, leave: int) -> None:
    """The rest stays, and node, group and summary say so; at the ceiling nobody waits."""
    plan = plan_of(_cluster().world(), _rules(above))
    assert _leaving(plan) == leave
    waiting = [line.node for line in plan.nodes if "NeedsApproval" in blocker_codes(plan, line.node)]
    assert len(waiting) == 6 - leave
    reasons = [reason for reason in group(plan, "general").reasons if reason.code == "WaitsForApproval"]
    assert len(reasons) == (1 if waiting else 0)
    assert ("1 group waits for an approval" in plan.summary) is bool(waiting)
    for reason in reasons:
        assert (reason.data["waiting"], reason.data["gone"], reason.data["limit"]) == (6 - leave, leave, above)
        assert "policy=sha256:test cluster=test group=general until=" in str(reason.data["trailer"])
        assert str(reason.data["trailer"]).endswith("nodes<=6")


@pytest.mark.parametrize(("approvals", "leave"), [
    ((_approved(4),), 4),
    ((_approved(4, NOW + DAY),), 4),
    ((_approved(4, NOW),), 2),
    ((_approved(4, NOW + DAY + 1),), 2),
    ((_approved(4, policy_digest="sha256:other"),), 2),
    ((_approved(4, cluster="stage"),), 2),
    ((_approved(4, group="spot"),), 2),
    ((_approved(5), _approved(3)), 3),
    ((_approved(1),), 2),
    ((_approved(5), _approved(3, NOW)), 5),
], ids=["one", "a day", "run out", "too far", "policy", "cluster", "group", "strictest", "below", "only one now"])  # fmt: skip
def test_an_approval_raises_the_ceiling_of_its_group(approvals: tuple[GroupApproval, ...], leave: int) -> None:
    """Of this policy, on this cluster, in the day before its end; of several the strictest, and none lowers what is free."""
    assert _leaving(plan_of(_cluster().world(), _rules(2, *approvals))) == leave


def test_what_has_gone_counts_for_a_day() -> None:
    """Two now, none an hour later, two when the day is over; another name of the group is no new start."""
    plan, memory = decide(_cluster().world(), _rules(2), Memory(), NOW)
    memory = _done(memory, plan)
    later = _cluster(4).world()
    waiting, memory = decide(later, _rules(2), memory, NOW + 3600)
    assert (_leaving(waiting), codes(group(waiting, "general"))) == (0, ["WaitsForApproval"])
    renamed = _rules(2)
    renamed = msgspec.structs.replace(renamed, groups=(msgspec.structs.replace(renamed.groups[0], name="other"),))
    assert _leaving(decide(later, renamed, memory, NOW + 3600)[0]) == 0
    assert _leaving(decide(later, _rules(2), memory, NOW + DAY)[0]) == 0
    assert _leaving(decide(later, _rules(2), memory, NOW + DAY + 600)[0]) == 2


def test_an_approval_counts_once() -> None:
    """It says how many may be gone within the day: used up, the same one allows nothing more."""
    rules = _rules(2, _approved(4, NOW + DAY))
    plan, memory = decide(_cluster(10).world(), rules, Memory(), NOW)
    assert _leaving(plan) == 4
    again, _ = decide(_cluster(6).world(), rules, _done(memory, plan), NOW + 60)
    assert _leaving(again) == 0
    assert _leaving(decide(_cluster(6).world(), rules, _done(memory, plan), NOW + DAY - 1)[0]) == 0


def test_a_node_that_stayed_is_given_back() -> None:
    """A drain that was given up took nobody; one that never began is not given back."""
    plan, memory = decide(_cluster().world(), _rules(2), Memory(), NOW)
    begun = _done(memory, plan)
    failed = Outcome(
        kind=ActionKind.REMOVE_NODE, group="general", target=TARGET, to=5, nodes=("general-1",), done=False,
        code="DrainTimeout", at_seconds=NOW + 60,
    )  # fmt: skip
    assert [count for _, count in begun.departures[TARGET]] == [2]
    assert [count for _, count in settle(begun, (failed,)).departures[TARGET]] == [1]
    stranger = msgspec.structs.replace(failed, nodes=("general-6",))
    assert settle(begun, (stranger,)).departures == begun.departures


def test_nodes_that_leave_unrecorded_count() -> None:
    """A process that ended between the write and the memory of it has used the ceiling all the same."""
    world = _cluster().world()
    marked = tuple(msgspec.structs.replace(one, deleting=one.node == "general-6") for one in world.machines)
    world = msgspec.structs.replace(world, machines=marked)
    assert _leaving(plan_of(world, _rules(2))) == 1
    recorded = Memory(leaving={"general-6": NOW - 60}, departures={TARGET: ((NOW + 600, 1),)})
    assert _leaving(plan_of(world, _rules(2), recorded)) == 1


def test_other_groups_are_counted_by_themselves() -> None:
    """Each has its own ceiling."""
    cluster = _cluster()
    cluster.group("spot", nodes=3)
    rules = _rules(2)
    rules = msgspec.structs.replace(rules, groups=(*rules.groups, node_group("spot", max=9, scale_down=AT_ONCE)))
    plan = plan_of(cluster.world(), rules)
    assert {line.name: line.desired for line in plan.groups} == {"general": 4, "spot": 1}
    assert "2 groups wait for an approval" in plan.summary


@pytest.mark.parametrize(("above", "begins"), [(1, False), (2, True)])
def test_a_replacement_begins_only_where_its_drains_may_follow(above: int, begins: bool) -> None:
    """Two nodes of one group that a cheaper one could stand in for."""
    cluster = ClusterBuilder()
    cluster.group("small", nodes=2, cpu="4")
    cluster.group("mega", nodes=0, cpu="8")
    cluster.pods("web", 2, cpu="3", on=["small-1", "small-2"])
    scale_down = ScaleDown(unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED))
    prices = (("small", "0.20"), ("mega", "0.30"))
    groups = [node_group(name, price_per_hour=price, scale_down=scale_down) for name, price in prices]
    plan = plan_of(cluster.world(), policy(*groups, budgets=OPEN, pace=Pace(require_approval_above=above)))
    assert bool(of_kind(plan, ActionKind.REPLACE)) is begins


def test_a_restart_does_not_begin_the_count_anew() -> None:
    """The memory is what a process begins with: stored and read again it says the same."""
    plan, memory = decide(_cluster().world(), _rules(2), Memory(), NOW)
    memory = _done(memory, plan)
    assert msgspec.json.decode(msgspec.json.encode(memory), type=Memory) == memory


def test_what_was_about_to_be_written_is_judged_by_what_is_there() -> None:
    """Of five nodes one is gone, one is tainted, one loses its machine, one stands as before, and one was remembered already."""
    names = [f"general-{number}" for number in (1, 2, 3, 4, 5)]
    memory = intending(Memory(leaving={names[4]: NOW - 9}), ((TARGET, name) for name in names))
    assert memory.intended == {TARGET: tuple(names)}
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, taints=("reconciler.dev/deleting=test.1:NoSchedule",))
    tainted = msgspec.structs.replace(cluster.world().nodes[0], name=names[1])
    others = _cluster(5).world()
    machines = tuple(msgspec.structs.replace(machine, delete_marked=machine.node == names[2]) for machine in others.machines)
    shapes = (*others.node_shapes, cluster.world().node_shapes[tainted.shape])
    nodes = tuple(
        msgspec.structs.replace(tainted, shape=len(shapes) - 1) if node.name == names[1] else node
        for node in others.nodes
        if node.name != names[0]
    )
    world = msgspec.structs.replace(others, nodes=nodes, node_shapes=shapes, machines=machines)
    found = recovered(memory, world, NOW)
    assert found.leaving == {names[4]: NOW - 9, names[0]: NOW, names[1]: NOW, names[2]: NOW}
    assert [count for _, count in found.departures[TARGET]] == [3]
    assert (dict(found.intended), found.last_removed_seconds) == ({}, NOW)
    assert recovered(found, world, NOW + 1) == found


@pytest.mark.parametrize(("waiting", "said"), [(1, "1 node waits"), (3, "3 nodes wait")])
def test_how_many_wait_for_an_approval(waiting: int, said: str) -> None:
    """In words, with what was meant to leave, what may, and the line that allows it."""
    line = "Reconciler-Approve-Removals: web=5"
    told = WaitsForApproval(group="web", waiting=waiting, gone=5, limit=2, trailer=line).reason().message
    assert told.startswith(f"{said} for an approval: 5 of web would leave within 24 hours, and 2 may")
    assert told.endswith(f": {line}")
