"""ProvisioningRequests: pods that somebody is about to create, and wants room for all of them at once.

SOURCE: `autoscaling.x-k8s.io` v1 of the Cluster Autoscaler (`types.go`), which v1beta1 agrees with, and its two classes.
check-capacity asks whether the pods fit on what is there. best-effort-atomic-scale-up lets nodes be added for them.
"""

from enum import StrEnum

import msgspec

from reconciler.cluster.values.instant import unix_seconds_or_zero
from reconciler.cluster.values.object_parts import DECODING_ERRORS, RawPart, finding
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire import provisioning_request as wire
from reconciler.cluster.workloads.capacity_buffer import status_writers
from reconciler.cluster.workloads.pod_quota import MOST_PODS
from reconciler.values.decoding import decode
from reconciler.values.duration import DurationError, parse_duration
from reconciler.values.whole_number import whole_number

REQUEST = "ProvisioningRequest"
VALID_SECONDS = 7 * 24 * 3600
"""SOURCE: the Cluster Autoscaler gives up a request of this age. Here, the parameter ValidUntilSeconds may say less or more."""

_CHECKS = "check-capacity"
_GROWS = "best-effort-atomic-scale-up"
_OURS, _UPSTREAM = "reconciler.dev", "autoscaling.x-k8s.io"
CLASSES = {f"{name}.{domain}": name == _GROWS for name in (_CHECKS, _GROWS) for domain in (_UPSTREAM, _OURS)}
"""Classes that are answered, and whether nodes are added for them. Those of our own name are answered by nobody else."""
_VALID, _NO_RETRY = "ValidUntilSeconds", "noRetry"


class ConditionType(StrEnum):
    """SOURCE: the conditions of the API."""

    ACCEPTED = "Accepted"
    PROVISIONED = "Provisioned"
    FAILED = "Failed"
    EXPIRED = "BookingExpired"
    REVOKED = "CapacityRevoked"


_OVER = (ConditionType.FAILED, ConditionType.EXPIRED, ConditionType.REVOKED)
"""With one of these conditions, a request wants nothing any more."""


class ProvisioningRequest(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A request as it is written. `pod_sets` are names of PodTemplates and numbers of pods. `provisioned_seconds` is since when
    the condition Provisioned is True (None: it is not). `writers` are the managers that write its status, sorted. `problem` is
    why it cannot be understood (empty: it can)."""

    namespace: str
    name: str
    uid: str = ""
    generation: int = 0
    created_seconds: int = 0
    class_name: str = ""
    pod_sets: tuple[tuple[str, int], ...] = ()
    valid_seconds: int = VALID_SECONDS
    retries: bool = True
    over: bool = False
    provisioned_seconds: int | None = None
    writers: tuple[str, ...] = ()
    problem: str = ""


_class = RawPart(wire.RequestClass, "spec")
_status = RawPart(wire.RequestStatus, "status")


def provisioning_request(item: wire.ProvisioningRequest) -> ProvisioningRequest:
    """One request. Raises `UnreadableError` only for its metadata: one that nobody can read must not stop everything."""
    head = item.metadata
    read = ProvisioningRequest(
        namespace=head.namespace,
        name=head.name,
        uid=head.uid,
        generation=head.generation,
        created_seconds=unix_seconds_or_zero(head.creation_timestamp),
        writers=status_writers(head),
    )
    try:
        named = _class.read(item.spec)
        read = msgspec.structs.replace(read, class_name=named.provisioning_class_name if named is not None else "")
        read = _with_status(read, _status.read(item.status) or wire.RequestStatus())
        # What another class asks for is not ours to understand.
        return _with_spec(read, decode(item.spec, wire.RequestSpec)) if read.class_name in CLASSES else read
    except DECODING_ERRORS as error:
        return msgspec.structs.replace(read, problem=f"spec: {finding(error)}")
    except UnreadableError as error:
        return msgspec.structs.replace(read, problem=str(error))


def _with_status(read: ProvisioningRequest, status: wire.RequestStatus) -> ProvisioningRequest:
    since = {one.type: one.last_transition_time for one in status.conditions or () if one.status == "True"}
    provisioned = ConditionType.PROVISIONED in since
    return msgspec.structs.replace(
        read,
        over=any(one in since for one in _OVER),
        provisioned_seconds=unix_seconds_or_zero(since[ConditionType.PROVISIONED]) if provisioned else None,
    )


def _with_spec(read: ProvisioningRequest, spec: wire.RequestSpec) -> ProvisioningRequest:
    sets = tuple((one.pod_template_ref.name, one.count) for one in spec.pod_sets)
    if not sets or any(count < 1 for _, count in sets):
        raise UnreadableError("spec.podSets must have a set, and each at least one pod")
    if (pods := sum(count for _, count in sets)) > MOST_PODS:
        raise UnreadableError(f"it asks for {pods} pods, and the most is {MOST_PODS}")
    parameters = spec.parameters or {}
    return msgspec.structs.replace(
        read,
        pod_sets=sets,
        valid_seconds=_valid(parameters[_VALID]) if _VALID in parameters else VALID_SECONDS,
        retries=parameters.get(_NO_RETRY) != "true",
    )


def _valid(text: str) -> int:
    """SOURCE: the API says `a string denoting duration` of a parameter whose name says seconds: both are read."""
    try:
        seconds = whole_number(text)
        return parse_duration(text) if seconds is None else seconds
    except DurationError as error:
        raise UnreadableError(f"spec.parameters.{_VALID}: {error}") from None
