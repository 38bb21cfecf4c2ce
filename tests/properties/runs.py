"""Acting on plans until nothing is left to do, with demand unchanged."""

from functools import cache

import msgspec

from reconciler.decisions.decide import decide, settle
from reconciler.decisions.memory import Memory, Outcome
from reconciler.plan.plan import Plan
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import AT_ONCE, NO_DELAY
from reconciler.simulation.embedded.rules import RuleBook, Violation
from reconciler.simulation.embedded.writes import SimulatedWrites
from reconciler.simulation.execution import execute
from reconciler.simulation.timers import next_timer_seconds
from tests.properties.random_clusters import RandomCluster, random_cluster

EMPTY_PLANS = 60
MAX_PLANS = 30


class Converged(msgspec.Struct, frozen=True):
    """The non-empty plans in order, how many empty ones followed the last, what was broken, what was refused."""

    cluster: RandomCluster
    plans: tuple[Plan, ...]
    empty: int
    violations: tuple[Violation, ...]
    refused: tuple[Outcome, ...]


@cache
def converge(seed: int, *, headroom: bool = False, expendable: bool = False, protected: bool = True) -> Converged:
    """Decide, act at once, decide again; after an empty plan time jumps past the next timer, or ten minutes."""
    start = random_cluster(seed, headroom=headroom, expendable=expendable, protected=protected)
    now = start.world.captured_seconds
    cluster = SimulatedCluster(start.world, start.policy, now, durations=NO_DELAY, otherwise=AT_ONCE)
    writes, book, memory = SimulatedWrites(cluster), RuleBook(cluster), Memory()
    plans: list[Plan] = []
    violations: list[Violation] = []
    refused: list[Outcome] = []
    empty = 0
    while empty < EMPTY_PLANS and len(plans) < MAX_PLANS:
        plan, memory = decide(cluster.world(), start.policy, memory, cluster.now_seconds)
        if plan.actions:
            plans.append(plan)
            empty = 0
            outcomes = execute(plan, cluster, writes)
            refused.extend(outcome for outcome in outcomes if not outcome.done)
            memory = settle(memory, outcomes)
            due = cluster.now_seconds + 10
        else:
            empty += 1
            timer = next_timer_seconds(plan, memory, start.policy.policy, cluster.now_seconds)
            due = cluster.now_seconds + 600 if timer is None else timer
        violations.extend(book.check(start.policy, plan))
        cluster.advance_to(due)
    return Converged(start, tuple(plans), empty, tuple(violations), tuple(refused))
