"""The look ahead on an embedded cluster, where machines, drains, evictions and the scheduler are played."""

from collections import Counter

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide_counted, settle
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.work import Work
from reconciler.plan.plan import Plan
from reconciler.policy.documents import PolicySet
from reconciler.simulation.embedded.agenda import AT_ONCE, NO_DELAY, Happened
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.writes import SimulatedWrites
from reconciler.simulation.execution import execute, one_by_one
from reconciler.simulation.standing import MAX_LOOPS, STEP_SECONDS, Standing
from reconciler.simulation.timers import next_timer_seconds

EMPTY_PLANS = 3


def play(at: Standing, policy: PolicySet, work: Work, work_budget: int) -> Standing:
    """Carry the plan out on an embedded cluster, decide again, and so on, until it rests or 60 plans were made.

    Machines join and pods end at once, evicted pods with an owner come back pending and healthy and go where kube-scheduler would
    bind them, budgets of pods are recomputed. After an empty plan time jumps to the next timer (a node becomes removable, a
    back-off or a cool-down ends); an empty plan with no timer running and nothing under way is the rest: further plans would read
    the same and be as empty, so they are not computed. While a drain is still under way without progress, three empty plans end
    the waiting.
    """
    cluster = SimulatedCluster(at.world, policy, at.now_seconds, durations=NO_DELAY, otherwise=AT_ONCE)
    _finish_starting(cluster, at.world, policy, at.now_seconds)
    writes = SimulatedWrites(cluster)
    current, memory, loops, resting = at.plan, at.memory, at.loops, 0
    while True:
        if current.actions:
            resting = 0
            memory = settle(memory, execute(current, cluster, writes))
            due: int | None = cluster.now_seconds + STEP_SECONDS
        else:
            cluster.advance_to(cluster.now_seconds)
            due = next_timer_seconds(current, memory, policy.policy, cluster.now_seconds)
            if due is None:
                resting += 1
                # The very first plan was made before upcoming machines had joined.
                due = cluster.now_seconds + STEP_SECONDS if loops == 1 else cluster.agenda.next_seconds
        if due is None or resting == EMPTY_PLANS or loops == MAX_LOOPS:
            break
        cluster.advance_to(due)
        if not work.spend(len(cluster.objects.nodes) + len(cluster.objects.pods)):
            break
        one = Work(min(work_budget, work.budget - work.spent))
        simulated = one_by_one(cluster.world(), cluster.disruption.budgets_of)
        current, memory = decide_counted(simulated, policy, memory, cluster.now_seconds, one)
        loops += 1
        if not work.spend(one.spent) or one.exhausted:
            work.spend(work.budget)
            break
    return _ended(at, current, cluster, loops)


def _finish_starting(cluster: SimulatedCluster, world: World, policy: PolicySet, now_seconds: int) -> None:
    """Nodes that are still starting have started: Ready, with their devices, without start-up taints."""
    groups = {group.target: group for group in effective_groups(world, policy, now_seconds)}
    for node in list(cluster.objects.nodes.values()):
        group = groups.get(node.target) if node.target is not None else None
        if group is None or group.template is None:
            continue
        if now_seconds - node.value.created_seconds < group.max_node_startup_time_seconds:
            cluster.finish_start(node, group.template, group.startup_taints)


def _ended(at: Standing, plan: Plan, cluster: SimulatedCluster, loops: int) -> Standing:
    """Read from what happened; a pod that was made in the place of another counts under the name of the first one."""
    first: dict[str, str] = {}
    evicted: list[str] = []
    joined: Counter[str] = Counter()
    group_of = {line.target: line.name for line in at.plan.groups}
    for event in cluster.journal.events:
        if event.kind is Happened.POD_CREATED and event.detail:
            first[event.object] = first.get(event.detail, event.detail)
        elif event.kind is Happened.POD_EVICTED:
            evicted.append(first.get(event.object, event.object))
        elif event.kind is Happened.NODE_JOINED and event.target in group_of:
            joined[group_of[event.target]] += 1
    return msgspec.structs.replace(
        at,
        world=cluster.world(),
        now_seconds=cluster.now_seconds,
        plan=plan,
        loops=loops,
        evicted=(*at.evicted, *evicted),
        joined=Counter(at.joined) + joined,
        waiting=tuple(first.get(pod.key, pod.key) for pod in cluster.objects.pending()),
        rests=True,
    )
