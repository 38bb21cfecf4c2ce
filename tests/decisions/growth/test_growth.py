"""Pending pods and minimums -> new nodes."""

import msgspec
import pytest

from reconciler.cluster.pods.pod import ClaimUse
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import BackoffState, Memory
from reconciler.decisions.situation.backoff import BackoffRule
from reconciler.plan.plan import ActionKind, PodOutcome
from reconciler.policy.documents import Expander, Hold, Limit, PodRules, Template, Tier
from reconciler.policy.pace import Pace
from reconciler.policy.values.label_selector import Selector
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, of_kind, plan_of, pod


def test_s29_four_machines_and_the_fifth_is_refused() -> None:
    """At most 64 cores, 30 there (control plane included), 8-core machines, demand for 5: 4 are added, 62 cores."""
    cluster = ClusterBuilder()
    for number in range(3):
        cluster.node(f"master-{number}", "4", "16Gi", taints=["node-role.kubernetes.io/control-plane:NoSchedule"])
    cluster.node("infra-0", "2", "8Gi", taints=["node-role.kubernetes.io/infra:NoSchedule"])
    names = cluster.group("workers", nodes=2, cpu="8", memory="32Gi")
    cluster.pods("full", 2, cpu="8", on=list(names))
    cluster.pods("web", 5, cpu="7")
    limit = Limit(name="cores", max=(("cpu", 64_000),))
    plan = plan_of(cluster.world(), policy(node_group("workers", max=40), limits=(limit,)))
    workers = group(plan, "workers")
    assert (workers.current, workers.desired) == (2, 6)
    outcomes = [line.outcome for line in plan.pods]
    assert outcomes == [PodOutcome.TRIGGERS_SCALE_UP] * 4 + [PodOutcome.UNPLACEABLE]
    last = plan.pods[-1]
    assert codes(last) == ["GroupsExhausted", "LimitReached"]
    assert last.reasons[1].message == "limit cores allows 64 cpu: 62 in use (14 of it unmanaged), one more node of workers adds 8"


def test_pods_that_have_room_buy_nothing() -> None:
    """A pending pod that a node can take fits there."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("web", 2, cpu="1")
    plan = plan_of(cluster.world(), policy(node_group("general")))
    assert not plan.actions
    assert [(line.outcome, line.node) for line in plan.pods] == [(PodOutcome.FITS_EXISTING, "general-1")] * 2


def test_a_pod_on_a_node_that_is_not_there_asks_for_nothing() -> None:
    """Bound to a node outside the view: not pending, so no node is bought and no line told."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.pods("web", 2, cpu="1", on=["elsewhere", None])
    plan = plan_of(cluster.world(), policy(node_group("general")))
    assert [line.pod for line in plan.pods] == ["shop/web-2"]
    assert group(plan, "general").desired == 1


def test_many_equal_pods_fill_node_after_node() -> None:
    """45 pods of 1 cpu on nodes of 4 with a DaemonSet pod of 1: 15 nodes. 60 of 250m then fill none of them, since they are
    full: 12 to a node, 5 more."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4", memory="64Gi")
    cluster.daemonset("agent", cpu="1")
    cluster.pods("large", 45, cpu="1", memory="4Gi")
    cluster.pods("small", 60, cpu="250m", memory="1Gi")
    plan = plan_of(cluster.world(), policy(node_group("general", max=100)))
    assert group(plan, "general").desired == 20
    assert [line.outcome for line in plan.pods] == [PodOutcome.TRIGGERS_SCALE_UP] * 105


def test_the_last_node_of_many_shares_its_room() -> None:
    """41 pods of 1 cpu on nodes of 4: 11 nodes, the last with 3 cpu left; 12 pods of 250m go there, 4 need one more."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4", memory="64Gi")
    cluster.pods("large", 41, cpu="1", memory="4Gi")
    cluster.pods("small", 16, cpu="250m", memory="1Gi")
    plan = plan_of(cluster.world(), policy(node_group("general", max=100)))
    assert group(plan, "general").desired == 12


def test_many_equal_pods_stop_at_the_maximum() -> None:
    """41 pods, four to a node, at most 9 nodes: 36 are served and 5 are told why not."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4", memory="64Gi")
    cluster.pods("large", 41, cpu="1", memory="4Gi")
    plan = plan_of(cluster.world(), policy(node_group("general", max=9)))
    assert group(plan, "general").desired == 9
    outcomes = [line.outcome for line in plan.pods]
    assert outcomes == [PodOutcome.TRIGGERS_SCALE_UP] * 36 + [PodOutcome.UNPLACEABLE] * 5


def test_upcoming_nodes_count_once() -> None:
    """Two replicas asked for and one registered: the pods that the second will take buy nothing."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, replicas=2)
    cluster.pods("full", 1, cpu="4", on="general-1")
    cluster.pods("web", 2, cpu="2")
    plan = plan_of(cluster.world(), policy(node_group("general")))
    assert not plan.actions
    assert {line.outcome for line in plan.pods} == {PodOutcome.FITS_UPCOMING}


def test_a_machine_that_never_became_a_node_is_not_waited_for() -> None:
    """After maxNodeProvisionTime it is reported and taken back; after the back-off the pods buy one in its place."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, replicas=2)
    ref = cluster.world().targets[0].ref
    cluster.machine("general-late", ref, created=NOW - 900)
    cluster.pods("full", 1, cpu="4", on="general-1")
    cluster.pods("web", 1, cpu="2")
    plan, memory = decide(cluster.world(), policy(node_group("general")), Memory(), NOW)
    assert group(plan, "general").desired == 1
    assert codes(group(plan, "general")) == ["RequestCancelled", "MachinesFailed"]
    plan, _ = decide(cluster.world(), policy(node_group("general")), memory, NOW + 300)
    assert group(plan, "general").desired == 3


def test_below_min_is_healed_in_one_write() -> None:
    """Two replicas, minimum five: one Resize from 2 to 5, and the new nodes serve pending pods first."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("full", 2, cpu="4", on=["general-1", "general-2"])
    cluster.pods("web", 3, cpu="4")
    plan = plan_of(cluster.world(), policy(node_group("general", min=5)))
    (action,) = of_kind(plan, ActionKind.RESIZE)
    assert (action.from_, action.to, action.reason.code) == (2, 5, "BelowMin")


def test_a_limit_bounds_healing_and_the_rest_is_reported() -> None:
    """Minimum five, limit of four nodes: four, and the reason says what is missing."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    rules = policy(node_group("general", min=5), limits=(Limit(name="few", max=(("nodes", 4),)),))
    line = group(plan_of(cluster.world(), rules), "general")
    assert line.desired == 4
    assert "MinNotReached" in codes(line)


def test_tiers_are_asked_in_order_and_a_lower_one_only_for_the_rest() -> None:
    """Spot may gain one node, so the second pod goes to on-demand, however cheap or dear."""
    cluster = ClusterBuilder()
    cluster.group("spot", nodes=0)
    cluster.group("dear", nodes=0)
    cluster.pods("web", 2, cpu="4")
    rules = policy(
        node_group("spot", max=1, tier="spot"),
        node_group("dear", max=5, tier="on-demand"),
        tiers=(Tier(name="spot"), Tier(name="on-demand")),
    )
    plan = plan_of(cluster.world(), rules)
    assert (group(plan, "spot").desired, group(plan, "dear").desired) == (1, 1)
    assert [line.name for line in plan.groups] == ["spot", "dear"]


def test_one_plan_grows_several_groups() -> None:
    """Pods that only one group each can run are all served in the same plan."""
    cluster = ClusterBuilder()
    cluster.group("amd", nodes=0)
    cluster.group("arm", nodes=0)
    cluster.pods("a", 2, cpu="4", node_selector={"pool": "amd"})
    cluster.pods("b", 1, cpu="4", node_selector={"pool": "arm"})
    plan = plan_of(cluster.world(), policy(node_group("amd"), node_group("arm")))
    assert (group(plan, "amd").desired, group(plan, "arm").desired) == (2, 1)


def test_least_nodes_and_least_waste_choose_differently() -> None:
    """Four pods of 2 cpu: two 4-cpu nodes waste nothing, one 16-cpu node is one node."""
    for expander, expected in ((Expander.LEAST_WASTE, "small"), (Expander.LEAST_NODES, "large")):
        cluster = ClusterBuilder()
        cluster.group("small", nodes=0, cpu="4", memory="8Gi")
        cluster.group("large", nodes=0, cpu="16", memory="32Gi")
        cluster.pods("web", 4, cpu="2", memory="4Gi")
        plan = plan_of(cluster.world(), policy(node_group("small"), node_group("large"), expanders=(expander,)))
        assert [line.name for line in plan.groups if line.desired] == [expected]


def test_no_group_fits_gives_every_group_its_reason() -> None:
    """A pod larger than every template: the reason names each group with the plugin and the numbers."""
    cluster = ClusterBuilder()
    cluster.group("small", nodes=1)
    cluster.group("tainted", nodes=0, cpu="64", memory="256Gi", taints=["dedicated=db:NoSchedule"])
    cluster.pods("giant", 1, cpu="20")
    line = pod(plan_of(cluster.world(), policy(node_group("small"), node_group("tainted"))), "shop/giant-1")
    assert line.outcome is PodOutcome.UNPLACEABLE
    assert codes(line) == ["NoGroupFits", "GroupRejects", "GroupRejects"]
    assert line.reasons[1].data["plugins"] == ("NodeResourcesFit",)
    assert line.reasons[2].data["plugins"] == ("TaintToleration",)


def test_a_group_at_its_maximum_is_another_reason_than_no_fit() -> None:
    """The group could run the pod, but is at its maximum."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("web", 2, cpu="4")
    line = pod(plan_of(cluster.world(), policy(node_group("general", max=1))), "shop/web-2")
    assert codes(line) == ["GroupsExhausted", "AtMaxSize"]


def test_a_backed_off_group_is_passed_over() -> None:
    """The next tier serves the pods, and the reason is on record when nobody does."""
    cluster = ClusterBuilder()
    cluster.group("spot", nodes=0)
    cluster.pods("web", 1, cpu="4")
    memory = Memory(backoffs={"spot": BackoffState(failures=2, failed_seconds=NOW - 60, until_seconds=NOW + 540)})
    line = pod(plan_of(cluster.world(), policy(node_group("spot")), memory), "shop/web-1")
    assert codes(line) == ["GroupsExhausted", "BackedOff"]


def test_a_held_group_is_left_alone_and_says_what_it_would_do() -> None:
    """A hold in the policy: desired stays, wanted is what the pods ask for."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("full", 1, cpu="4", on="general-1")
    cluster.pods("web", 2, cpu="4")
    held = policy(node_group("general", hold=Hold(reason="recovering a node", until_seconds=NOW + 60)))
    plan = plan_of(cluster.world(), held)
    line = group(plan, "general")
    assert (line.held, line.current, line.desired, line.wanted) == (True, 1, 1, 3)
    assert not plan.actions
    assert codes(pod(plan, "shop/web-1")) == ["GroupsExhausted", "GroupHeld"]


def test_an_expired_hold_holds_nothing() -> None:
    """At `until` the hold is over and decisions resume."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("web", 2, cpu="4")
    plan = plan_of(cluster.world(), policy(node_group("general", hold=Hold(reason="recovering", until_seconds=NOW))))
    assert (group(plan, "general").held, group(plan, "general").desired) == (False, 2)


def test_pace_bounds_one_plan() -> None:
    """maxAddedNodes 2: two nodes now, and the rest of the pods say why."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.pods("web", 5, cpu="4")
    plan = plan_of(cluster.world(), policy(node_group("general"), pace=Pace(max_added_nodes=2)))
    assert group(plan, "general").desired == 2
    assert codes(pod(plan, "shop/web-5")) == ["GroupsExhausted", "PaceReached"]


def test_expendable_and_young_pods_buy_nothing() -> None:
    """Priority below the cut-off, or younger than newPodDelay: named, not served."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.pods("spare", 1, cpu="1", priority=-11)
    cluster.pods("young", 1, cpu="1", age=5)
    plan = plan_of(cluster.world(), policy(node_group("general"), pods=PodRules(new_pod_delay_seconds=30)))
    assert pod(plan, "shop/spare-1").outcome is PodOutcome.EXPENDABLE
    assert pod(plan, "shop/young-1").outcome is PodOutcome.DELAYED
    assert not plan.actions


def test_daemonset_pods_take_room_on_new_nodes() -> None:
    """A DaemonSet of 500m leaves 3.5 of 4 cores, so two pods of 1.8 need two nodes."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.daemonset("agent", cpu="500m")
    cluster.pods("web", 2, cpu="1800m")
    assert group(plan_of(cluster.world(), policy(node_group("general"))), "general").desired == 2


def test_limits_select_groups_and_nodes() -> None:
    """A reserve shared by two groups is never passed; the group outside it is free."""
    cluster = ClusterBuilder()
    for name in ("h100-a", "h100-b", "other"):
        cluster.group(name, nodes=0)
        cluster.pods(f"on-{name}", 2, cpu="4", node_selector={"pool": name})
    labels = (("reserve", "h100"),)
    limit = Limit(name="reserve", groups=Selector(match_labels=labels), max=(("nodes", 2),))
    rules = policy(node_group("h100-a", labels=labels), node_group("h100-b", labels=labels), node_group("other"), limits=(limit,))
    plan = plan_of(cluster.world(), rules)
    assert group(plan, "h100-a").desired + group(plan, "h100-b").desired == 2
    assert group(plan, "other").desired == 2


def test_the_policy_template_wins_over_the_targets() -> None:
    """Written capacity and reserved give the allocatable that pods are tried on."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4")
    cluster.pods("web", 1, cpu="7500m")
    template = Template(
        capacity=(("cpu", 8000), ("memory", 32 << 30), ("pods", 110)), reserved=(("cpu", 400), ("memory", 1 << 30))
    )
    assert group(plan_of(cluster.world(), policy(node_group("general", template=template))), "general").desired == 1
    tight = Template(capacity=template.capacity, reserved=(("cpu", 600),))
    assert group(plan_of(cluster.world(), policy(node_group("general", template=tight))), "general").desired == 0


def test_a_group_without_template_cannot_grow_and_says_so() -> None:
    """Nothing tells what a node would offer."""
    cluster = ClusterBuilder()
    cluster.target("general", 0)
    cluster.pods("web", 1, cpu="1")
    line = pod(plan_of(cluster.world(), policy(node_group("general"))), "shop/web-1")
    assert codes(line) == ["NoGroupFits", "TemplateUnknown"]


def test_all_that_keeps_a_group_from_growing_is_said_at_once() -> None:
    """A hold, no template, and a range that ends where it is; with a template, the hold and the range."""
    cluster = ClusterBuilder()
    cluster.target("general", 0)
    cluster.pods("web", 1, cpu="1")
    held = node_group("general", min=0, max=0, hold=Hold(reason="looking at it"))
    plan = plan_of(cluster.world(), policy(held))
    assert codes(pod(plan, "shop/web-1")) == ["NoGroupFits", "GroupHeld", "TemplateUnknown", "AtMaxSize"]
    assert [reason.code for reason in group(plan, "general").reasons] == ["GroupHeld", "TemplateUnknown"]
    known = msgspec.structs.replace(held, template=Template(capacity=(("cpu", 4000), ("memory", 8 << 30))))
    plan = plan_of(cluster.world(), policy(known))
    assert codes(pod(plan, "shop/web-1")) == ["GroupsExhausted", "GroupHeld", "AtMaxSize"]
    assert [reason.code for reason in group(plan, "general").reasons] == ["GroupHeld"]


@pytest.mark.parametrize(
    ("shape", "named"),
    [({"claims": (ClaimUse(name="gpu", claim="gpu"),)}, "DynamicResources"), ({"not_modelled": ("zebra",)}, "spec.zebra")],
)
def test_unmodelled_pods_are_never_guessed(shape: dict[str, object], named: str) -> None:
    """No node is bought for a resource claim without devices, or for a field that is not known. The reason names it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("odd", 6, cpu="1", shape=shape)
    plan = plan_of(cluster.world(), policy(node_group("general", max=9)))
    lines = [pod(plan, f"shop/odd-{number}") for number in range(1, 7)]
    assert {line.outcome for line in lines} == {PodOutcome.NOT_MODELLED}
    assert named in lines[0].reasons[0].message
    assert not plan.actions


def test_summed_cost_follows_desired() -> None:
    """Two replicas at 0.25, one more: 0.50 -> 0.75."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("full", 2, cpu="4", on=["general-1", "general-2"])
    cluster.pods("web", 1, cpu="4")
    plan = plan_of(cluster.world(), policy(node_group("general", price_per_hour="0.25")))
    assert (plan.cost.current_per_hour, plan.cost.desired_per_hour) == ("0.50", "0.75")


def test_resources_add_up() -> None:
    """Guard of the vector arithmetic that everything above rests on."""
    one = Resources.of({"cpu": 1500, "memory": 3, "example.com/x": 2})
    assert one.plus(one, 2) == Resources.of({"cpu": 4500, "memory": 9, "example.com/x": 6})
    assert one.plus(one, -1) == Resources()


def test_a_failed_machine_backs_its_group_off_and_the_next_tier_serves() -> None:
    """Spot is out of stock: the failure backs it off for five minutes at once, and on-demand grows instead."""
    cluster = ClusterBuilder()
    cluster.group("spot", nodes=0, replicas=1)
    cluster.machine("spot-1", cluster.world().targets[0].ref, failed="InsufficientInstanceCapacity")
    cluster.group("dear", nodes=0)
    cluster.pods("web", 1, cpu="4")
    rules = policy(node_group("spot", tier="spot"), node_group("dear", tier="od"), tiers=(Tier(name="spot"), Tier(name="od")))
    plan, memory = decide(cluster.world(), rules, Memory(), NOW)
    assert (group(plan, "spot").desired, group(plan, "dear").desired) == (0, 1)
    assert memory.backoffs["spot"].until_seconds == NOW + 300
    assert memory.backoffs["spot"].reason == "InsufficientInstanceCapacity"
    _, later = decide(cluster.world(), rules, memory, NOW + 60)
    assert later.backoffs["spot"] == memory.backoffs["spot"]


def test_the_end_of_a_hold_starts_back_offs_afresh() -> None:
    """Held with a back-off, then released: the group may grow at once."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.pods("web", 1, cpu="4")
    memory = Memory(backoffs={"general": BackoffState(failures=4, failed_seconds=NOW - 60, until_seconds=NOW + 1740)})
    _, memory = decide(cluster.world(), policy(node_group("general", hold=Hold(reason="x"))), memory, NOW)
    assert "general" in memory.backoffs
    plan, memory = decide(cluster.world(), policy(node_group("general")), memory, NOW + 10)
    assert group(plan, "general").desired == 1
    assert not memory.backoffs


def test_a_back_off_is_forgotten_after_its_reset() -> None:
    """A fourth failure a second before three hours are over waits 30 minutes, one at three hours 5 again."""
    before = BackoffState(failures=3, failed_seconds=NOW, until_seconds=NOW + 1200)
    late, over = (BackoffRule().after(before, NOW + seconds, "no capacity") for seconds in (10_799, 10_800))
    assert (late.failures, late.until_seconds) == (4, NOW + 10_799 + 1800)
    assert (over.failures, over.until_seconds) == (1, NOW + 10_800 + 300)


def test_a_pod_at_the_cut_off_is_served() -> None:
    """Priorities -10 and -11 with the cut-off at -10: only the lower one is expendable."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.pods("at", 1, cpu="1", priority=-10)
    cluster.pods("below", 1, cpu="1", priority=-11)
    plan = plan_of(cluster.world(), policy(node_group("general"), pods=PodRules(expendable_below_priority=-10)))
    assert pod(plan, "shop/at-1").outcome is PodOutcome.TRIGGERS_SCALE_UP
    assert pod(plan, "shop/below-1").outcome is PodOutcome.EXPENDABLE
