"""Pods that their controller is about to delete, because it has more of them than replicas.

SOURCE: the ReplicaSet controller (`getPodsToDelete`, `ActivePodsWithRanks`). Pods without a node are the first to go. So of the
pending pods of a ReplicaSet or ReplicationController, as many count as its other pods leave room for. A StatefulSet deletes by
ordinal, so that nothing follows from the numbers unless it has no replicas at all.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping

from reconciler.cluster.world import World
from reconciler.decisions.reasons.pods import AboveReplicas
from reconciler.plan.reason import Reason
from reconciler.scheduling.kernels import loops

_BY_RANK = ("ReplicaSet", "ReplicationController")
_BY_ORDINAL = "StatefulSet"
_Key = tuple[str, str, str, str]
"""API group, kind, namespace and name of a controller."""


def surplus(world: World, pending: Iterable[int]) -> Mapping[int, Reason]:
    """Those of `pending` (rows of pods) that are about to be deleted, the youngest of each controller, and why."""
    pods, traits = world.pods, world.pod_traits
    replicas = {
        (one.api_group, one.kind, one.namespace, one.name): one.replicas
        for one in world.controllers
        if one.replicas is not None and (one.kind in _BY_RANK or (one.kind == _BY_ORDINAL and not one.replicas))
    }
    keys = {}
    for number, one in enumerate(traits) if replicas else ():
        owner = one.controller
        if owner is not None and (key := (owner.api_group, owner.kind, one.namespace, owner.name)) in replicas:
            keys[number] = key
    if not keys:
        return {}
    # Most controllers have no more pods than replicas, however their pods are doing: those are not looked at one by one.
    starts, order = array("i", bytes(4 * (len(traits) + 2))), array("i", bytes(4 * len(pods)))
    loops.by_node(pods.traits, starts, order)
    listed = Counter[_Key]()
    for number, key in keys.items():
        listed[key] += starts[number + 1] - starts[number]
    several = {number: key for number, key in keys.items() if listed[key] > (replicas[key] or 0)}
    active = Counter(
        key
        for number, key in several.items()
        for row in order[starts[number] : starts[number + 1]]
        if not pods.deletion_seconds[row] and not pods.finished(row)
    )
    left = {key: more for key, count in active.items() if (more := count - (replicas[key] or 0)) > 0}
    found: dict[int, Reason] = {}
    for row in sorted(pending, key=lambda row: (-pods.created_seconds[row], -row)) if left else ():
        of_pod = several.get(pods.traits[row])
        if of_pod is not None and left.get(of_pod, 0) > 0:
            left[of_pod] -= 1
            controller = f"{of_pod[1]} {of_pod[2]}/{of_pod[3]}"
            because = AboveReplicas(controller=controller, replicas=replicas[of_pod] or 0, pods=active[of_pod])
            found[row] = because.reason()
    return found
