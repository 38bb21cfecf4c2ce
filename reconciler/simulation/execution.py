"""Carries out a plan on a simulated cluster at once, judged on what is there now: for looking ahead, not for the loop."""

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.decisions.memory import Outcome
from reconciler.plan.one_write import OneWrite
from reconciler.plan.plan import Action, ActionKind, Bound, Plan
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.writes import SimulatedWrites, Written


def execute(plan: Plan, cluster: SimulatedCluster, writes: SimulatedWrites) -> tuple[Outcome, ...]:
    """Do the actions in order, whatever the policy's mode, except those that an iteration leaves to the next one. Returns the
    outcome of each, and of removals that ended since."""
    refs = {str(ref): ref for ref in cluster.objects.targets}
    outcomes, turn = list[Outcome](), OneWrite()
    for action in plan.actions:
        if turn.waits(action):
            continue
        written = _do(action, refs, cluster, writes)
        outcomes.append(_outcome(action, written, cluster.now_seconds))
        if not written.code:
            turn.done(action)
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
        return Written(code="NotFound", message=f"{action.target} does not exist")
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
            # Later plans drain the named nodes, once the new one is there.
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
