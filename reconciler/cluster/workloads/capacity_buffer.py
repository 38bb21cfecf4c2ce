"""CapacityBuffers: room for pods that are not there yet, which users ask for as objects.

SOURCE: `autoscaling.x-k8s.io` v1beta1 of the Cluster Autoscaler (`types.go`), which v1alpha1 agrees with. A buffer asks for the
larger of `replicas` and `percentage` of the replicas of its scalable object, rounded up. `limits` cap the sum of the requests.
Alone, `limits` ask for as many pods as they allow.
"""

import msgspec

from reconciler.cluster.values.instant import unix_seconds_or_zero
from reconciler.cluster.values.object_parts import DECODING_ERRORS, RawPart, finding
from reconciler.cluster.values.quantity import milli, whole
from reconciler.cluster.values.resources import CPU
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire import capacity_buffer as wire
from reconciler.cluster.wire.meta import EMPTY
from reconciler.cluster.wire.pod import Amounts
from reconciler.values.decoding import decode

BUFFER = "CapacityBuffer"
ACTIVE = "buffer.x-k8s.io/active-capacity"
"""The only strategy of the API: nodes are added so that the pods would run at once."""
SCALABLE = {
    ("apps", "Deployment"): ("apps", "Deployment"),
    ("apps", "ReplicaSet"): ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"): ("apps", "StatefulSet"),
    ("batch", "Job"): ("batch", "Job"),
    ("", "ReplicationController"): ("", "ReplicationController"),
    ("core", "ReplicationController"): ("", "ReplicationController"),
}
"""Objects whose pod template is read, by what a buffer may call them."""

_fields = RawPart(wire.StatusFieldSet, "metadata.managedFields[].fieldsV1")


class CapacityBuffer(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A buffer as it is written. `limits` are amounts by resource: cpu in milli, the rest in whole units. `writers` are the
    managers that write its status, sorted. `problem` is why it cannot be understood (empty: it can)."""

    namespace: str
    name: str
    uid: str = ""
    generation: int = 0
    created_seconds: int = 0
    strategy: str = ACTIVE
    template: str = ""
    scalable: tuple[str, str, str] | None = None
    replicas: int | None = None
    percentage: int | None = None
    limits: tuple[tuple[str, int], ...] = ()
    writers: tuple[str, ...] = ()
    problem: str = ""


def capacity_buffer(item: wire.CapacityBuffer) -> CapacityBuffer:
    """One buffer. Raises `UnreadableError` only for its metadata: a buffer that nobody can read must not stop everything."""
    head = item.metadata
    read = CapacityBuffer(
        namespace=head.namespace,
        name=head.name,
        uid=head.uid,
        generation=head.generation,
        created_seconds=unix_seconds_or_zero(head.creation_timestamp),
        writers=status_writers(head),
    )
    try:
        spec = decode(item.spec, wire.BufferSpec)
        limits = _amounts(spec.limits or {})
    except DECODING_ERRORS as error:
        return msgspec.structs.replace(read, problem=finding(error))
    except UnreadableError as error:
        return msgspec.structs.replace(read, problem=str(error))
    scalable = spec.scalable_ref
    return msgspec.structs.replace(
        read,
        strategy=spec.provisioning_strategy or ACTIVE,
        template=spec.pod_template_ref.name if spec.pod_template_ref else "",
        scalable=(scalable.api_group, scalable.kind, scalable.name) if scalable else None,
        replicas=spec.replicas,
        percentage=spec.percentage,
        limits=limits,
    )


def status_writers(head: wire.AnsweredMeta) -> tuple[str, ...]:
    """The managers that write the status of an object that is answered there, sorted."""
    return tuple(sorted({entry.manager for entry in head.managed_fields or () if _writes_status(entry)}))


def _writes_status(entry: wire.AnsweringManager) -> bool:
    """Whether the manager writes the conditions or the replicas of the status. One whose fields cannot be read may."""
    if entry.subresource != "status":
        return False
    try:
        fields = _fields.read(entry.fields_v1)
    except UnreadableError:
        return True
    status = fields.status if fields is not None else None
    return status is not None and (status.conditions != EMPTY or status.replicas != EMPTY)


def _amounts(limits: Amounts) -> tuple[tuple[str, int], ...]:
    amounts = []
    for name, amount in sorted(limits.items()):
        try:
            read = milli(str(amount)) if name == CPU else whole(str(amount))
        except UnreadableError as error:
            raise UnreadableError(f"spec.limits.{name}: {error}") from None
        if read < 0:
            raise UnreadableError(f"spec.limits.{name} is below zero")
        amounts.append((name, read))
    return tuple(amounts)
