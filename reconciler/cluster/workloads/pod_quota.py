"""How many pods that are not there yet objects may ask room for: what the quotas of their namespace leave, and bounds of our own.

One object of a tenant stands for thousands of pods, and nodes are added for them. So such pods count like pods of their
namespace.
"""

from collections.abc import Mapping

import msgspec

from reconciler.cluster.values.quantity import milli, whole
from reconciler.cluster.values.resources import CPU, PODS, Resources
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire import capacity_buffer as wire
from reconciler.cluster.wire.pod import Amounts

MOST_PODS = 10_000
"""Room for more pods than that is kept neither for one object nor for all objects of one kind in a namespace."""
MOST_PODS_OF_CLUSTER = 30_000
"""The same for all objects of one kind in the cluster."""


def shares(asked: Mapping[str, int]) -> dict[str, int]:
    """How many pods each namespace may ask room for. If all ask for too many, those that ask for little get it, and the others
    share the rest equally."""
    left, given = MOST_PODS_OF_CLUSTER, dict[str, int]()
    ordered = sorted(asked, key=lambda namespace: (asked[namespace], namespace))
    for number, namespace in enumerate(ordered):
        given[namespace] = min(asked[namespace], MOST_PODS, left // (len(ordered) - number))
        left -= given[namespace]
    return given


def pods_within(limits: tuple[tuple[str, int], ...], requests: Resources) -> int | None:
    """How many pods with these requests the limits allow; None if they limit nothing that such a pod requests."""
    rooms = [most // asked for name, most in limits if (asked := requests.get(name)) > 0]
    return min(rooms, default=None)


# SOURCE: the resource names that kube-controller-manager and the quota admission plugin of Kubernetes 1.36 count for pods.
QUOTA_REQUESTS = "requests."
_COUNTED = {name: name for name in (CPU, "memory", "ephemeral-storage", PODS)} | {"count/pods": PODS}


class ResourceQuota(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """What a quota still leaves of the requests of pods and of their number: cpu in milli, the rest in whole units, never below
    zero. `scopes` are (name, operator, values). `problem` is why that cannot be told (empty: it can)."""

    namespace: str
    name: str
    left: tuple[tuple[str, int], ...] = ()
    scopes: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    problem: str = ""


def resource_quota(item: wire.ResourceQuota) -> ResourceQuota:
    """One quota. It never raises: room must not be kept past a quota because nobody can read it."""
    namespace, name, spec = item.metadata.namespace, item.metadata.name, item.spec
    scopes: list[tuple[str, str, tuple[str, ...]]] = [(scope, "Exists", ()) for scope in spec.scopes or ()]
    selector = spec.scope_selector.match_expressions if spec.scope_selector else None
    scopes += [(one.scope_name, one.operator, tuple(sorted(one.values or ()))) for one in selector or ()]
    try:
        left = _left(spec.hard or {}, (item.status.used if item.status else None) or {})
    except UnreadableError as error:
        return ResourceQuota(namespace=namespace, name=name, problem=str(error))
    return ResourceQuota(namespace=namespace, name=name, left=left, scopes=tuple(sorted(scopes)))


def _left(hard: Amounts, used: Amounts) -> tuple[tuple[str, int], ...]:
    left: dict[str, int] = {}
    for key, most in hard.items():
        name = _COUNTED.get(key) or (key.removeprefix(QUOTA_REQUESTS) if key.startswith(QUOTA_REQUESTS) else "")
        if not name or name == "storage":
            continue
        unit = milli if name == CPU else whole
        rest = max(0, unit(str(most)) - unit(str(used.get(key, 0))))
        left[name] = min(rest, left.get(name, rest))
    return tuple(sorted(left.items()))


def counts_pods(quota: ResourceQuota, requests: Resources, class_name: str) -> bool:
    """Whether the quota counts pods with these requests. A scope that is not known here counts them.

    SOURCE: the scopes of ResourceQuotas in Kubernetes 1.36. As in the Cluster Autoscaler, pods of buffers do not terminate.
    """
    best_effort = not (requests.cpu_milli or requests.memory_bytes)
    for scope, operator, values in quota.scopes:
        if scope == "Terminating" or (scope == "BestEffort" and not best_effort) or (scope == "NotBestEffort" and best_effort):
            return False
        if scope == "PriorityClass" and not _of_class(operator, values, class_name):
            return False
    return True


def _of_class(operator: str, values: tuple[str, ...], name: str) -> bool:
    match operator:
        case "Exists":
            return bool(name)
        case "DoesNotExist":
            return not name
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case _:
            return True
