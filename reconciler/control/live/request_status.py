"""The status of ProvisioningRequests that are answered here.

SOURCE: the conditions of `autoscaling.x-k8s.io` and the reasons that the Cluster Autoscaler gives. It sets Provisioned to True as
soon as it has asked for nodes. Here, Provisioned is True while all pods would run on nodes that are ready. CapacityRevoked is
never set, as there. Kueue stops the whole workload for it, also if its pods run. Provisioned being False says that room was lost.
"""

from collections.abc import Iterator

from reconciler.cluster.workloads.provisioning_request import CLASSES, ConditionType
from reconciler.cluster.world import RequestPods, World
from reconciler.control.live.answers import Answer
from reconciler.decisions.reasons.provisioning import BookingConsumed, RequestTooOld
from reconciler.kube.custom.status import Condition, Status
from reconciler.plan.plan import Plan, RequestLine, RequestState
from reconciler.values.clauses import clauses

_FOUND, _PROVISIONED, _NOT_FOUND = "CapacityIsFound", "CapacityIsProvisioned", "CapacityIsNotFound"
_REQUESTED = "CapacityIsRequested"
_EXPIRED, _CONSUMED, _TOO_OLD = "CapacityReservationTimeExpired", "CapacityBookingConsumed", "Expired"


def request_answers(plan: Plan, world: World) -> Iterator[Answer]:
    """To each ProvisioningRequest that the plan speaks of and whose class is answered here."""
    lines = {line.request: line for line in plan.request_lines}
    for one in world.provisioning_requests:
        line = lines.get(one.key)
        if line is not None and one.class_name in CLASSES:
            status = Status(observed_generation=one.generation, conditions=conditions_of(one, line))
            yield Answer(namespace=one.namespace, name=one.name, uid=one.uid, writers=one.writers, status=status)


def conditions_of(request: RequestPods, line: RequestLine) -> tuple[Condition, ...]:
    """What is true of a request by its line in the plan."""
    told = clauses(reason.message for reason in line.reasons)
    first = line.reasons[0].code if line.reasons else ""
    refused = request.code.value if request.code is not None else ""
    accepted = _condition(ConditionType.ACCEPTED, "False" if refused else "True", refused or "Accepted", request.problem)
    there = _PROVISIONED if CLASSES[request.class_name] else _FOUND
    match line.state:
        case RequestState.PROVISIONED:
            return accepted, _condition(ConditionType.PROVISIONED, "True", there, told)
        case RequestState.EXPIRED:
            why = _CONSUMED if first == BookingConsumed.code else _EXPIRED
            return (
                accepted,
                _condition(ConditionType.PROVISIONED, "True", there, told),
                _condition(ConditionType.EXPIRED, "True", why, told),
            )
        case RequestState.FAILED:
            why = _TOO_OLD if first == RequestTooOld.code else _NOT_FOUND
            return (
                accepted,
                _condition(ConditionType.PROVISIONED, "False", refused or _NOT_FOUND, told),
                _condition(ConditionType.FAILED, "True", why, told),
            )
        case RequestState.WAITING:
            return accepted, _condition(ConditionType.PROVISIONED, "False", _REQUESTED, told)
        case _:
            return accepted, _condition(ConditionType.PROVISIONED, "False", refused or _NOT_FOUND, told)


def _condition(kind: ConditionType, status: str, reason: str, message: str) -> Condition:
    return Condition(type=kind.value, status=status, reason=reason, message=message)
