"""The settled column: the steady state of the loop if demand stayed as it is and nothing took time."""

from collections import Counter
from collections.abc import Callable, Mapping

import msgspec

from reconciler.cluster.defects import DEFECT, judged
from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, Decision, decide_counted, full_decision, settle
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.memory import Memory
from reconciler.decisions.reasons.provisioning import GrownForRequest
from reconciler.decisions.reasons.sizes import Headroom
from reconciler.decisions.removal.budgets import allows_none
from reconciler.decisions.removal.keeps import ENDING_WITH_JOBS
from reconciler.decisions.work import Work
from reconciler.plan.impact import Impact, evicted_now, losing_data
from reconciler.plan.plan import SETTLING_CUT_SHORT, ActionKind, GroupLine, Plan, PlanProblem, PodOutcome
from reconciler.plan.pod_runs import runs_of
from reconciler.plan.summary import summary, with_digest
from reconciler.policy.documents import Budget, NodeGroupPolicy, PolicySet
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import AT_ONCE, NO_DELAY
from reconciler.simulation.embedded.journal import Happened
from reconciler.simulation.embedded.writes import SimulatedWrites
from reconciler.simulation.execution import execute
from reconciler.simulation.one_by_one import one_by_one
from reconciler.simulation.timers import next_timer_seconds
from reconciler.values.instant import parse_instant
from reconciler.values.money import parse_money, price_text
from reconciler.values.plural import count_text

STEPS_OF_A_PLAN = 500_000
"""Every further plan counts as at least so many steps. With the work budget of a plan as it is, 1,000 plans are made at most."""
STEP_SECONDS = 10
EMPTY_PLANS = 3
DECISIONS_WORTH = 10
_ANY_NUMBER = 1_000_000


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """`world` is what the last of `plans` was made on. `evicted` has the key of a pod for every eviction so far, `joined` the
    number of joined nodes by group name. `waiting` are keys of pods without a node. `rests`: this is the steady state, so
    further plans would be the same, and empty."""

    world: World
    plans: int
    evicted: tuple[str, ...]
    joined: Mapping[str, int]
    waiting: tuple[str, ...]
    rests: bool


def carried_out(
    world: World,
    policy: PolicySet,
    memory: Memory,
    now_seconds: int,
    plan: Plan,
    work: Work,
    work_budget: int,
    enough: Callable[[Plan, int], bool] = lambda _plan, _seconds: False,
) -> Standing:
    """Carry `plan` out on an embedded cluster and decide again, until the steady state, or until the steps run out.

    Machines join at once, and pods end at once. Evicted pods with an owner return pending and healthy, and kube-scheduler's rules
    place them. Budgets of pods are recomputed. After an empty plan, time jumps to the next timer (a node becomes removable, or a
    back-off or cool-down ends).

    The steady state is an empty plan with no running timer and nothing in progress. Further plans would be the same, and empty,
    so they are not computed. What takes long elsewhere has ended: grace periods, finalizers, lifecycle hooks, and pods of Jobs
    that a removal waits for. If a drain is in progress but does not advance, the wait ends after three empty plans.

    `enough` sees each plan and its instant (Unix time) before it is carried out. It ends all of this if it returns True.
    """
    cluster = SimulatedCluster(world, policy, now_seconds, durations=NO_DELAY, otherwise=AT_ONCE)
    _finish_starting(cluster, world, policy, now_seconds)
    _finish_leaving(cluster)
    writes = SimulatedWrites(cluster)
    groups = {line.target: line.name for line in plan.groups}
    plans, resting, rests = 1, 0, False
    while not enough(plan, cluster.now_seconds):
        if plan.actions:
            resting = 0
            memory = settle(memory, execute(plan, cluster, writes))
            due: int | None = cluster.now_seconds + STEP_SECONDS
        else:
            cluster.advance_to(cluster.now_seconds)
            due = next_timer_seconds(plan, memory, policy.policy, cluster.now_seconds)
            if due is None:
                resting += 1
                # The very first plan was made before upcoming machines had joined.
                again = _end_awaited(cluster, plan) or plans == 1
                due = cluster.now_seconds + STEP_SECONDS if again else cluster.agenda.next_seconds
        rests = due is None or resting == EMPTY_PLANS
        if due is None or rests:
            break
        cluster.advance_to(due)
        decision = _decided(cluster, policy, memory, work, work_budget)
        if decision is None:
            break
        plan, memory, plans = *decision, plans + 1
        if work.exhausted:
            break
    return _standing(cluster, groups, plans, rests=rests)


def _decided(
    cluster: SimulatedCluster, policy: PolicySet, memory: Memory, work: Work, work_budget: int
) -> tuple[Plan, Memory] | None:
    """One decision more; None if the steps do not suffice to begin it. If it runs out of them, so does `work`."""
    world = cluster.world()
    if not work.spend(STEPS_OF_A_PLAN + len(world.nodes) + len(world.pods)):
        return None
    one = Work(min(work_budget, work.budget - work.spent))
    decision = decide_counted(one_by_one(world), policy, memory, cluster.now_seconds, one, with_wanted=False)
    if not work.spend(one.spent) or one.exhausted:
        work.spend(work.budget)
    return decision


def _finish_starting(cluster: SimulatedCluster, world: World, policy: PolicySet, now_seconds: int) -> None:
    """Nodes that are still starting have started: Ready, with their devices, without start-up taints."""
    groups = {group.target: group for group in effective_groups(world, policy, now_seconds)}
    for node in list(cluster.objects.nodes.values()):
        group = groups.get(node.target) if node.target is not None else None
        if group is None or group.template is None:
            continue
        if now_seconds - node.value.created_seconds < group.scale_up.max_node_startup_time_seconds:
            cluster.finish_start(node, group.template, group.startup_taints)


def _finish_leaving(cluster: SimulatedCluster) -> None:
    """Nodes that are being deleted are gone, whatever finalizer or lifecycle hook they wait for."""
    deleting = {machine.node for machine in cluster.objects.machines.values() if machine.deleting}
    for name, node in list(cluster.objects.nodes.items()):
        if node.value.deleting or name in deleting:
            cluster.kill_node(name)


def _end_awaited(cluster: SimulatedCluster, plan: Plan) -> bool:
    """End the pods of Jobs that nodes wait for, and for nothing else. Whether there was one."""
    ended = False
    for line in plan.nodes:
        if not line.blockers or not ENDING_WITH_JOBS.issuperset(blocker.code for blocker in line.blockers):
            continue
        for blocker in line.blockers:
            namespace, _, name = (blocker.pod or "").partition("/")
            pod = cluster.objects.pods.get((namespace, name))
            if pod is not None:
                cluster.pods.succeed(pod)
                ended = True
    return ended


def _standing(cluster: SimulatedCluster, groups: Mapping[str, str], plans: int, *, rests: bool) -> Standing:
    """Read from what happened; a pod that was made in the place of another counts under the name of the first one. `groups` are
    names by target."""
    first: dict[str, str] = {}
    evicted: list[str] = []
    joined: Counter[str] = Counter()
    for event in cluster.journal.events:
        if event.kind is Happened.POD_CREATED and event.detail:
            first[event.object] = first.get(event.detail, event.detail)
        elif event.kind is Happened.POD_EVICTED:
            evicted.append(first.get(event.object, event.object))
        elif event.kind is Happened.NODE_JOINED and event.target in groups:
            joined[groups[event.target]] += 1
    return Standing(
        world=cluster.world(),
        plans=plans,
        evicted=tuple(evicted),
        joined=joined,
        waiting=tuple(first.get(pod.key, pod.key) for pod in cluster.objects.pending()),
        rests=rests,
    )


class Rest(msgspec.Struct, frozen=True):
    """A plan with its settled columns, what happens to nodes and pods on the way there, and the cluster in steady state."""

    plan: Plan
    impact: Impact
    world: World


def settled(world: World, policy: PolicySet, memory: Memory, now_seconds: int, plan: Plan) -> Plan:
    """`plan` with its settled columns, as `come_to_rest` finds them."""
    return come_to_rest(world, policy, memory, now_seconds, plan).plan


def come_to_rest(
    world: World,
    policy: PolicySet,
    memory: Memory,
    now_seconds: int,
    plan: Plan,
    work_budget: int = DEFAULT_WORK_BUDGET,
    decision: Decision | None = None,
) -> Rest:
    """`plan` with `settled` of every group, `settled_per_hour` and `settled_loops` (and its digest) filled in.

    `memory` is what `decide` was given or what it returned with `plan`; the timers in the plan itself count. `decision` is what
    `full_decision` returned with the plan. Without it, the plan is made once more if that matters.

    Removals take no time here, so the number of nodes that may leave or join at once does not change the result. Such bounds are
    lifted, except those of zero. Nodes that share a disruption budget leave in one plan, one after the other. `mode: Observe` is
    ignored, because this shows what would happen. Held groups stay as they are.

    Each decision has `work_budget` steps, and all of them together have ten times as many. Simulated nodes and pods count, too.
    Each plan counts as well, as `STEPS_OF_A_PLAN`. If the steps run out, it ends there, and the plan says so.
    """
    return judged(
        world,
        lambda some: _at_rest(some, policy, memory, now_seconds, plan, work_budget, decision if some is world else None),
    )


def _at_rest(
    world: World,
    policy: PolicySet,
    memory: Memory,
    now_seconds: int,
    plan: Plan,
    work_budget: int,
    decision: Decision | None,
) -> Rest:
    hasty = msgspec.structs.replace(policy, policy=unpaced(policy.policy))
    work = Work(DECISIONS_WORTH * work_budget)
    defects = any(problem.code == DEFECT for problem in plan.problems)
    if decision is None and (defects or not _knows_purchase(memory, plan, now_seconds)):
        decision = full_decision(world, policy, memory, now_seconds, Work(work_budget))
    if defects and decision is not None:
        # Not the objects again that judging fails on.
        world = decision.world
    known = _with_timers(memory if decision is None else decision.memory, plan)
    at = carried_out(world, hasty, known, now_seconds, plan, work, work_budget)
    return Rest(_filled(plan, at, work), _impact(world, plan, at), at.world)


def unpaced(policy: NodeGroupPolicy) -> NodeGroupPolicy:
    """The policy without bounds on how many nodes come and go at a time. A bound of zero stays."""
    pace = policy.pace
    return msgspec.structs.replace(
        policy,
        budgets=tuple(_lifted(budget) for budget in policy.budgets) or (Budget(nodes=_ANY_NUMBER),),
        pace=msgspec.structs.replace(
            pace,
            max_added_nodes=_ANY_NUMBER if pace.max_added_nodes else 0,
            max_removed_percent=100 if pace.max_removed_percent else 0,
            require_approval_above=0 if pace.require_approval_above == 0 else None,
        ),
    )


def _lifted(budget: Budget) -> Budget:
    if allows_none(budget):
        return budget
    return msgspec.structs.replace(budget, nodes=_ANY_NUMBER, percent=None, zones=None)


def _knows_purchase(memory: Memory, plan: Plan, now_seconds: int) -> bool:
    """Whether the memory was returned with the plan, if that makes a difference."""
    if any(action.kind is ActionKind.REPLACE for action in plan.actions) and not memory.replacements:
        return False
    for_headroom = any(reason.code in (Headroom.code, GrownForRequest.code) for line in plan.groups for reason in line.reasons)
    if not for_headroom and all(pod.outcome is not PodOutcome.TRIGGERS_SCALE_UP for pod in plan.pods):
        return True
    return memory.purchase is not None and memory.purchase.last_seconds == now_seconds


def _with_timers(memory: Memory, plan: Plan) -> Memory:
    since = {
        line.node: parse_instant(line.unneeded_since)
        for line in plan.nodes
        if line.unneeded_since is not None and line.node not in memory.unneeded_since
    }
    return msgspec.structs.replace(memory, unneeded_since={**memory.unneeded_since, **since}) if since else memory


def _impact(world: World, plan: Plan, at: Standing) -> Impact:
    there = {node.name for node in at.world.nodes}
    names = {line.name for line in plan.groups}
    return Impact(
        evicted_now=evicted_now(world, plan),
        evicted_settled=tuple(sorted(at.evicted)),
        nodes_gone=tuple(sorted(node.name for node in world.nodes if node.name not in there)),
        nodes_joined={name: count for name, count in sorted(at.joined.items()) if name in names},
        waiting=tuple(sorted(at.waiting)),
        data_lost=losing_data(world, at.evicted),
    )


def _filled(plan: Plan, at: Standing, work: Work) -> Plan:
    replicas = {str(facts.ref): facts.replicas for facts in at.world.targets}
    groups = tuple(
        msgspec.structs.replace(line, settled=line.current if replicas.get(line.target) is None else replicas[line.target])
        for line in plan.groups
    )
    cost = msgspec.structs.replace(plan.cost, settled_per_hour=_price(groups))
    problems = plan.problems
    if not at.rests:
        message = (
            f"steady state not reached after {count_text(at.plans, 'plan')}: {work.budget} steps ran out. "
            "The settled columns show how far it came"
        )
        problems = tuple(sorted({*problems, PlanProblem(code=SETTLING_CUT_SHORT, message=message)}))
    runs = runs_of(plan.pods)
    sentence = summary(groups, plan.actions, runs, cost, problems)
    return with_digest(
        msgspec.structs.replace(plan, summary=sentence, groups=groups, cost=cost, settled_loops=at.plans, problems=problems),
        runs,
    )


def _price(groups: tuple[GroupLine, ...]) -> str | None:
    priced = [parse_money(line.price_per_hour) * (line.settled or 0) for line in groups if line.price_per_hour is not None]
    return price_text(sum(priced)) if priced else None
