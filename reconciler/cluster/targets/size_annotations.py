"""Keys that somebody meant to be read: one or two slips away from a key that is."""

import re
from collections.abc import Iterable

import msgspec

_LARGEST_DISTANCE = 4


def near_misses(keys: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """One sentence for each unknown key that is similar to a known one."""
    targets = tuple(sorted(set(known)))
    findings: list[str] = []
    for key in sorted(set(keys) - set(targets)):
        nearest = min(((distance(key, other, _LARGEST_DISTANCE), other) for other in targets), default=(99, ""))
        # Four slips are a lot in a short key.
        if nearest[0] <= min(_LARGEST_DISTANCE, len(nearest[1]) // 8):
            findings.append(f"{key} is not read: did you mean {nearest[1]}?")
    return tuple(findings)


def distance(left: str, right: str, limit: int) -> int:
    """Levenshtein distance (insert, delete, replace), or `limit + 1` when it is larger."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    row = list(range(len(right) + 1))
    for index, letter in enumerate(left, 1):
        before, row[0] = row[0], index
        best = row[0]
        for column, other in enumerate(right, 1):
            before, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, before + (letter != other))
            best = min(best, row[column])
        if best > limit:
            return limit + 1
    return min(row[-1], limit + 1)


MIN_SIZE = "cluster-api-autoscaler-node-group-min-size"
MAX_SIZE = "cluster-api-autoscaler-node-group-max-size"
_NO_SIZE, _BELOW = "is not a whole number of at least 0", "is below the minimum"
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
        return Bounds(problems=(f"{present[0]} is ignored: {missing} is missing, and it applies only with both",))
    smallest, largest = _size(annotations[keys[0]]), _size(annotations[keys[1]])
    if smallest is not None and largest is not None and largest < smallest:
        return Bounds(problems=(f"{keys[1]}: {largest} {_BELOW} {smallest}",))
    return Bounds(smallest, largest, f"annotations {keys[0]} and {keys[1]}")


def no_range(problem: str) -> bool:
    """Whether a problem says that both bounds are there and mean no range."""
    key, _, message = problem.partition(": ")
    return key.endswith((MIN_SIZE, MAX_SIZE)) and (_BELOW in message or message.endswith(_NO_SIZE))


def _size(text: str) -> int | None:
    if not _INTEGER.fullmatch(text) or int(text) < 0:
        return None
    return int(text)
