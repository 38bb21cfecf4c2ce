"""Nodes of a lower tier return to a tier with `returnAfter` once it has had capacity for that long."""

import msgspec
import pytest

from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide
from reconciler.decisions.memory import BackoffState, Memory, Replacement, TierState
from reconciler.decisions.removal.replacements.replacing import PATIENCE_SECONDS
from reconciler.gitops.preview import compare
from reconciler.plan.plan import ActionKind, Plan
from reconciler.plan.preview import PreviewSide
from reconciler.policy.documents import Budget, Consolidation, Limit, NodeGroup, PolicySet, RemovalReason, ScaleDown, Tier, Toggle
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.rendering.documents.preview.consequences.consequence import Code, Grade
from reconciler.simulation.settled import settled
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import blocker_codes, codes, group, node, of_kind, plan_of

HALF_HOUR, DAY = 1800, 86_400
OPEN = (Budget(nodes=100),)
SPOT = machine_deployment("spot")
QUIET = Memory(tiers={"spot": TierState(since_seconds=NOW - HALF_HOUR)})
TIERS = (Tier(name="spot", return_after_seconds=HALF_HOUR), Tier(name="on-demand"))


def _on_demand(nodes: int = 1, spot_cpu: str = "4", created: int = NOW - DAY, cpu: str = "3") -> ClusterBuilder:
    """Nodes of 4 cores on demand, each with a pod of 3; the spot group is empty."""
    cluster = ClusterBuilder()
    names = cluster.group("demand", nodes=nodes, cpu="4", created=created)
    cluster.group("spot", nodes=0, cpu=spot_cpu)
    cluster.pods("web", nodes, cpu=cpu, on=names)
    return cluster


def _rules(*more: NodeGroup, tiers: tuple[Tier, ...] = TIERS, demand: str | None = "0.40", **fields: object) -> PolicySet:
    groups = (
        node_group("spot", tier="spot", price_per_hour="0.10"),
        node_group("demand", tier="on-demand", price_per_hour=demand),
        *more,
    )
    return policy(*groups, **{"budgets": OPEN, "tiers": tiers, **fields})


def _returns(plan: Plan) -> list[tuple[str, tuple[str, ...], str]]:
    return [(one.group, one.nodes, one.reason.code) for one in of_kind(plan, ActionKind.REPLACE)]


def test_a_node_returns_once_the_tier_has_had_capacity_for_its_wait() -> None:
    """Half an hour: not a second before. One action names both sides, the tier and the saving of 0.30."""
    world = _on_demand().world()
    early = Memory(tiers={"spot": TierState(since_seconds=NOW - HALF_HOUR + 1)})
    plan = plan_of(world, _rules(), early)
    assert plan.actions == ()
    assert node(plan, "demand-1").removable_at == "2027-01-15T08:00:01Z"
    plan, memory = decide(world, _rules(), QUIET, NOW)
    assert _returns(plan) == [("spot", ("demand-1",), "Return")]
    assert plan.actions[0].reason.message == (
        "one new node of spot takes all pods of demand-1, which are drained once it is ready: "
        "tier spot has had capacity since 2027-01-15T07:30:00Z, saves 0.30/h"
    )
    assert (group(plan, "spot").desired, group(plan, "demand").desired) == (1, 0)
    assert memory.replacements == (
        Replacement(
            target=str(SPOT),
            nodes=("demand-1",),
            to=1,
            started_seconds=NOW,
            saving_micros=300_000,
            reason=RemovalReason.RETURNED,
        ),
    )


def test_the_wait_is_told() -> None:
    """The group says what could replace its node, from when on, and what the tier has to do until then."""
    memory = Memory(tiers={"spot": TierState(failures=2, failed_seconds=NOW - 900, since_seconds=NOW - 600)})
    plan = plan_of(_on_demand().world(), _rules(), memory)
    (reason,) = [one for one in group(plan, "demand").reasons if one.code == "CouldReturn"]
    assert reason.message == (
        "one new node of spot could replace demand-1 from 2027-01-15T08:50:00Z on: "
        "tier spot must have capacity for 1h after 2 failures and has it since 2027-01-15T07:50:00Z"
    )


@pytest.mark.parametrize(("most", "replaces"), [(2, 0), (3, 1)])
def test_a_node_that_is_still_there_leaves_no_room_in_a_limit(most: int, replaces: int) -> None:
    """Two nodes, of which the empty one may leave in a few minutes: until then the new node would be the third."""
    cluster = _on_demand()
    cluster.group("idle", nodes=1, cpu="2", created=NOW - DAY)
    rules = _rules(node_group("idle", tier="on-demand"), limits=(Limit(name="cluster", max=(("nodes", most),)),))
    plan = plan_of(cluster.world(), rules, msgspec.structs.replace(QUIET, unneeded_since={"idle-1": NOW - 60}))
    assert node(plan, "idle-1").removable_at == "2027-01-15T08:09:00Z"
    assert len(_returns(plan)) == replaces


def test_without_the_field_nodes_stay() -> None:
    """A tier alone brings nothing back."""
    tiers = (Tier(name="spot"), Tier(name="on-demand"))
    plan, memory = decide(_on_demand().world(), _rules(tiers=tiers, demand=None), QUIET, NOW)
    assert (plan.actions, codes(group(plan, "demand")), memory.tiers) == ((), [], {})


def test_a_tier_that_is_seen_for_the_first_time_begins_its_wait() -> None:
    """Nobody knows what it could do before."""
    world = _on_demand().world()
    plan, memory = decide(world, _rules(), Memory(), NOW)
    assert plan.actions == ()
    assert memory.tiers == {"spot": TierState(since_seconds=NOW)}
    assert _returns(decide(world, _rules(), memory, NOW + HALF_HOUR - 1)[0]) == []
    assert _returns(decide(world, _rules(), memory, NOW + HALF_HOUR)[0]) == [("spot", ("demand-1",), "Return")]


def test_a_young_node_stays_as_long_as_the_wait() -> None:
    """It came ten minutes ago, and so it waits for twenty more, whatever the tier can do."""
    plan = plan_of(_on_demand(created=NOW - 600).world(), _rules(), QUIET)
    assert plan.actions == ()
    assert node(plan, "demand-1").removable_at == "2027-01-15T08:20:00Z"


def test_a_node_never_returns_to_a_lower_tier() -> None:
    """The order is the other way round: the on-demand tier does not take nodes of the first one."""
    tiers = (Tier(name="on-demand"), Tier(name="spot", return_after_seconds=HALF_HOUR))
    assert plan_of(_on_demand().world(), _rules(tiers=tiers), QUIET).actions == ()


@pytest.mark.parametrize(("demand", "told"), [("0.05", "-0.05"), ("0.40", "0.30"), (None, "")])
def test_prices_do_not_decide(demand: str | None, told: str) -> None:
    """The order of tiers is the priority: a return may cost more, and needs no price."""
    (action,) = of_kind(plan_of(_on_demand().world(), _rules(demand=demand), QUIET), ActionKind.REPLACE)
    assert action.reason.data["savingPerHour"] == told
    assert action.reason.message.endswith("costs 0.05/h more") == (told == "-0.05")


def test_one_new_node_takes_as_many_as_fit_and_one_replacement_begins_at_a_time() -> None:
    """Three pods of 3 cores, 8 cores: two return, the third waits for its own."""
    plan = plan_of(_on_demand(nodes=3, spot_cpu="8").world(), _rules(), QUIET)
    assert _returns(plan) == [("spot", ("demand-1", "demand-2"), "Return")]


def test_nodes_with_places_elsewhere_return_too() -> None:
    """Each of two nodes of 8 cores at 75 % has no room for the other; with a third, empty-ish one it would. Nothing else would
    ever move a node above the threshold."""
    cluster = ClusterBuilder()
    names = cluster.group("demand", nodes=2, cpu="8", created=NOW - DAY)
    cluster.group("spot", nodes=0, cpu="8")
    cluster.pods("web", 5, cpu="1", on=names[0])
    cluster.pods("api", 1, cpu="2", on=names[1])
    low = ScaleDown(utilization_threshold_percent=10)
    groups = (node_group("spot", tier="spot", scale_down=low), node_group("demand", tier="on-demand", scale_down=low))
    plan = plan_of(cluster.world(), policy(*groups, tiers=TIERS, budgets=OPEN), QUIET)
    assert _returns(plan) == [("spot", ("demand-1", "demand-2"), "Return")]


@pytest.mark.parametrize(("reasons", "begins"), [((RemovalReason.RETURNED,), 0), ((RemovalReason.CONSOLIDATED,), 1), ((), 0)])
def test_budgets_of_its_reason_count(reasons: tuple[RemovalReason, ...], begins: int) -> None:
    """A closed budget for Returned, or for everything, keeps it from beginning; one for Consolidated does not."""
    plan = plan_of(_on_demand().world(), _rules(budgets=(Budget(nodes=0, reasons=reasons),)), QUIET)
    assert len(_returns(plan)) == begins


def test_a_minimum_keeps_its_nodes() -> None:
    """A lower tier with a minimum of one keeps one of two."""
    rules = policy(
        node_group("spot", tier="spot"), node_group("demand", tier="on-demand", min=1), tiers=TIERS, budgets=OPEN
    )  # fmt: skip
    assert _returns(plan_of(_on_demand(nodes=2, spot_cpu="8").world(), rules, QUIET)) == [("spot", ("demand-1",), "Return")]


def test_while_the_tier_is_backed_off_nothing_returns() -> None:
    """A failure a minute ago: the wait counts from the end of the back-off, four minutes from now."""
    failed = BackoffState(failures=1, failed_seconds=NOW - 60, until_seconds=NOW + 240)
    memory = msgspec.structs.replace(QUIET, backoffs={"spot": failed})
    plan, after = decide(_on_demand().world(), _rules(), memory, NOW)
    assert plan.actions == ()
    assert after.tiers == {"spot": TierState(failures=1, failed_seconds=NOW - 60, since_seconds=NOW + 240)}


def test_each_failure_doubles_the_wait_up_to_a_day() -> None:
    """returnAfter 30m: 30m, 1h, 2h, 4h, 8h, 16h, then a day. Each failure comes after the end of the last back-off."""
    world, rules, memory = _on_demand().world(), _rules(), Memory()
    waits = []
    for number in range(8):
        failed = NOW + number * 600
        backoff = BackoffState(failures=1, failed_seconds=failed, until_seconds=failed + 300)
        memory = msgspec.structs.replace(memory, backoffs={"spot": backoff})
        _, memory = decide(world, rules, memory, failed)
        late = msgspec.structs.replace(memory, backoffs={})
        plan, _ = decide(world, rules, late, failed + 300)
        (reason,) = [one for one in group(plan, "demand").reasons if one.code == "CouldReturn"]
        waits.append(reason.data["waitSeconds"])
    assert waits == [1800, 3600, 7200, 14_400, 28_800, 57_600, DAY, DAY]


def test_failures_of_one_purchase_count_once() -> None:
    """Two groups of the tier fail within a minute, both before the end of the first back-off: one failure, at the later time."""
    rules = _rules(node_group("spot-b", tier="spot"))
    cluster = _on_demand()
    cluster.group("spot-b", nodes=0, cpu="4")
    first = BackoffState(failures=1, failed_seconds=NOW, until_seconds=NOW + 300)
    second = BackoffState(failures=1, failed_seconds=NOW + 60, until_seconds=NOW + 360)
    _, memory = decide(cluster.world(), rules, Memory(backoffs={"spot": first}), NOW)
    both = msgspec.structs.replace(memory, backoffs={"spot": first, "spot-b": second})
    _, memory = decide(cluster.world(), rules, both, NOW + 60)
    assert memory.tiers == {"spot": TierState(failures=1, failed_seconds=NOW + 60, since_seconds=NOW + 360)}


def test_failures_are_forgotten_after_two_days() -> None:
    """Twice the longest wait, which is a day: then the wait is half an hour again, and the next failure is the first."""
    world = _on_demand().world()
    failed = TierState(failures=5, failed_seconds=NOW - 2 * DAY, since_seconds=NOW - HALF_HOUR)
    assert len(_returns(plan_of(world, _rules(), Memory(tiers={"spot": failed})))) == 1
    later = msgspec.structs.replace(failed, failed_seconds=NOW - 2 * DAY + 1)
    assert _returns(plan_of(world, _rules(), Memory(tiers={"spot": later}))) == []
    again = BackoffState(failures=1, failed_seconds=NOW, until_seconds=NOW + 300)
    _, memory = decide(world, _rules(), Memory(tiers={"spot": failed}, backoffs={"spot": again}), NOW)
    assert memory.tiers["spot"].failures == 1


UNDER_WAY = msgspec.structs.replace(
    QUIET,
    replacements=(
        Replacement(
            target=str(SPOT),
            nodes=("demand-1",),
            to=1,
            started_seconds=NOW - 120,
            saving_micros=0,
            reason=RemovalReason.RETURNED,
        ),
    ),
)


def test_the_node_is_drained_once_the_new_one_is_ready() -> None:
    """With the reason Returned, and the name of the tier."""
    cluster = ClusterBuilder()
    cluster.group("demand", nodes=1, cpu="4", created=NOW - DAY)
    cluster.group("spot", nodes=1, cpu="4", created=NOW - 60)
    cluster.pods("web", 1, cpu="3", on="demand-1")
    (removal,) = of_kind(plan_of(cluster.world(), _rules(), UNDER_WAY), ActionKind.REMOVE_NODE)
    assert (removal.nodes, removal.reason.code) == (("demand-1",), "Returned")
    assert removal.reason.message == "spot-1 of tier spot replaces demand-1 and takes its 1 pod"
    closed = (Budget(nodes=0, reasons=(RemovalReason.RETURNED,)),)
    assert blocker_codes(plan_of(cluster.world(), _rules(budgets=closed), UNDER_WAY), "demand-1") == ["Budget"]


def test_a_return_that_is_given_up_counts_as_a_failure() -> None:
    """A pod took the room on the new node. After an hour nobody waits any more, and the next attempt waits for longer."""
    cluster = ClusterBuilder()
    cluster.group("demand", nodes=1, cpu="4", created=NOW - DAY)
    cluster.group("spot", nodes=1, cpu="4", created=NOW - 60)
    cluster.pods("web", 1, cpu="3", on="demand-1")
    cluster.pods("other", 1, cpu="3", on="spot-1")
    begun = msgspec.structs.replace(UNDER_WAY.replacements[0], started_seconds=NOW - PATIENCE_SECONDS - 1)
    plan, memory = decide(cluster.world(), _rules(), msgspec.structs.replace(UNDER_WAY, replacements=(begun,)), NOW)
    assert (plan.actions, memory.replacements) == ((), ())
    assert memory.tiers == {"spot": TierState(failures=1, failed_seconds=NOW, since_seconds=NOW)}


def test_consolidation_into_the_tier_waits_as_well() -> None:
    """The spot node is cheaper, and both groups consolidate at once: still the tier's wait is kept."""
    on = ScaleDown(unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED))
    groups = (
        node_group("spot", tier="spot", price_per_hour="0.10", scale_down=on),
        node_group("demand", tier="on-demand", price_per_hour="0.40", scale_down=on),
    )
    early = Memory(tiers={"spot": TierState(since_seconds=NOW - 60)})
    world = _on_demand().world()
    assert _returns(plan_of(world, policy(*groups, tiers=TIERS, budgets=OPEN), early)) == []
    without = (Tier(name="spot"), Tier(name="on-demand"))
    plan = plan_of(world, policy(*groups, tiers=without, budgets=OPEN), early)
    assert _returns(plan) == [("spot", ("demand-1",), "Replacement")]


def test_a_node_that_waits_for_its_return_may_be_consolidated_meanwhile() -> None:
    """Two nodes on demand fit on one cheaper node of their own tier: that does not wait for the return."""
    on = ScaleDown(unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED))
    cluster = _on_demand(nodes=2)
    cluster.group("big", nodes=0, cpu="8")
    groups = (
        node_group("spot", tier="spot", price_per_hour="0.10", scale_down=on),
        node_group("demand", tier="on-demand", price_per_hour="0.40", scale_down=on),
        node_group("big", tier="on-demand", price_per_hour="0.50", scale_down=on),
    )
    early = Memory(tiers={"spot": TierState(since_seconds=NOW - 60)})
    plan = plan_of(cluster.world(), policy(*groups, tiers=TIERS, budgets=OPEN), early)
    assert _returns(plan) == [("big", ("demand-1", "demand-2"), "Replacement")]


def test_the_first_of_several_tiers_is_returned_to() -> None:
    """Both take the node: the tier that comes first."""
    cluster = _on_demand()
    cluster.group("reserved", nodes=0, cpu="4")
    tiers = (Tier(name="reserved", return_after_seconds=HALF_HOUR), *TIERS)
    rules = _rules(node_group("reserved", tier="reserved"), tiers=tiers)
    both = Memory(tiers={name: TierState(since_seconds=NOW - DAY) for name in ("reserved", "spot")})
    assert _returns(plan_of(cluster.world(), rules, both)) == [("reserved", ("demand-1",), "Return")]
    late = msgspec.structs.replace(both, tiers={**both.tiers, "reserved": TierState(since_seconds=NOW - 60)})
    assert _returns(plan_of(cluster.world(), rules, late)) == [("spot", ("demand-1",), "Return")]


def test_the_steady_state_has_returned() -> None:
    """A preview knows no timers: in its steady state the tier has kept its capacity for the wait, and both nodes have returned,
    one after the other."""
    world, rules = _on_demand(nodes=2).world(), _rules()
    plan, memory = decide(world, rules, Memory(), NOW)
    told = settled(world, rules, memory, NOW, plan)
    assert [(one.name, one.settled) for one in told.groups] == [("spot", 2), ("demand", 0)]
    assert (told.cost.current_per_hour, told.cost.settled_per_hour) == ("0.80", "0.20")


def test_a_preview_tells_what_a_return_causes() -> None:
    """Two nodes of 0.40 become two of 0.10: 0.60 an hour less, in 730 hours 438, and both pods are evicted once."""
    side, off = PreviewSide(source="x"), (Tier(name="spot"), Tier(name="on-demand"))
    sides = (side, _rules(tiers=off)), (side, _rules())
    told = consequences(compare(_on_demand(nodes=2).world(), NOW, *sides, DEFAULT_WORK_BUDGET))
    assert [(one.grade, one.code) for one in told] == [
        (Grade.CAUTION, Code.NODES_REMOVED),
        (Grade.CAUTION, Code.EVICTIONS),
        (Grade.WARNING, Code.LOOSENS),
        (Grade.NOTE, Code.COST),
    ]
    assert told[0].message == "2 more nodes are removed (0 -> 2): demand (2)."
    assert told[2].message == "This loosens tiers[spot].returnAfter Never -> 30m."
    assert told[3].message == "-$438.00 per month ($584.00 -> $146.00)."
