"""The status of CapacityBuffers that the loop keeps room for: what was read of them, and whether the room is there.

SOURCE: the conditions of `autoscaling.x-k8s.io` and their meaning in the Cluster Autoscaler and in Karpenter. Both write
ReadyForProvisioning and LimitedByQuotas in the same way. As in Karpenter, Provisioning is True while the pods would run on
existing nodes.
"""

from collections.abc import Iterator

from reconciler.cluster.world import BufferPods, World
from reconciler.control.live.answers import Answer
from reconciler.kube.custom.status import Condition, Status
from reconciler.plan.plan import BufferLine, BufferState, Plan
from reconciler.values.clauses import clauses
from reconciler.values.plural import count_text

_LIMITED = "ResourceQuotasAllocated"


def buffer_answers(plan: Plan, world: World) -> Iterator[Answer]:
    """To each CapacityBuffer that the plan speaks of."""
    lines = {line.buffer: line for line in plan.buffer_lines}
    for one in world.buffers:
        if (line := lines.get(one.key)) is not None:
            status = status_of(one, line)
            yield Answer(namespace=one.namespace, name=one.name, uid=one.uid, writers=one.writers, status=status)


def status_of(buffer: BufferPods, line: BufferLine) -> Status:
    """What is true of a buffer by its line in the plan."""
    facts: dict[str, object] = {"provisioningStrategy": buffer.strategy}
    if buffer.code is not None:
        ready = Condition(type="ReadyForProvisioning", status="False", reason=buffer.code.value, message=buffer.problem)
        provisioning = Condition(type="Provisioning", status="False", reason="NotReadyForProvisioning", message=buffer.problem)
        return Status(observed_generation=buffer.generation, conditions=(ready, provisioning), facts=facts)
    facts |= {"replicas": buffer.count}
    if buffer.template:
        facts |= {"podTemplateRef": {"name": buffer.template}, "podTemplateGeneration": buffer.template_generation}
    asked = f"it asks for {count_text(buffer.asked, 'pod')}"
    ready = Condition(type="ReadyForProvisioning", status="True", reason="Resolved", message=asked)
    limited = Condition(
        type="LimitedByQuotas",
        status="True" if buffer.limited_by else "False",
        reason=_LIMITED,
        message=f"{', '.join(buffer.limited_by)} allow {buffer.count} of {buffer.asked}" if buffer.limited_by else "",
    )
    return Status(
        observed_generation=buffer.generation,
        conditions=(ready, limited, _provisioning(buffer, line)),
        facts=facts,
    )


def _provisioning(buffer: BufferPods, line: BufferLine) -> Condition:
    told = clauses(reason.message for reason in line.reasons)
    match line.state:
        case BufferState.FITS:
            status, reason = "True", "FitsExistingCapacity" if buffer.count else "BufferEmpty"
        case BufferState.WAITING:
            status, reason = "False", "RequiresNewCapacity"
        case _:
            status, reason = "False", "CapacityNotAvailable"
    return Condition(type="Provisioning", status=status, reason=reason, message=told)
