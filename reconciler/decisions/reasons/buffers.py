"""Reasons about CapacityBuffers: what becomes of the room that they ask for."""

from reconciler.plan.reason import Because


class BufferFits(Because, frozen=True, kw_only=True):
    """Nodes that are there have room for these pods of the buffer."""

    code = "BufferFits"
    pods: int

    template = "{pods:pod} would run now"


class BufferUpcoming(Because, frozen=True, kw_only=True):
    """Nodes that are on their way will have room for these pods of the buffer."""

    code = "BufferUpcoming"
    pods: int
    groups: tuple[str, ...]

    template = "{pods:pod} would run on nodes of {groups} that are on their way"


class BufferRequested(Because, frozen=True, kw_only=True):
    """Groups grow for these pods of the buffer."""

    code = "BufferRequested"
    pods: int
    groups: tuple[str, ...]

    template = "{groups} {groups:grows|grow} for {pods:pod}"


class BufferShort(Because, frozen=True, kw_only=True):
    """No room can be had for these pods of the buffer. The reasons after it say why."""

    code = "BufferShort"
    pods: int

    template = "there is no room for {pods:pod}, and no group can grow for them"


class BufferEmpty(Because, frozen=True, kw_only=True):
    """The buffer asks room for no pod."""

    code = "BufferEmpty"

    template = "it asks room for no pod"


class BufferLimited(Because, frozen=True, kw_only=True):
    """ResourceQuotas of its namespace leave the buffer fewer pods than it asks for."""

    code = "BufferLimited"
    asked: int
    allowed: int
    quotas: tuple[str, ...]

    template = "it asks for {asked:pod}, of which {quotas} allow {allowed}"


class BufferRefused(Because, frozen=True, kw_only=True):
    """The spec of the buffer cannot be evaluated, so no room is kept for it."""

    code = "BufferRefused"
    problem: str
    why: str

    template = "no room is kept for it: {why}"


class BufferAnswered(Because, frozen=True, kw_only=True):
    """Another program writes the status of the buffer, so the reconciler leaves it alone."""

    code = "BufferAnswered"
    by: str

    template = "{by} answers it, so no room is kept for it here"
