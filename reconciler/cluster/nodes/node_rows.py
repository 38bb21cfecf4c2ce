"""Nodes as the API gives them: the shape that equal nodes share, and what is true of one alone."""

import msgspec

from reconciler.cluster.nodes.declared_features import declared
from reconciler.cluster.nodes.node import HOSTNAME_LABEL, Node, NodeCondition, NodeShape, Taint
from reconciler.cluster.values import quantity
from reconciler.cluster.values.instant import unix_seconds_or_zero
from reconciler.cluster.values.kubernetes_version import KubernetesVersion, kubernetes_version
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire import node as wire
from reconciler.cluster.wire.pod import KARPENTER_DO_NOT_DISRUPT, Amounts

_ATTACHABLE = "attachable-volumes-"
_READ_ANNOTATIONS = (
    "cluster-autoscaler.kubernetes.io/",
    "delay-deletion.cluster-autoscaler.kubernetes.io/",
    "reconciler.dev/",
    KARPENTER_DO_NOT_DISRUPT,
)


class NodeRead(msgspec.Struct, frozen=True, order=True):
    """A node whose shape has no number yet, sentences about amounts that were cut to 64 bits, its kubelet's version."""

    node: Node
    shape: NodeShape
    problems: tuple[str, ...] = ()
    kubelet: KubernetesVersion | None = None


_WELL = frozenset(
    {
        ("Ready", "True"),
        *((name, "False") for name in ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")),
    }
)


def read_node(item: wire.Node, annotations: tuple[str, ...]) -> NodeRead:
    """One node, with those of its annotations that begin so, besides the ones that are always read. Raises `UnreadableError`."""
    meta, spec, status = item.metadata, item.spec, item.status
    capacity, _, problems = _amounts(status.capacity, "status.capacity")
    # The API server fills in allocatable when only capacity was registered.
    allocatable, attachable, more = _amounts(status.allocatable or status.capacity, "status.allocatable")
    labels = dict(meta.labels or {})
    hostname = labels.get(HOSTNAME_LABEL, "")
    if hostname == meta.name:
        del labels[HOSTNAME_LABEL]
    created = unix_seconds_or_zero(meta.creation_timestamp)
    ready = next((condition for condition in status.conditions or () if condition.type == "Ready"), None)
    shape = NodeShape(
        labels=tuple(sorted(labels.items())),
        taints=taint_set(spec.taints),
        unschedulable=spec.unschedulable,
        capacity=capacity,
        allocatable=allocatable,
        declared_features=declared(status.declared_features or ()),
        without_hostname=HOSTNAME_LABEL not in (meta.labels or {}),
    )
    conditions = sorted(
        NodeCondition(one.type, one.status, unix_seconds_or_zero(one.last_transition_time) or created)
        for one in status.conditions or ()
        if (one.type, one.status) not in _WELL
    )
    prefixes = (*_READ_ANNOTATIONS, *annotations)
    node = Node(
        name=meta.name,
        uid=meta.uid,
        shape=-1,
        provider_id=spec.provider_id,
        hostname="" if hostname == meta.name else hostname,
        created_seconds=created,
        ready=ready is not None and ready.status == "True",
        ready_seconds=unix_seconds_or_zero(ready.last_transition_time if ready else None) or created,
        deleting=meta.deletion_timestamp is not None,
        annotations=tuple(sorted(pair for pair in (meta.annotations or {}).items() if pair[0].startswith(prefixes))),
        attachable_limits=attachable,
        empty_resources=_empty(status.allocatable or status.capacity),
        conditions=tuple(conditions),
    )
    kubelet = kubernetes_version(status.node_info.kubelet_version) if status.node_info else None
    return NodeRead(node, shape, tuple(dict.fromkeys((*problems, *more))), kubelet)


def taint_set(taints: list[wire.NodeTaint] | None) -> tuple[Taint, ...]:
    """Taints sorted, each once."""
    return tuple(sorted({Taint(item.key, item.value or "", item.effect) for item in taints or ()}))


def _empty(amounts: Amounts | None) -> tuple[str, ...]:
    return tuple(sorted(name for name, amount in (amounts or {}).items() if "/" in name and str(amount) == "0"))


def _amounts(amounts: Amounts | None, path: str) -> tuple[Resources, tuple[tuple[str, int], ...], tuple[str, ...]]:
    """A vector without the limits of attachable volumes, those limits, and what was cut."""
    try:
        read = quantity.vector(quantity.nanos(amounts))
    except UnreadableError as error:
        raise error.at(path) from None
    limits = tuple(pair for pair in read.resources.extended if pair[0].startswith(_ATTACHABLE))
    if not limits:
        return read.resources, (), read.problems
    rest = tuple(pair for pair in read.resources.extended if not pair[0].startswith(_ATTACHABLE))
    return msgspec.structs.replace(read.resources, extended=rest), limits, read.problems
