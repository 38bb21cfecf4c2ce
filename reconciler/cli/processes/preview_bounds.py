"""Time and memory that previews of one pull request may use, and the child process that obeys them."""

import math

import msgspec

from reconciler.cli.processes.preview_child import PreviewTask
from reconciler.control.previewer import Telling
from reconciler.gitops.bounded_child import Bound, ChildBounds, ChildTooDearError, child_answer
from reconciler.values.decoding import decode

_MIB = 1 << 20
_CHILD = "reconciler.cli.processes.preview_child"


class PreviewBounds(msgspec.Struct, frozen=True, kw_only=True):
    """For all policies of one pull request together. `seconds` by the wall clock."""

    seconds: float = 120
    memory_bytes: int = 1024 * _MIB
    output_bytes: int = 4 * _MIB


class PreviewTooDearError(Exception):
    """A bound was met; the sentence says which."""


def bounded_tellings(task: PreviewTask, bounds: PreviewBounds) -> list[Telling]:
    """What the child makes of `task`. Raises `PreviewTooDearError` and `ChildError`."""
    held = ChildBounds(
        seconds=bounds.seconds, cpu_seconds=math.ceil(bounds.seconds), memory_bytes=bounds.memory_bytes,
        output_bytes=bounds.output_bytes,
    )  # fmt: skip
    try:
        return decode(child_answer(_CHILD, task, held), list[Telling])
    except ChildTooDearError as error:
        raise PreviewTooDearError(_sentence(error.bound, bounds)) from None


def _sentence(bound: Bound, bounds: PreviewBounds) -> str:
    match bound:
        case Bound.TIME:
            return f"Its preview took more than {bounds.seconds:g} s and was ended."
        case Bound.MEMORY:
            return f"Its preview took more than {bounds.memory_bytes // _MIB} MiB of memory and was ended."
        case Bound.OUTPUT:
            return f"Its preview is longer than {bounds.output_bytes // _MIB} MiB and was ended."
