"""From decision to decision by what each foresees, as far as that tells everything."""

from collections import Counter
from collections.abc import Callable

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide_ahead
from reconciler.decisions.outcome.foreseen import Foreseen
from reconciler.decisions.removal.disruption import DisruptionLedger
from reconciler.decisions.work import Work
from reconciler.policy.documents import NodeGroupPolicy, PolicySet
from reconciler.simulation.ahead.step import is_plain, step
from reconciler.simulation.execution import BudgetKey, one_by_one
from reconciler.simulation.standing import MAX_LOOPS, STEP_SECONDS, Standing
from reconciler.simulation.timers import next_timer_seconds


def follow(at: Standing, foreseen: Foreseen | None, policy: PolicySet, work: Work, work_budget: int) -> Standing:
    """Carry out what the last decision foresees, decide anew, and so on until nothing is foreseen and no timer runs (then it
    `rests`), something else happens, or `work` runs out. After a step time goes on to where no timer runs that it started."""
    if not is_plain(at.world):
        return at
    while foreseen is not None and at.loops < MAX_LOOPS:
        then, due = _next(at, foreseen, policy.policy)
        if then is None or _gives_way(then.world):
            return at
        if due is None:
            return _told(at, rests=True)
        if not work.spend(len(then.world.nodes) + len(then.world.pods)):
            break
        one = Work(min(work_budget, work.budget - work.spent))
        decision = decide_ahead(one_by_one(then.world, _budgets_of(then.world)), policy, then.memory, due, one)
        foreseen = decision.foreseen
        at = msgspec.structs.replace(then, memory=decision.memory, now_seconds=due, plan=decision.plan, loops=at.loops + 1)
        if not work.spend(one.spent) or one.exhausted:
            work.spend(work.budget)
            break
    return _told(at)


def _told(at: Standing, *, rests: bool = False) -> Standing:
    pods = at.world.pods
    waiting = map(pods.key, pods.pending()) if pods.node.count(-1) else ()
    return msgspec.structs.replace(at, rests=rests, waiting=tuple(waiting))


def _next(at: Standing, foreseen: Foreseen, policy: NodeGroupPolicy) -> tuple[Standing | None, int | None]:
    """Where the next decision begins, and when; None in place of either: a step cannot be taken, and there is nothing to wait
    for."""
    if not foreseen.groups and not foreseen.placed:
        timer = next_timer_seconds(at.plan, at.memory, policy, at.now_seconds)
        # The very first plan was made under bounds that are lifted from here on.
        return at, at.now_seconds + STEP_SECONDS if timer is None and at.loops == 1 else timer
    instant = max(at.now_seconds, foreseen.last_seconds)
    taken = step(at.world, foreseen, at.memory, instant)
    if taken is None:
        return None, None
    memory, pace = taken.memory, policy.pace
    ends = (
        memory.last_added_seconds and memory.last_added_seconds + pace.delay_after_add_seconds,
        memory.last_removed_seconds and memory.last_removed_seconds + pace.delay_after_delete_seconds,
    )
    after = msgspec.structs.replace(
        at,
        world=taken.world,
        memory=memory,
        evicted=(*at.evicted, *taken.evicted),
        joined=Counter(at.joined) + Counter(taken.joined),
    )
    return after, max(instant + STEP_SECONDS, *ends)


def _gives_way(world: World) -> bool:
    """Whether a pod that waits is above one that runs, so that kube-scheduler may preempt."""
    if not world.pods.node.count(-1):
        return False
    waiting = {world.pods.shape[row] for row in world.pods.pending()}
    priorities = [shape.priority for shape in world.pod_shapes]
    lowest = min(priorities[shape] for shape in set(world.pods.shape))
    return any(priorities[shape] > lowest for shape in waiting)


def _budgets_of(world: World) -> Callable[[int], list[BudgetKey]]:
    ledger = DisruptionLedger(world)
    return lambda shape: [(world.budgets[index].namespace, world.budgets[index].name) for index in ledger.budgets_of(shape)]
