"""One decision with mixes for LeastCost, beside the same decision by LeastWaste, which asks no solver."""

from collections.abc import Callable, Iterator

import msgspec

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.policy.documents import Expander
from tests.benchmarks.measure import Case
from tests.builders import NOW
from tests.decisions.growth.cost.worlds import random_demand


def cases() -> Iterator[Case]:
    """From few pods in few shapes to many in many."""
    for pods, shapes in ((200, 10), (1_000, 30), (10_000, 50)):
        yield Case(f"decide by LeastWaste, {pods:,} pods, {shapes} shapes", _decision(pods, shapes, Expander.LEAST_WASTE))
        yield Case(f"decide by LeastCost, {pods:,} pods, {shapes} shapes", _decision(pods, shapes, Expander.LEAST_COST))


def _decision(pods: int, shapes: int, expander: Expander) -> Callable[[], object]:
    world, rules = random_demand(1, pods=pods, shapes=shapes)
    rules = msgspec.structs.replace(rules, policy=msgspec.structs.replace(rules.policy, expanders=(expander,)))
    return lambda: decide(world, rules, Memory(), NOW)
