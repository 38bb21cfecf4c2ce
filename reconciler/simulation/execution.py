"""Carries out a plan on a simulated cluster at once, judged on what is there now: for looking ahead, not for the loop."""

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from reconciler.cluster.nodes.node import Node
from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.memory import Outcome
from reconciler.decisions.removal.candidates import SCALE_DOWN_DISABLED
from reconciler.plan.plan import Action, ActionKind, Bound, Plan
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.writes import SimulatedWrites, Written

# The World as a decision sees it when leaving takes no time: nodes that share a disruption budget go one after the other.

BudgetKey = tuple[str, str]
_ANY_NUMBER = 1_000_000


def one_by_one(world: World, budgets_of: Callable[[int], Iterable[BudgetKey]]) -> World:
    """Disruption budgets that allow anything allow any number, but not for one node.

    A budget that lets one pod go at a time lets ten nodes go one after the other, since evicted pods come back healthy
    in between; judged all at once they would take ten plans. A node that alone needs more evictions than a budget
    allows can never be drained; it is kept by the annotation that disables its removal, so that this stays so.
    `budgets_of` tells which budgets take pods of a shape, by namespace and name.
    """
    allowed = {
        (budget.namespace, budget.name): budget.disruptions_allowed
        for budget in world.budgets
        if budget.observed and budget.disruptions_allowed
    }
    if not allowed:
        return world
    needed: Counter[tuple[int, BudgetKey]] = Counter()
    pods = world.pods
    stays = [traits.daemonset or traits.mirror for traits in world.pod_traits]
    covering = {shape: budgets for shape in set(pods.shape) if (budgets := tuple(budgets_of(shape)))}
    for index in [index for index, shape in enumerate(pods.shape) if shape in covering]:
        node = pods.node[index]
        if node >= 0 and not stays[pods.traits[index]] and not pods.finished(index):
            for budget in covering[pods.shape[index]]:
                needed[node, budget] += 1
    kept = {node for (node, budget), count in needed.items() if count > allowed.get(budget, 0)}
    return msgspec.structs.replace(
        world,
        budgets=tuple(
            msgspec.structs.replace(budget, disruptions_allowed=_ANY_NUMBER)
            if (budget.namespace, budget.name) in allowed
            else budget
            for budget in world.budgets
        ),
        nodes=tuple(_kept(node) if index in kept else node for index, node in enumerate(world.nodes)),
    )


def _kept(node: Node) -> Node:
    annotations = {**dict(node.annotations), SCALE_DOWN_DISABLED: "true"}
    return msgspec.structs.replace(node, annotations=tuple(sorted(annotations.items())))


def execute(plan: Plan, cluster: SimulatedCluster, writes: SimulatedWrites) -> tuple[Outcome, ...]:
    """Do every action in order, whatever the policy's mode; what became of each, and of removals that ended since. As in the
    loop, what follows the write to a target in the same plan waits for the next one."""
    refs = {str(ref): ref for ref in cluster.objects.targets}
    outcomes: list[Outcome] = []
    written: set[str] = set()
    for action in plan.actions:
        if action.target in written:
            continue
        outcome = _outcome(action, _do(action, refs, cluster, writes), cluster.now_seconds)
        outcomes.append(outcome)
        if outcome.done and action.kind is not ActionKind.REMOVE_NODE:
            written.add(action.target)
    cluster.advance_to(cluster.now_seconds)
    groups = {line.target: line.name for line in plan.groups}
    outcomes.extend(
        Outcome(
            kind=ActionKind.REMOVE_NODE,
            group=groups.get(str(ended.target), ""),
            target=str(ended.target),
            to=ended.replicas,
            nodes=(ended.node,) if ended.code else (),
            done=not ended.code,
            code=ended.code,
            message=ended.message,
            at_seconds=cluster.now_seconds,
            generation=ended.generation,
        )
        for ended in writes.ended()
    )
    return tuple(outcomes)


def _do(action: Action, refs: dict[str, TargetRef], cluster: SimulatedCluster, writes: SimulatedWrites) -> Written:
    ref = refs.get(action.target)
    if ref is None:
        return Written(code="NotFound", message=f"{action.target} is not there")
    match action.kind:
        case ActionKind.RESIZE:
            return writes.resize(ref, action.to, _now(cluster.objects.targets[ref], action.bound))
        case ActionKind.ADOPT:
            return writes.adopt(ref, action.to, _now(cluster.objects.targets[ref], action.bound))
        case ActionKind.RELEASE:
            return writes.release(ref, _now(cluster.objects.targets[ref], action.bound))
        case ActionKind.CANCEL:
            return writes.cancel(ref, action.machines, action.to, _now(cluster.objects.targets[ref], action.bound))
        case ActionKind.REPLACE:
            # The nodes that it names are drained by later plans, when the new one is there.
            return writes.resize(ref, action.to, _now(cluster.objects.targets[ref], action.bound))
        case ActionKind.REMOVE_NODE:
            return _remove(action, ref, cluster, writes)


def _remove(action: Action, ref: TargetRef, cluster: SimulatedCluster, writes: SimulatedWrites) -> Written:
    done = Written()
    for name in action.nodes:
        node = cluster.objects.nodes.get(name)
        target = ref if node is None or node.target is None else node.target
        done = writes.remove_node(target, name, _now(cluster.objects.targets[target], action.bound))
        if done.code:
            return done
    return done


def _now(facts: TargetFacts, bound: Bound) -> Bound:
    return Bound(
        resource_version=facts.resource_version,
        replicas=facts.replicas or 0,
        owner_digest=bound.owner_digest,
        policy_digest=bound.policy_digest,
    )


def _outcome(action: Action, written: Written, now_seconds: int) -> Outcome:
    return Outcome(
        kind=action.kind,
        group=action.group,
        target=action.target,
        to=action.to,
        nodes=action.nodes,
        done=not written.code,
        code=written.code,
        message=written.message,
        at_seconds=now_seconds,
        generation=written.generation,
    )
