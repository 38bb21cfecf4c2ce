"""The World as a decision sees it when leaving takes no time: nodes that share a disruption budget go one after the other."""

from collections import Counter

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.candidates import SCALE_DOWN_DISABLED
from reconciler.decisions.disruption import DisruptionLedger

_ANY_NUMBER = 1_000_000


def one_by_one(world: World) -> World:
    """Disruption budgets that allow anything allow any number, but not for one node.

    A budget that lets one pod go at a time lets ten nodes go one after the other, since evicted pods come back healthy
    in between; judged all at once they would take ten plans. A node that alone needs more evictions than a budget
    allows can never be drained; it is kept by the annotation that disables its removal, so that this stays so.
    """
    ledger = DisruptionLedger(world)
    allowed = ledger.left
    if not any(allowed):
        return world
    needed: Counter[tuple[int, int]] = Counter()
    pods = world.pods
    stays = [traits.daemonset or traits.mirror for traits in world.pod_traits]
    for index, node in enumerate(pods.node):
        if node >= 0 and not stays[pods.traits[index]] and not pods.finished(index):
            for budget in ledger.budgets_of(pods.shape[index]):
                needed[node, budget] += 1
    kept = {node for (node, budget), count in needed.items() if count > allowed[budget]}
    return msgspec.structs.replace(
        world,
        budgets=tuple(
            msgspec.structs.replace(budget, disruptions_allowed=_ANY_NUMBER) if left else budget
            for budget, left in zip(world.budgets, allowed, strict=True)
        ),
        nodes=tuple(
            msgspec.structs.replace(
                node, annotations=tuple(sorted({**dict(node.annotations), SCALE_DOWN_DISABLED: "true"}.items()))
            )
            if index in kept
            else node
            for index, node in enumerate(world.nodes)
        ),
    )
