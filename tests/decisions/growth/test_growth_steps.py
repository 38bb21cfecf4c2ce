"""What growth asks again and what it keeps: in steps of the work budget."""

from collections import Counter

import pytest

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.cluster.pods.pod import AffinityTerm, SpreadConstraint
from reconciler.decisions.decide import decide
from reconciler.decisions.demand.pending import pending_demand
from reconciler.decisions.demand.queue import Queue
from reconciler.decisions.growth import scale_up
from reconciler.decisions.growth.cost.tier_growth import Growth
from reconciler.decisions.growth.filling import Filling
from reconciler.decisions.memory import Memory
from reconciler.decisions.situation.waiting_pods import waiting_pods
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.decisions.work_shares import Shares
from reconciler.scheduling.state import SchedulingState
from tests.builders import NOW, ClusterBuilder, node_group, policy, selector

HOST = "kubernetes.io/hostname"


@pytest.mark.parametrize(("budget", "placed"), [(10**6, 1), (0, 0)])
def test_room_that_came_is_asked_for_within_the_work_budget(budget: int, placed: int) -> None:
    """A pod that must be near another one and has a place on a node that is there: unless nothing may be asked any more."""
    cluster = ClusterBuilder()
    (name,) = cluster.group("general", nodes=1)
    cluster.pods("db", 1, cpu="1", on=name)
    near = AffinityTerm(topology_key=HOST, selector=selector(app="db"), namespaces=("shop",))
    cluster.pods("web", 1, cpu="1", shape={"affinity": (near,)})
    world, rules = cluster.world(), policy(node_group("general"))
    draft = View.of(world, rules, Memory(), NOW, Work(budget)).draft()
    waiting = pending_demand(world, waiting_pods(world), draft.state, rules.policy.pods, NOW).demands
    draft.shares = Shares(draft.work, ("shop",))
    queue = Queue(waiting)
    scale_up._fill_freed(draft, queue, Growth(draft))
    assert len(queue.lots()) == placed
    assert draft.work.spent == 1


def test_a_plain_pod_is_not_asked_for_again_after_every_purchase() -> None:
    """What was bought says nothing new of it: no step is spent on it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("web", 1, cpu="1")
    world, rules = cluster.world(), policy(node_group("general"))
    draft = View.of(world, rules, Memory(), NOW, Work(10**6)).draft()
    queue = Queue(pending_demand(world, waiting_pods(world), draft.state, rules.policy.pods, NOW).demands)
    draft.shares = Shares(draft.work, ("shop",))
    scale_up._fill_freed(draft, queue, Growth(draft))
    assert (queue.lots(), draft.work.spent) == ([], 0)


def test_steps_of_a_pass() -> None:
    """One for the pass, one for each pair of shapes that keep apart as long as the shapes were not the same the last time, and
    what was looked at; of shapes that may not enter at all nothing is."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    apart = AffinityTerm(topology_key=HOST, selector=selector(app="a"), namespaces=("shop",))
    cluster.pods("a", 2, cpu="1")
    cluster.pods("b", 2, cpu="500m", shape={"anti_affinity": (apart,)})
    cluster.pods("c", 1, cpu="1", node_selector={"pool": "none"})
    draft = View.of(cluster.world(), policy(node_group("general")), Memory(), NOW, Work(10**6)).draft()
    draft.shares = Shares(draft.work, ("shop",))
    waiting = [(shape, pods) for shape, pods in ((0, 2), (1, 2), (2, 1))]
    filling, group = Filling(draft), draft.groups[0]
    assert filling.covers(waiting)
    assert group.group.template is not None
    probe = draft.state.add_node("general-try", group.group.template, ())
    steps = []
    for alike, asked in (("first", waiting[:2]), ("second", waiting[:2]), ("third", waiting[2:])):
        before = draft.work.spent
        assert filling.fill(alike, probe, asked, 9, ()) is not None
        steps.append(draft.work.spent - before)
    assert steps == [5, 4, 0]


def test_what_is_kept_is_for_the_same_pods_beside() -> None:
    """Four pods over hosts with a skew of one, two to a node: as long as a host has none each node gets one; when it has one
    each gets two."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="2")
    spread = SpreadConstraint(topology_key=HOST, max_skew=1, selector=selector(app="web"))
    cluster.pods("web", 4, cpu="1", shape={"spread": (spread,)})
    draft = View.of(cluster.world(), policy(node_group("general")), Memory(), NOW, Work(10**6)).draft()
    draft.shares = Shares(draft.work, ("shop",))
    filling, template = Filling(draft), draft.groups[0].group.template
    assert filling.covers([(0, 4)])
    assert template is not None
    opened = []
    for pods in (0, 1):
        draft.state.bind(0, 0, pods)
        mark = draft.state.mark()
        filled = filling.fill("alike", draft.state.add_node("general-try", template, ()), [(0, 4)], 9, ())
        draft.state.undo(mark)
        assert filled is not None
        opened.append(filled.opened)
    assert opened == [4, 2]


def test_a_long_spread_asks_little_for_each_purchase(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty pods with a skew of one over three zones, a node for each: after the first round a zone that is ahead is known
    from its last node, and a pass over new nodes is kept for the numbers of pods that come back."""
    counts = Counter[str]()

    def counted(owner: type, name: str) -> None:
        original = getattr(owner, name)

        def call(*args: object) -> object:
            counts[name] += 1
            return original(*args)

        monkeypatch.setattr(owner, name, call)

    counted(SchedulingState, "verdict")
    counted(SchedulingState, "fill_new")
    cluster = ClusterBuilder()
    for zone in "abc":
        cluster.group(zone, nodes=0, cpu="1", labels={ZONE_LABEL: zone})
    spread = SpreadConstraint(topology_key=ZONE_LABEL, max_skew=1, selector=selector(app="web"))
    cluster.pods("web", 30, cpu="1", shape={"spread": (spread,)})
    plan, _ = decide(cluster.world(), policy(*(node_group(zone, max=20) for zone in "abc")), Memory(), NOW)
    assert [group.desired for group in plan.groups] == [10, 10, 10]
    others = {reason.data["others"] for group in plan.groups for reason in group.reasons if reason.code == "PendingPods"}
    full = {(), *((f"{zone} (PodTopologySpread)",) for zone in "abc")}
    assert full < others
    assert counts["verdict"] <= 3
    assert counts["fill_new"] <= 20
