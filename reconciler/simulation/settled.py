"""The settled column: where the loop would come to rest if demand stayed as it is and nothing took time."""

from datetime import datetime
from decimal import Decimal

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide, decide_counted, settle
from reconciler.decisions.groups.effective import effective_groups
from reconciler.decisions.memory import Memory
from reconciler.decisions.reasons.sizes import Headroom
from reconciler.decisions.work import Work
from reconciler.plan.digest import with_digest
from reconciler.plan.impact import Impact, evicted_now
from reconciler.plan.plan import ActionKind, GroupLine, Plan, PlanProblem, PodOutcome
from reconciler.policy.documents import Budget, NodeGroupPolicy, PolicySet
from reconciler.policy.pace import Pace
from reconciler.simulation.embedded.behaviour import AT_ONCE, NO_DELAY
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.journal import Happened
from reconciler.simulation.embedded.writes import SimulatedWrites
from reconciler.simulation.execution import execute
from reconciler.simulation.one_by_one import one_by_one
from reconciler.simulation.timers import next_timer_seconds

MAX_LOOPS = 60
DECISIONS_WORTH = 10
EMPTY_PLANS = 3
STEP_SECONDS = 10
_ANY_NUMBER = 1_000_000


class Rest(msgspec.Struct, frozen=True):
    """A plan with its settled columns, what happens to nodes and pods on the way there, and the cluster at rest."""

    plan: Plan
    impact: Impact
    world: World


def settled(world: World, policy: PolicySet, memory: Memory, now_seconds: int, plan: Plan) -> Plan:
    """`plan` with its settled columns, as `come_to_rest` finds them."""
    return come_to_rest(world, policy, memory, now_seconds, plan).plan


def come_to_rest(
    world: World, policy: PolicySet, memory: Memory, now_seconds: int, plan: Plan, work_budget: int = DEFAULT_WORK_BUDGET
) -> Rest:
    """`plan` with `settled` of every group, `settled_per_hour` and `settled_loops` (and the digest of that) filled in.

    `memory` is what `decide` was given or what it returned beside `plan`; what the plan itself says of timers counts.
    Carries the plan out on an embedded cluster, decides again, and so
    on, until it rests or 60 plans were made. Machines join and pods end at once, evicted pods with an
    owner come back pending and healthy, budgets of pods are recomputed. After an empty plan time jumps to the next
    timer (a node becomes removable, a back-off or a cool-down ends); an empty plan with no timer running and
    nothing under way is the rest: further plans would read the same and be as empty, so they are not computed. While a
    drain is still under way without progress, three empty plans end the waiting.

    How many nodes may leave or join at the same time says nothing about where it ends when leaving takes no time; such
    bounds are lifted, except those of zero, and nodes that share a disruption budget leave in one plan, one after the
    other. `mode: Observe` is ignored: this shows what would come. Groups that are held stay as they are.

    Each decision has `work_budget` steps and all of them together ten times as many; nodes and pods that are simulated count,
    too. Where these run out it ends there, and the plan says so.
    """
    hasty = msgspec.structs.replace(policy, policy=_unpaced(policy.policy))
    cluster = SimulatedCluster(world, hasty, now_seconds, durations=NO_DELAY, otherwise=AT_ONCE)
    _finish_starting(cluster, world, policy, now_seconds)
    writes = SimulatedWrites(cluster)
    if not _knows_purchase(memory, plan, now_seconds):
        _, memory = decide(world, policy, memory, now_seconds, work_budget)
    memory = _with_timers(memory, plan)
    current, loops, resting = plan, 1, 0
    work = Work(DECISIONS_WORTH * work_budget)
    while True:
        if current.actions:
            resting = 0
            memory = settle(memory, execute(current, cluster, writes))
            due: int | None = cluster.now_seconds + STEP_SECONDS
        else:
            cluster.advance_to(cluster.now_seconds)
            due = next_timer_seconds(current, memory, hasty.policy, cluster.now_seconds)
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
        simulated = one_by_one(cluster.world(), cluster.disruption)
        current, memory = decide_counted(simulated, hasty, memory, cluster.now_seconds, one)
        loops += 1
        if not work.spend(one.spent) or one.exhausted:
            work.spend(work.budget)
            break
    return Rest(_filled(plan, cluster, loops, work), _impact(world, plan, cluster), cluster.world())


def _unpaced(policy: NodeGroupPolicy) -> NodeGroupPolicy:
    pace = policy.pace
    return msgspec.structs.replace(
        policy,
        budgets=tuple(_lifted(budget) for budget in policy.budgets) or (Budget(nodes=_ANY_NUMBER),),
        pace=Pace(
            delay_after_add_seconds=pace.delay_after_add_seconds,
            delay_after_delete_seconds=pace.delay_after_delete_seconds,
            delay_after_failure_seconds=pace.delay_after_failure_seconds,
            max_added_nodes=_ANY_NUMBER if pace.max_added_nodes else 0,
            max_removed_percent=100 if pace.max_removed_percent else 0,
            require_approval_above=0 if pace.require_approval_above == 0 else None,
        ),
    )


def _lifted(budget: Budget) -> Budget:
    if budget.nodes == 0 or budget.percent == 0:
        return budget
    return msgspec.structs.replace(budget, nodes=_ANY_NUMBER, percent=None)


def _knows_purchase(memory: Memory, plan: Plan, now_seconds: int) -> bool:
    """Whether the memory is one that was returned beside the plan, where that makes a difference."""
    if any(action.kind is ActionKind.REPLACE for action in plan.actions) and not memory.replacements:
        return False
    for_headroom = any(reason.code == Headroom.code for line in plan.groups for reason in line.reasons)
    if not for_headroom and all(pod.outcome is not PodOutcome.TRIGGERS_SCALE_UP for pod in plan.pods):
        return True
    return memory.purchase is not None and memory.purchase.last_seconds == now_seconds


def _with_timers(memory: Memory, plan: Plan) -> Memory:
    since = {
        line.node: int(datetime.fromisoformat(line.unneeded_since).timestamp())
        for line in plan.nodes
        if line.unneeded_since is not None and line.node not in memory.unneeded_since
    }
    return msgspec.structs.replace(memory, unneeded_since={**memory.unneeded_since, **since}) if since else memory


def _finish_starting(cluster: SimulatedCluster, world: World, policy: PolicySet, now_seconds: int) -> None:
    """Nodes that are still starting have started: Ready, with their devices, without start-up taints."""
    groups = {group.target: group for group in effective_groups(world, policy, now_seconds)}
    for node in list(cluster.objects.nodes.values()):
        group = groups.get(node.target) if node.target is not None else None
        if group is None or group.template is None:
            continue
        if now_seconds - node.value.created_seconds < group.max_node_startup_time_seconds:
            cluster.finish_start(node, group.template, group.startup_taints)


def _impact(world: World, plan: Plan, cluster: SimulatedCluster) -> Impact:
    """Read from what happened; a pod that was made in the place of another counts under the name of the first one."""
    first: dict[str, str] = {}
    evicted: list[str] = []
    joined: dict[str, int] = {}
    group_of = {line.target: line.name for line in plan.groups}
    for event in cluster.journal.events:
        if event.kind is Happened.POD_CREATED and event.detail:
            first[event.object] = first.get(event.detail, event.detail)
        elif event.kind is Happened.POD_EVICTED:
            evicted.append(first.get(event.object, event.object))
        elif event.kind is Happened.NODE_JOINED and event.target in group_of:
            joined[group_of[event.target]] = joined.get(group_of[event.target], 0) + 1
    return Impact(
        evicted_now=evicted_now(world, plan),
        evicted_settled=tuple(sorted(evicted)),
        nodes_gone=tuple(sorted(node.name for node in world.nodes if node.name not in cluster.objects.nodes)),
        nodes_joined=dict(sorted(joined.items())),
        waiting=tuple(sorted(first.get(pod.key, pod.key) for pod in cluster.objects.pending())),
    )


def _filled(plan: Plan, cluster: SimulatedCluster, loops: int, work: Work) -> Plan:
    replicas = {str(facts.ref): facts.replicas for facts in cluster.objects.targets.values()}
    groups = tuple(
        msgspec.structs.replace(line, settled=line.current if replicas.get(line.target) is None else replicas[line.target])
        for line in plan.groups
    )
    cost = msgspec.structs.replace(plan.cost, settled_per_hour=_price(groups))
    problems = plan.problems
    if work.exhausted:
        message = f"the settled columns end after {loops} of the plans that lead there: {work.budget} steps ran out"
        problems = tuple(sorted({*problems, PlanProblem(code="SettlingCutShort", message=message)}))
    return with_digest(msgspec.structs.replace(plan, groups=groups, cost=cost, settled_loops=loops, problems=problems))


def _price(groups: tuple[GroupLine, ...]) -> str | None:
    priced = [Decimal(line.price_per_hour) * (line.settled or 0) for line in groups if line.price_per_hour is not None]
    if not priced:
        return None
    whole, _, digits = f"{sum(priced, Decimal(0)):f}".partition(".")
    return f"{whole}.{digits.rstrip('0').ljust(2, '0')}"
