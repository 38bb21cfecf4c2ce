"""CapacityQuotas: bounds on the capacity of nodes that another autoscaler's users state as objects.

SOURCE: `autoscaling.x-k8s.io` v1alpha1 and v1beta1 of the Cluster Autoscaler. Limits are whole numbers of `nodes`, `cpu` (cores),
`memory` (bytes) or another resource, summed over the capacity of the selected nodes. No selector means all nodes.
"""

import msgspec

from reconciler.cluster.values.object_parts import DECODING_ERRORS, finding
from reconciler.cluster.values.quantity import milli, whole
from reconciler.cluster.values.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from reconciler.cluster.values.selection import label_selector
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire import capacity_quota as wire
from reconciler.cluster.wire.pod import Amounts
from reconciler.values.decoding import decode
from reconciler.values.label_selector import LabelSelector

_COUNTED = frozenset({"nodes", CPU, MEMORY, EPHEMERAL_STORAGE, PODS})


class CapacityQuota(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A quota over the nodes that `selector` selects. `max` are amounts by resource: cpu in milli, the rest in whole units.
    `problem` is why the quota cannot be understood (empty: it can); it has no amounts then."""

    name: str
    selector: LabelSelector = LabelSelector()
    max: tuple[tuple[str, int], ...] = ()
    problem: str = ""


def capacity_quota(item: wire.CapacityQuota) -> CapacityQuota:
    """One quota. It never raises: nodes must not be added past a quota because nobody can read it."""
    name = item.metadata.name
    try:
        spec = decode(item.spec, wire.QuotaSpec)
        selector = label_selector(spec.selector) or LabelSelector()
        return CapacityQuota(name=name, selector=selector, max=_amounts(spec.limits.resources))
    except DECODING_ERRORS as error:
        return CapacityQuota(name=name, problem=finding(error))
    except UnreadableError as error:
        return CapacityQuota(name=name, problem=str(error))


def _amounts(resources: Amounts) -> tuple[tuple[str, int], ...]:
    if not resources:
        raise UnreadableError("spec.limits.resources names no resource")
    amounts = []
    for name, amount in sorted(resources.items()):
        if name not in _COUNTED and "/" not in name:
            raise UnreadableError(f"spec.limits.resources names {name!r}, which no node has")
        try:
            read = milli(str(amount)) if name == CPU else whole(str(amount))
        except UnreadableError as error:
            raise UnreadableError(f"spec.limits.resources.{name}: {error}") from None
        if read < 0:
            raise UnreadableError(f"spec.limits.resources.{name} is below zero")
        amounts.append((name, read))
    return tuple(amounts)
