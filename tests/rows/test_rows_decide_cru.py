"""Rows S1 to S12: a node pool whose desired count somebody else keeps."""

from reconciler.cluster.target import FieldOwner
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import ConflictState, LastWrite, Memory
from reconciler.plan.plan import ActionKind, OwnerState
from reconciler.policy.documents import Budget, Hold, Limit
from reconciler.policy.values.label_selector import Selector
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, node, of_kind, plan_of, pod

TARGET = "MachineDeployment prod/reserved"
RESERVE = (("reserve", "h100"),)
HOLD = Hold(reason="recovering a node", until_seconds=NOW + 3600)


def _asking(replicas: int = 1, owners: tuple[FieldOwner, ...] | None = None) -> World:
    """All nodes of `reserved` are full, and one pod asks for one more."""
    cluster = ClusterBuilder()
    names = cluster.group("reserved", nodes=replicas, owners=owners)
    cluster.pods("train", replicas, cpu="4", on=list(names))
    cluster.pods("waiting", 1, cpu="4")
    return cluster.world()


def test_s001_a_declared_count_is_a_live_controller() -> None:
    """The platform declares the count: held in its name, and no write, whatever the pods ask for."""
    plan = plan_of(_asking(owners=(FieldOwner(manager="nodepool", operation="Apply"),)), policy(node_group("reserved")))
    line = group(plan, "reserved")
    assert (line.owner.state, line.owner.by, line.wanted) == (OwnerState.HELD, "nodepool", 2)
    assert not plan.actions


def test_s003_the_third_write_that_is_undone_ends_in_a_hold() -> None:
    """Two writes were undone before; a third one writes no more, while at the second one decisions go on."""
    for undone, acts in ((2, False), (1, True)):
        memory = Memory(
            conflicts={TARGET: ConflictState(count=undone, last_seconds=NOW - 60, writer="nodepool", ours=2, theirs=1)},
            last_writes={TARGET: LastWrite(replicas=2, written_seconds=NOW - 60)},
        )
        plan = plan_of(_asking(), policy(node_group("reserved")), memory)
        assert bool(plan.actions) is acts
        assert (group(plan, "reserved").owner.by == "a second writer") is not acts


def test_s004_a_reserve_that_two_groups_share_is_never_passed() -> None:
    """Two reserved machines for two groups that ask for two each: two in all; a group outside gets its two."""
    cluster = ClusterBuilder()
    for name in ("one", "two", "outside"):
        cluster.group(name, nodes=0)
        cluster.pods(f"on-{name}", 2, cpu="4", node_selector={"pool": name})
    limit = Limit(name="reserve", groups=Selector(match_labels=RESERVE), max=(("nodes", 2),))
    groups = (node_group("one", labels=RESERVE), node_group("two", labels=RESERVE), node_group("outside"))
    plan = plan_of(cluster.world(), policy(*groups, limits=(limit,)))
    assert group(plan, "one").desired + group(plan, "two").desired == 2
    assert group(plan, "outside").desired == 2


def test_s006_the_plan_says_that_lowering_will_be_undone() -> None:
    """Lowered to 1 by hand with a pod pending: the plan wants 2, and the pod names the group that it needs."""
    by_hand = (FieldOwner(manager="kubectl", operation="Update", time_seconds=NOW - 60),)
    plan = plan_of(_asking(owners=by_hand), policy(node_group("reserved")))
    line = group(plan, "reserved")
    assert (line.current, line.desired, line.wanted) == (1, 1, 2)
    assert pod(plan, "shop/waiting-1").reasons[0].data["groups"] == ("reserved",)
    assert [action.to for action in plan_of(_asking(), policy(node_group("reserved"))).actions] == [2]


def test_s009_a_pause_stops_growth_removal_and_the_minimum() -> None:
    """Held: no node for a pod, none away, none up to the minimum; without the hold each of the three acts."""
    empty = ClusterBuilder()
    empty.group("reserved", nodes=1)
    memory = Memory(unneeded_since={"reserved-1": NOW - 3600})
    for world, low, wanted in ((_asking(), 0, 2), (empty.world(), 0, 1), (empty.world(), 3, 3)):
        assert plan_of(world, policy(node_group("reserved", min=low), budgets=(Budget(nodes=9),)), memory).actions
        paused = plan_of(world, policy(node_group("reserved", min=low, hold=HOLD), budgets=(Budget(nodes=9),)), memory)
        assert not paused.actions
        assert group(paused, "reserved").wanted == wanted


def test_s011_a_stopped_node_of_a_full_reserve_gets_no_third_machine() -> None:
    """Desired 2, one of them not ready, reserve 2: nothing is added, and the pod says which limit it is."""
    cluster = ClusterBuilder()
    cluster.group("reserved", nodes=1, replicas=2)
    cluster.node("reserved-2", labels={"pool": "reserved"}, ready=False)
    cluster.machine("reserved-2", cluster.world().targets[0].ref, node="reserved-2")
    cluster.pods("train", 1, cpu="4", on="reserved-1")
    cluster.pods("waiting", 1, cpu="4")
    rules = policy(node_group("reserved", min=2), limits=(Limit(name="reserve", max=(("nodes", 2),)),))
    plan = plan_of(cluster.world(), rules)
    assert not plan.actions
    assert codes(pod(plan, "shop/waiting-1")) == ["GroupsExhausted", "LimitReached"]
    assert node(plan, "reserved-2").state.value == "Unready"


def test_s012_overridden_paused_and_normal_again() -> None:
    """Held by the conflict; paused, nothing is written; after the pause decisions go on as if nothing had been."""
    conflict = ConflictState(count=3, last_seconds=NOW, writer="nodepool", ours=2, theirs=1)
    plan, memory = decide(_asking(), policy(node_group("reserved")), Memory(conflicts={TARGET: conflict}), NOW)
    assert not plan.actions
    plan, memory = decide(_asking(), policy(node_group("reserved", hold=HOLD)), memory, NOW + 60)
    assert not plan.actions
    plan, memory = decide(_asking(), policy(node_group("reserved")), memory, NOW + 120)
    assert [(action.from_, action.to) for action in of_kind(plan, ActionKind.RESIZE)] == [(1, 2)]
    assert not memory.conflicts
