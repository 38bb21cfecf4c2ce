"""What DaemonSets put on nodes, with the requests that their pods really have."""

from collections.abc import Sequence
from itertools import compress

import msgspec

from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.snapshots.pod_rows import PodsRead
from reconciler.cluster.values.kept_objects import Key
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import DaemonPods

_MOST_KINDS = 32
"""Requests of one DaemonSet that are told apart, those of its newest pods first."""


def daemon_pods(names: Sequence[Key], pods: PodsRead) -> tuple[tuple[PodShape, ...], tuple[DaemonPods, ...]]:
    """All pod shapes, and the DaemonSets of these names, whose templates are `pods.template_shapes`.

    A template does not say what its pods request: limit ranges, runtime classes, webhooks and the VerticalPodAutoscaler write
    into them. The newest pod shows what they write now; without one the template counts, as admission makes it.
    """
    seen = _seen(pods)
    shapes = list(pods.shapes)
    numbers: dict[PodShape, int] = {}
    daemons = []
    for (namespace, name), template in zip(names, pods.template_shapes, strict=True):
        observed = seen.get((namespace, name), {})
        made = [template]
        for requests in sorted(observed, key=lambda one: observed[one], reverse=True)[:_MOST_KINDS]:
            shape = msgspec.structs.replace(shapes[template], requests=requests)
            number = template if shape == shapes[template] else numbers.setdefault(shape, len(shapes))
            if number == len(shapes):
                shapes.append(shape)
            made.append(number)
        first, *others = dict.fromkeys(made[1:] or made)
        daemons.append(DaemonPods(namespace=namespace, name=name, shape=first, others=tuple(others)))
    return tuple(shapes), tuple(daemons)


def _seen(pods: PodsRead) -> dict[Key, dict[Resources, tuple[int, str]]]:
    """By DaemonSet the requests of its pods, with when and as what the newest of them was made."""
    owners = {
        number: traits.controller.name
        for number, traits in enumerate(pods.traits)
        if traits.controller is not None and traits.controller.kind == "DaemonSet"
    }
    by_daemon_set: dict[Key, dict[Resources, tuple[int, str]]] = {}
    if not owners:
        return by_daemon_set
    table = pods.table
    marked = bytes(number in owners for number in range(len(pods.traits)))
    for row in compress(range(len(table)), map(marked.__getitem__, table.traits)):
        if table.node[row] < 0 or table.deletion_seconds[row] or table.finished(row):
            continue
        of_set = by_daemon_set.setdefault((table.namespace[row], owners[table.traits[row]]), {})
        requests, made = pods.shapes[table.shape[row]].requests, (table.created_seconds[row], table.name[row])
        of_set[requests] = max(made, of_set.get(requests, made))
    return by_daemon_set
