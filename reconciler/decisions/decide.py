"""`decide` and `settle`: the only door to the decisions. Pure, total, deterministic.

CONTRACT (the body is being written; signatures and meanings are fixed):
"""

from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory, Outcome
from reconciler.plan.plan import Plan
from reconciler.policy.documents import PolicySet

DEFAULT_WORK_BUDGET = 50_000_000


def decide(
    world: World, policy: PolicySet, memory: Memory, now_seconds: int, work_budget: int = DEFAULT_WORK_BUDGET
) -> tuple[Plan, Memory]:
    """One decision at the instant `now_seconds` (Unix time): the plan (without `settled` columns) and what to remember."""
    raise NotImplementedError


def settle(memory: Memory, outcomes: tuple[Outcome, ...]) -> Memory:
    """What to remember once the actions of a plan were done or refused."""
    raise NotImplementedError
