"""The settled column: where the loop would come to rest if demand stayed as it is and nothing took time."""

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, Decision, decide_ahead
from reconciler.decisions.memory import Memory
from reconciler.decisions.reasons.sizes import Headroom
from reconciler.decisions.work import Work
from reconciler.plan.comparison import Impact, evicted_now
from reconciler.plan.digest import with_digest
from reconciler.plan.plan import ActionKind, GroupLine, Plan, PlanProblem, PodOutcome
from reconciler.policy.documents import Budget, NodeGroupPolicy, PolicySet
from reconciler.policy.group_namespaces import Pace
from reconciler.simulation.ahead.course import follow
from reconciler.simulation.play import play
from reconciler.simulation.standing import MAX_LOOPS, Standing
from reconciler.values.instant import parse_instant
from reconciler.values.money import parse_money, price_text

DECISIONS_WORTH = 10
MOST_PLAYED = 10_000
"""Pods. Playing so many takes about a second. Measured on clusters of 300 to 500 nodes, the two ways end a few nodes in a hundred
apart; on small ones with many rules, where kube-scheduler's choices count for more, by up to a third."""
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
    world: World,
    policy: PolicySet,
    memory: Memory,
    now_seconds: int,
    plan: Plan,
    work_budget: int = DEFAULT_WORK_BUDGET,
    decision: Decision | None = None,
) -> Rest:
    """`plan` with `settled` of every group, `settled_per_hour` and `settled_loops` (and the digest of that) filled in.

    `memory` is what `decide` was given or what it returned beside `plan`; what the plan itself says of timers counts. `decision`
    is what `decide_ahead` returned with the plan; without it the plan is made once more.

    A cluster of at most `MOST_PLAYED` pods is played on an embedded one (see `play`). In a larger one what a decision foresees
    comes true, the next decision is made of that, and so on (see `follow`): pods go where the decision found room for them, all
    at once, where kube-scheduler may choose other nodes. As soon as a decision foresees more than that nodes join and leave and
    that pods move, the rest is played there, too.

    How many nodes may leave or join at the same time says nothing about where it ends when leaving takes no time; such
    bounds are lifted, except those of zero, and nodes that share a disruption budget leave in one plan, one after the
    other. `mode: Observe` is ignored: this shows what would come. Groups that are held stay as they are.

    Each decision has `work_budget` steps and all of them together ten times as many; nodes and pods that are simulated count,
    too. Where these run out it ends there, and the plan says so.
    """
    hasty = msgspec.structs.replace(policy, policy=_unpaced(policy.policy))
    work = Work(DECISIONS_WORTH * work_budget)
    if decision is None and (len(world.pods) > MOST_PLAYED or not _knows_purchase(memory, plan, now_seconds)):
        decision = decide_ahead(world, policy, memory, now_seconds, Work(work_budget))
    known = memory if decision is None else decision.memory
    at = Standing(world=world, memory=_with_timers(known, plan), now_seconds=now_seconds, plan=plan)
    if decision is not None and len(world.pods) > MOST_PLAYED:
        at = follow(at, decision.foreseen, hasty, work, work_budget)
    if not at.rests and not work.exhausted and at.loops < MAX_LOOPS:
        at = play(at, hasty, work, work_budget)
    return Rest(_filled(plan, at, work), _impact(world, plan, at), at.world)


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
    )


def _filled(plan: Plan, at: Standing, work: Work) -> Plan:
    replicas = {str(facts.ref): facts.replicas for facts in at.world.targets}
    groups = tuple(
        msgspec.structs.replace(line, settled=line.current if replicas.get(line.target) is None else replicas[line.target])
        for line in plan.groups
    )
    cost = msgspec.structs.replace(plan.cost, settled_per_hour=_price(groups))
    problems = plan.problems
    if work.exhausted:
        message = f"the settled columns end after {at.loops} of the plans that lead there: {work.budget} steps ran out"
        problems = tuple(sorted({*problems, PlanProblem(code="SettlingCutShort", message=message)}))
    return with_digest(msgspec.structs.replace(plan, groups=groups, cost=cost, settled_loops=at.loops, problems=problems))


def _price(groups: tuple[GroupLine, ...]) -> str | None:
    priced = [parse_money(line.price_per_hour) * (line.settled or 0) for line in groups if line.price_per_hour is not None]
    return price_text(sum(priced)) if priced else None
