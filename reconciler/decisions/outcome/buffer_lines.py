"""The lines of a plan about CapacityBuffers."""

from collections.abc import Sequence

import msgspec

from reconciler.cluster.world import BufferPods
from reconciler.decisions.buffers import left_alone
from reconciler.decisions.draft import Draft
from reconciler.decisions.growth.buffers import KeptRoom
from reconciler.decisions.outcome.request_lines import rooms
from reconciler.decisions.reasons.buffers import BufferEmpty, BufferLimited
from reconciler.plan.plan import BufferLine, BufferState


def buffer_lines(draft: Draft, kept: Sequence[KeptRoom]) -> tuple[BufferLine, ...] | msgspec.UnsetType:
    """What becomes of every CapacityBuffer, by name; unset if the policy reads none."""
    if not draft.policy.headroom_from.reads_buffers:
        return msgspec.UNSET
    rooms = {(room.buffer.namespace, room.buffer.name): room for room in kept}
    return tuple(_buffer_line(draft, one, rooms.get((one.namespace, one.name))) for one in draft.world.buffers)


def _buffer_line(draft: Draft, buffer: BufferPods, room: KeptRoom | None) -> BufferLine:
    if (why := left_alone(buffer, draft.policy)) is not None:
        return BufferLine(buffer=buffer.key, state=BufferState.IGNORED, pods=buffer.count, reasons=(why.reason(),))
    limited = BufferLimited(asked=buffer.asked, allowed=buffer.count, quotas=buffer.limited_by)
    reasons = (limited.reason(),) if buffer.limited_by else ()
    if room is None:
        return BufferLine(buffer=buffer.key, state=BufferState.FITS, pods=0, reasons=reasons or (BufferEmpty().reason(),))
    fits, upcoming, requested = rooms(room.served)
    waiting = BufferState.WAITING if upcoming or requested else BufferState.FITS
    return BufferLine(
        buffer=buffer.key,
        state=waiting if fits + upcoming + requested == buffer.count else BufferState.SHORT,
        pods=buffer.count,
        fits=fits,
        upcoming=upcoming,
        requested=requested,
        reasons=(*reasons, *room.reasons),
    )
