"""Pods that their controller is about to delete, because it has more of them than replicas.

SOURCE: the ReplicaSet controller (`getPodsToDelete`, `ActivePodsWithRanks`). Pods without a node are the first to go. So of the
pending pods of a ReplicaSet or ReplicationController, as many count as its other pods leave room for. A StatefulSet deletes by
ordinal, so that nothing follows from the numbers unless it has no replicas at all.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from reconciler.cluster.world import World
from reconciler.decisions.reasons.pods import AboveReplicas
from reconciler.plan.reason import Reason

_BY_RANK = ("ReplicaSet", "ReplicationController")
_BY_ORDINAL = "StatefulSet"


def surplus(world: World, pending: Collection[int]) -> Mapping[int, Reason]:
    """Those of `pending` (rows of pods) that are about to be deleted, the youngest of each controller, and why."""
    pods, traits = world.pods, world.pod_traits
    replicas = {
        (one.api_group, one.kind, one.namespace, one.name): one.replicas
        for one in world.controllers
        if one.replicas is not None and (one.kind in _BY_RANK or (one.kind == _BY_ORDINAL and not one.replicas))
    }
    keys = {}
    for number in {pods.traits[row] for row in pending} if replicas else ():
        owner = traits[number].controller
        if owner is not None and (key := (owner.api_group, owner.kind, traits[number].namespace, owner.name)) in replicas:
            keys[number] = key
    if not keys:
        return {}
    asked = frozenset(keys.values())
    for number, one in enumerate(traits):
        owner = one.controller
        if owner is not None and (key := (owner.api_group, owner.kind, one.namespace, owner.name)) in asked:
            keys[number] = key
    active = Counter(
        keys[number]
        for row, number in enumerate(pods.traits)
        if number in keys and not pods.deletion_seconds[row] and not pods.finished(row)
    )
    left = {key: active[key] - (replicas[key] or 0) for key in asked}
    found = {}
    for row in sorted(pending, key=lambda row: (-pods.created_seconds[row], -row)):
        of_pod = keys.get(pods.traits[row])
        if of_pod is not None and left[of_pod] > 0:
            left[of_pod] -= 1
            controller = f"{of_pod[1]} {of_pod[2]}/{of_pod[3]}"
            because = AboveReplicas(controller=controller, replicas=replicas[of_pod] or 0, pods=active[of_pod])
            found[row] = because.reason()
    return found
