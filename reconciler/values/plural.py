"""A count with its noun, and the verb that follows it: `1 node`, `3 nodes`."""


def count_text(count: int, noun: str, plural: str = "") -> str:
    """`1 node`, `3 nodes`; `plural` where it is not the noun and an s."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def verb_for(number: int, one: str, several: str) -> str:
    """The verb that agrees with a count."""
    return one if number == 1 else several
