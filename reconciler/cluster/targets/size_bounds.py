"""The size annotations of a target: minimum and maximum, which count only together."""

import re

import msgspec

MIN_SIZE = "cluster-api-autoscaler-node-group-min-size"
MAX_SIZE = "cluster-api-autoscaler-node-group-max-size"
_NO_SIZE, _BELOW = "is no whole number from 0", "is below the minimum"
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


class Bounds(msgspec.Struct, frozen=True):
    """Both bounds with their origin, or neither; `problems` say why not."""

    min_size: int | None = None
    max_size: int | None = None
    origin: str = ""
    problems: tuple[str, ...] = ()


def scaling_bounds(annotations: dict[str, str], capi_group: str) -> Bounds:
    """The bounds that the annotations give.

    As upstream: both must be there, be whole numbers from 0, and the maximum must not be below the minimum. Unlike
    upstream, one without the other is reported instead of being taken for "not autoscaled" in silence.
    """
    keys = f"{capi_group}/{MIN_SIZE}", f"{capi_group}/{MAX_SIZE}"
    present = [key for key in keys if key in annotations]
    if not present:
        return Bounds()
    problems = [f'{key}: "{annotations[key]}" {_NO_SIZE}' for key in present if _size(annotations[key]) is None]
    if problems:
        return Bounds(problems=tuple(problems))
    if len(present) == 1:
        missing = keys[1] if present[0] == keys[0] else keys[0]
        return Bounds(problems=(f"{present[0]} is ignored: {missing} is missing, and only both together count",))
    smallest, largest = _size(annotations[keys[0]]), _size(annotations[keys[1]])
    if smallest is not None and largest is not None and largest < smallest:
        return Bounds(problems=(f"{keys[1]}: {largest} {_BELOW} {smallest}",))
    return Bounds(smallest, largest, f"annotations {keys[0]} and {keys[1]}")


def no_range(problem: str) -> bool:
    """Whether a problem says that both bounds are there and mean no range."""
    key, _, said = problem.partition(": ")
    return key.endswith((MIN_SIZE, MAX_SIZE)) and (_BELOW in said or said.endswith(_NO_SIZE))


def _size(text: str) -> int | None:
    if not _INTEGER.fullmatch(text) or int(text) < 0:
        return None
    return int(text)
