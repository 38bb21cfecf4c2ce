"""A World in which nodes that share a disruption budget leave one after the other."""

import msgspec

from reconciler.cluster.world import World

_ANY_NUMBER = 1_000_000


def one_by_one(world: World) -> World:
    """Disruption budgets that allow anything allow any number.

    A budget that lets one pod go at a time lets ten go one after the other, on one node or on ten. Evicted pods become healthy in
    between. Judged all at once, they would take ten plans.
    """
    return msgspec.structs.replace(
        world,
        budgets=tuple(
            msgspec.structs.replace(budget, disruptions_allowed=_ANY_NUMBER)
            if budget.observed and budget.disruptions_allowed
            else budget
            for budget in world.budgets
        ),
    )
