"""Keys that somebody meant to be read: one or two slips away from a key that is."""

from collections.abc import Iterable

_LARGEST_DISTANCE = 4


def near_misses(keys: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """One sentence for each key that is no known one but close to one."""
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
