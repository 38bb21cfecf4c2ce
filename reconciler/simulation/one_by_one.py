"""The World as a decision sees it when leaving takes no time: nodes that share a disruption budget go one after the other."""

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from reconciler.cluster.nodes.node import Node
from reconciler.cluster.world import World
from reconciler.decisions.removal.candidates import SCALE_DOWN_DISABLED

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
