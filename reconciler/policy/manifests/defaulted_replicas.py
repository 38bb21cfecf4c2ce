"""The value that Cluster API's defaulting webhook sets if a write leaves out replicas.

SOURCE: the defaulting of MachineDeployments and MachineSets, measured on Cluster API 1.14 with its webhooks. With both size
annotations, a new object gets the minimum, and an existing one its old value, brought into the range. With one annotation or
none it gets 1, whatever ran before.
"""

DEFAULT_REPLICAS = 1


def defaulted(before: int | None, min_size: int | None, max_size: int | None) -> int:
    """The replicas that the webhook sets where a write leaves them out. `before` None: the object is new. The bounds count
    only together."""
    if min_size is None or max_size is None:
        return DEFAULT_REPLICAS
    return min_size if before is None else min(max(before, min_size), max_size)


def unset_words(before: int, min_size: int | None, max_size: int | None) -> str:
    """What happens to `before` replicas, as the end of a sentence: `3 stay, within 1 to 9`, `6 become 4, within 1 to 4`."""
    after = defaulted(before, min_size, max_size)
    one = "s" if before == 1 else ""
    change = f"{before} stay{one}" if after == before else f"{before} become{one} {after}"
    return change if min_size is None or max_size is None else f"{change}, within {min_size} to {max_size}"
