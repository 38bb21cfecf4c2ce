"""Which CapacityBuffers of a cluster are headroom under a policy, and why the others are not."""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.workloads.capacity_buffer import BUFFER
from reconciler.cluster.world import BufferPods, World
from reconciler.decisions.ownership.owner import OUR_MANAGER
from reconciler.decisions.reasons.buffers import BufferAnswered, BufferRefused
from reconciler.plan.reason import Because
from reconciler.policy.documents import NodeGroupPolicy


def with_buffers_asked(world: World, policy: NodeGroupPolicy) -> World:
    """The World in which CapacityBuffers are missing if the policy reads them and nobody has captured them."""
    if not policy.headroom_from.reads_buffers or BUFFER in world.captured:
        return world
    return msgspec.structs.replace(world, not_captured=tuple(sorted({*world.not_captured, BUFFER})))


def answered_by(writers: Iterable[str], policy: NodeGroupPolicy) -> str:
    """Of the managers that write the status of a buffer, the first that serves it in our place; empty if we may."""
    return next((writer for writer in writers if writer != OUR_MANAGER and writer not in policy.adopt_from), "")


def left_alone(buffer: BufferPods, policy: NodeGroupPolicy) -> Because | None:
    """Why no room is kept for the buffer; None if it is.

    A buffer whose status another program writes is that program's to serve, unless the policy takes over from it.
    """
    if other := answered_by(buffer.writers, policy):
        return BufferAnswered(by=other)
    if buffer.code is not None:
        return BufferRefused(why=buffer.problem, problem=buffer.code.value)
    return None


def buffers_in_force(world: World, policy: NodeGroupPolicy) -> tuple[BufferPods, ...]:
    """Buffers that room is kept for, the oldest first."""
    if not policy.headroom_from.reads_buffers:
        return ()
    served = (one for one in world.buffers if one.count > 0 and left_alone(one, policy) is None)
    return tuple(sorted(served, key=lambda one: (one.created_seconds, one.namespace, one.name)))
