"""How the first nodes leave under the budgets and delays of a policy, which the steady state does not show."""

import msgspec

from reconciler.cluster.defects import judged
from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory
from reconciler.decisions.work import Work
from reconciler.plan.plan import ActionKind, Plan
from reconciler.policy.documents import PolicySet
from reconciler.simulation.settled import carried_out

MOST_PLANS = 3


class FirstRemovals(msgspec.Struct, frozen=True, kw_only=True):
    """`nodes` is how many leave with each of the first plans that remove any. The first of these is made `after_seconds` after
    the very first plan (None: no node leaves). `plans` were made to find out."""

    nodes: tuple[int, ...]
    after_seconds: int | None
    plans: int


def first_removals(
    world: World, policy: PolicySet, memory: Memory, now_seconds: int, plan: Plan, work_budget: int
) -> FirstRemovals:
    """Carries out `plan`, which is of `now_seconds` (Unix time) and came with `memory`, and those after it. All of them together
    have as much work as one plan."""
    return judged(world, lambda some: _observed(some, policy, memory, now_seconds, plan, work_budget))


def _observed(world: World, policy: PolicySet, memory: Memory, now_seconds: int, plan: Plan, work_budget: int) -> FirstRemovals:
    seen: list[tuple[int, int]] = []

    def enough(made: Plan, at_seconds: int) -> bool:
        leaving = sum(len(action.nodes) for action in made.actions if action.kind is ActionKind.REMOVE_NODE)
        if leaving:
            seen.append((leaving, at_seconds))
        return len(seen) == MOST_PLANS

    standing = carried_out(world, policy, memory, now_seconds, plan, Work(work_budget), work_budget, enough)
    return FirstRemovals(
        nodes=tuple(leaving for leaving, _ in seen),
        after_seconds=seen[0][1] - now_seconds if seen else None,
        plans=standing.plans,
    )
