"""The metrics say what the last plan and the counts of all turns are; what is gone leaves no series behind."""

import math

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from reconciler.control.pages.metrics import exposition
from reconciler.control.turn.figures import Figures, Seen
from reconciler.control.turn.turn_report import ActionResult, Decided, LoopReport, ResultState
from reconciler.decisions.memory import LeadTime, LeadTimes, Memory
from reconciler.plan.plan import (
    Action,
    ActionKind,
    Bound,
    Cost,
    GroupLine,
    NodeLine,
    NodeState,
    Ownership,
    OwnerState,
    Plan,
    PodLine,
    PodOutcome,
)
from reconciler.plan.reason import Reason
from reconciler.providers.contract import RemovalProgress, RemovalState
from tests.builders import ClusterBuilder, policy

BOUND = Bound(resource_version="1", replicas=2, owner_digest="", policy_digest="")


def group(name: str, current: int, desired: int, *, held: bool = False, wanted: int | None = None) -> GroupLine:
    owner = Ownership(state=OwnerState.HELD if held else OwnerState.OURS)
    return GroupLine(
        name=name, target=f"t/{name}", tier="spot", current=current, desired=desired, wanted=wanted, min=1, max=9,
        owner=owner, held=held,
    )  # fmt: skip


def node(name: str, state: NodeState, *, removable: bool = False, since: str | None = None) -> NodeLine:
    return NodeLine(node=name, group="a", state=state, utilization_permille=0, removable=removable, unneeded_since=since)


PLAN = Plan(
    now="2026-11-21T12:00:00Z",
    mode="Enforce",
    summary="",
    groups=(group("a", 2, 5), group("h", 3, 3, held=True, wanted=4)),
    pods=(
        PodLine(pod="x/1", outcome=PodOutcome.TRIGGERS_SCALE_UP, group="a"),
        PodLine(pod="x/2", outcome=PodOutcome.TRIGGERS_SCALE_UP, group="a"),
        PodLine(pod="x/3", outcome=PodOutcome.UNPLACEABLE),
        PodLine(pod="x/4", outcome=PodOutcome.FITS_EXISTING, node="n1"),
    ),
    nodes=(
        node("n1", NodeState.IN_USE),
        node("n2", NodeState.EMPTY, removable=True, since="2026-11-21T11:50:00Z"),
        node("n3", NodeState.UNREADY),
    ),
    cost=Cost(current_per_hour="1.5", desired_per_hour="3.75"),
)


def resize(to: int, state: ResultState, code: str = "") -> ActionResult:
    action = Action(
        kind=ActionKind.RESIZE, group="a", target="t/a", from_=2, to=to, bound=BOUND, reason=Reason("Demand", "")
    )  # fmt: skip
    return ActionResult(action=action, state=state, code=code)


def sample(text: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (found.name, tuple(sorted(found.labels.items()))): found.value
        for family in text_string_to_metric_families(text.decode())
        for found in family.samples
    }


def test_groups_pods_and_nodes_of_the_last_plan():
    """Every number is read off the plan above by hand."""
    figures = Figures()
    figures.turned(LoopReport(at_seconds=1000, plan=PLAN), 0.3, 1.5)
    found = sample(exposition(figures))
    assert found["reconciler_group_replicas", (("group", "a"), ("tier", "spot"))] == 2
    assert found["reconciler_group_desired_replicas", (("group", "a"), ("tier", "spot"))] == 5
    assert found["reconciler_group_held", (("group", "h"), ("owner", "Held"))] == 1
    assert found["reconciler_group_wanted_replicas", (("group", "h"),)] == 4
    assert found["reconciler_pending_pods", (("outcome", "TriggersScaleUp"),)] == 2
    assert found["reconciler_pending_pods", (("outcome", "Delayed"),)] == 0
    assert found["reconciler_nodes", (("state", "Unready"),)] == 1
    assert found["reconciler_removable_nodes", ()] == 1
    assert found["reconciler_desired_cost_per_hour", (("currency", "USD"),)] == 3.75
    assert found["reconciler_view_age_seconds", ()] == 1.5


def test_nodes_that_wait_for_an_approval():
    """As the reason of the group counts them; 0 for a group that does not wait."""
    waits = Reason("WaitsForApproval", "3 nodes wait", {"group": "a", "waiting": 3, "gone": 2, "limit": 2})
    lines = (msgspec.structs.replace(group("a", 5, 5), reasons=(waits,)), group("b", 1, 1))
    figures = Figures()
    figures.turned(LoopReport(at_seconds=1000, plan=Plan(now="", mode="Enforce", summary="", groups=lines)), 0.1, 0)
    found = sample(exposition(figures))
    name = "reconciler_group_nodes_waiting_for_approval"
    assert [found[name, (("group", one),)] for one in ("a", "b")] == [3, 0]


def test_lead_times_that_were_learned():
    """Of a: 10 requests of which one was late, so the 95th percentile is not known. Nothing is known of h, and b is no group."""
    took = (*(LeadTime(0, 50, 60 + number) for number in range(9)), LeadTime(0, -900, -900))
    memory = Memory(lead_times={"t/a": LeadTimes(requests=took), "t/b": LeadTimes(requests=took)})
    decided = Decided(world=ClusterBuilder().world(), policy=policy(), memory=memory, now_seconds=1000)
    figures = Figures()
    figures.turned(LoopReport(at_seconds=1000, plan=PLAN, decided=decided), 0.1, 0)
    text = exposition(figures)
    name = "reconciler_group_lead_time"
    assert {key: value for key, value in sample(text).items() if key[0].startswith(name)} == {
        (f"{name}_seconds", (("group", "a"), ("quantile", "0.5"))): 64,
        (f"{name}_seconds", (("group", "a"), ("quantile", "0.95"))): math.inf,
        (f"{name}_requests", (("group", "a"), ("result", "InTime"))): 9,
        (f"{name}_requests", (("group", "a"), ("result", "Late"))): 1,
    }


def test_series_of_a_group_that_is_gone_vanish():
    """The second plan knows no `h`."""
    figures = Figures()
    figures.turned(LoopReport(at_seconds=1000, plan=PLAN), 0.1, 0)
    fewer = Plan(now="", mode="Enforce", summary="", groups=(group("a", 5, 5),))
    figures.turned(LoopReport(at_seconds=1010, plan=fewer), 0.1, 0)
    assert not [key for key in sample(exposition(figures)) if ("group", "h") in key[1]]


def test_counters_add_up_over_turns():
    """Two nodes, then three; what was refused added none. A turn without a view keeps the last plan."""
    figures = Figures()
    done = (resize(4, ResultState.DONE), resize(9, ResultState.REFUSED, "Conflict"))
    figures.turned(LoopReport(at_seconds=1000, plan=PLAN, results=done), 0.02, 0)
    figures.turned(LoopReport(at_seconds=1010, plan=PLAN, results=(resize(5, ResultState.DONE),)), 0.2, 0)
    figures.turned(LoopReport(at_seconds=1020, unavailable="pods: no answer"), 20, 0)
    found = sample(exposition(figures))
    assert found["reconciler_added_nodes_total", ()] == 5
    assert found["reconciler_actions_total", (("kind", "Resize"), ("result", "Done"))] == 2
    assert found["reconciler_actions_total", (("kind", "Resize"), ("result", "Refused/Conflict"))] == 1
    assert found["reconciler_turns_total", (("result", "Unavailable"),)] == 1
    assert found["reconciler_view_available", ()] == 0
    assert found["reconciler_last_plan_timestamp_seconds", ()] == 1010
    assert found["reconciler_turn_duration_seconds_bucket", (("le", "0.05"),)] == 1
    assert found["reconciler_turn_duration_seconds_bucket", (("le", "10.0"),)] == 2
    assert found["reconciler_turn_duration_seconds_bucket", (("le", "+Inf"),)] == 3
    assert ("reconciler_group_replicas", (("group", "a"), ("tier", "spot"))) in found


def test_pages_that_failed_are_counted_by_path_and_outlast_turns():
    """None is exported before the first."""
    figures = Figures()
    assert b"reconciler_failed_pages_total{" not in exposition(figures)
    for path in ("/plan", "/explain/", "/plan"):
        figures.page_failed(path)
    figures.turned(LoopReport(at_seconds=1000, plan=PLAN), 0.1, 0)
    found = sample(exposition(figures))
    assert found["reconciler_failed_pages_total", (("path", "/plan"),)] == 2
    assert found["reconciler_failed_pages_total", (("path", "/explain/"),)] == 1


def test_names_of_the_cluster_autoscaler_only_when_asked_for():
    """Three of four pods have no place now: the autoscaler counts those as unschedulable."""
    figures = Figures()
    figures.turned(LoopReport(at_seconds=1000, plan=PLAN), 0.1, 0)
    assert b"cluster_autoscaler_" not in exposition(figures)
    found = sample(exposition(figures, cluster_autoscaler_names=True))
    assert found["cluster_autoscaler_unschedulable_pods_count", (("type", "unschedulable"),)] == 3
    assert found["cluster_autoscaler_nodes_count", (("state", "ready"),)] == 2
    assert found["cluster_autoscaler_unneeded_nodes_count", ()] == 1
    assert found["cluster_autoscaler_node_group_max_count", (("node_group", "t/h"),)] == 9


def test_before_the_first_turn_nothing_has_happened():
    """Every count is 0, and no time is known."""
    assert Figures().seen() == Seen(
        plan=None, plan_seconds=0, turned_seconds=0, unavailable="", leader=False, view_age_seconds=0, turns=(), actions=(),
        added_nodes=0, removed_nodes=0, failed_removals=0, failed_pages=(), turn_seconds_sum=0, turn_seconds=(), decisions=(),
    )  # fmt: skip


def test_nodes_that_came_and_went_add_up_over_turns():
    """Only growth that was written adds nodes: a smaller size and an adoption add none. A turn that takes as long as a bucket
    allows is in it (`le`)."""
    figures = Figures()
    adopted = msgspec.structs.replace(resize(9, ResultState.DONE).action, kind=ActionKind.ADOPT)
    results = (resize(5, ResultState.DONE), resize(1, ResultState.DONE), ActionResult(action=adopted, state=ResultState.DONE))
    ended = [
        RemovalProgress(target=None, node=f"n{number}", state=state)
        for number, state in enumerate((RemovalState.FINISHED, RemovalState.FAILED, RemovalState.FAILED, RemovalState.DRAINING))
    ]
    for took in (0.05, 0.25):
        figures.turned(LoopReport(at_seconds=1000, plan=PLAN, results=results, removals=tuple(ended)), took, 0)
    seen = figures.seen()
    assert (seen.added_nodes, seen.removed_nodes, seen.failed_removals) == (6, 2, 4)
    assert seen.turn_seconds_sum == pytest.approx(0.3)
    assert seen.turn_seconds == ((0.05, 1), (0.1, 1), (0.25, 2), (0.5, 2), (1.0, 2), (2.5, 2), (5.0, 2), (10.0, 2))


def test_every_figure_of_the_loop():
    """Flags are 0 or 1: it leads, a view to trust, a newer policy that is refused; ages and instants as they were handed in."""
    figures = Figures()
    figures.leads(leader=True)
    figures.policy("abc")
    figures.turned(LoopReport(at_seconds=1000, plan=PLAN), 0.1, 1.5)
    found = sample(exposition(figures))
    assert found["reconciler_leader", ()] == 1
    assert found["reconciler_view_available", ()] == 1
    assert found["reconciler_policy_stalled", ()] == 0
    assert found["reconciler_policy_info", (("revision", "abc"),)] == 1
    assert found["reconciler_last_turn_timestamp_seconds", ()] == 1000
    assert found["reconciler_turn_duration_seconds_sum", ()] == pytest.approx(0.1)
    assert found["reconciler_turn_duration_seconds_count", ()] == 1
    assert [found[f"reconciler_{name}_total", ()] for name in ("added_nodes", "removed_nodes", "failed_removals")] == [0, 0, 0]
    of_a = (("group", "a"), ("tier", "spot"))
    assert (found["reconciler_group_min_size", of_a], found["reconciler_group_max_size", of_a]) == (1, 9)
    assert found["reconciler_group_held", (("group", "a"), ("owner", "Ours"))] == 0
    assert ("reconciler_group_wanted_replicas", (("group", "a"),)) not in found
    assert found["reconciler_current_cost_per_hour", (("currency", "USD"),)] == 1.5
    assert {state: found["reconciler_nodes", (("state", state),)] for state in ("InUse", "Empty", "Leaving")} == {
        "InUse": 1, "Empty": 1, "Leaving": 0,
    }  # fmt: skip
    assert found["reconciler_pending_pods", (("outcome", "FitsExisting"),)] == 1
    figures.policy("abc", "policies/prod.yaml:3:5: no such field")
    figures.leads(leader=False)
    figures.turned(LoopReport(at_seconds=1010, unavailable="no view"), 0.1, 40)
    found = sample(exposition(figures))
    assert [found[f"reconciler_{name}", ()] for name in ("leader", "view_available", "policy_stalled")] == [0, 0, 1]


def test_a_cluster_without_prices_has_no_cost():
    figures = Figures()
    figures.turned(LoopReport(at_seconds=1000, plan=msgspec.structs.replace(PLAN, cost=Cost())), 0.1, 0)
    assert b"cost_per_hour" not in exposition(figures)


def test_all_names_of_the_cluster_autoscaler():
    """Of its dashboards; before the first plan those that need none."""
    figures = Figures()
    assert sample(exposition(figures, cluster_autoscaler_names=True))["cluster_autoscaler_cluster_safe_to_autoscale", ()] == 1
    more = (node("n4", NodeState.NOT_STARTED), node("n5", NodeState.UPCOMING), node("n6", NodeState.IN_USE))
    plan = msgspec.structs.replace(PLAN, nodes=(*PLAN.nodes, *more))
    gone = RemovalProgress(target=None, node="n0", state=RemovalState.FINISHED)
    figures.turned(LoopReport(at_seconds=1000, plan=plan, results=(resize(5, ResultState.DONE),), removals=(gone,)), 0.1, 0)
    found = sample(exposition(figures, cluster_autoscaler_names=True))
    assert found["cluster_autoscaler_last_activity", (("activity", "main"),)] == 1000
    assert found["cluster_autoscaler_scaled_up_nodes_total", ()] == 3
    assert found["cluster_autoscaler_scaled_down_nodes_total", ()] == 1
    nodes = {state: found["cluster_autoscaler_nodes_count", (("state", state),)] for state in ("ready", "unready", "notStarted")}
    assert nodes == {"ready": 3, "unready": 1, "notStarted": 1}
    sizes = [found[f"cluster_autoscaler_node_group_{name}_count", (("node_group", "t/a"),)] for name in ("min", "max", "target")]
    assert sizes == [1, 9, 2]
    figures.turned(LoopReport(at_seconds=1010, unavailable="no view"), 0.1, 0)
    assert sample(exposition(figures, cluster_autoscaler_names=True))["cluster_autoscaler_cluster_safe_to_autoscale", ()] == 0
