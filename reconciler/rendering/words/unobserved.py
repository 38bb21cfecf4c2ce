"""Time of a recording in which nobody looked, as every replay of it states it."""

from reconciler.values.duration import duration_text


def unobserved_words(seconds: int) -> tuple[str, ...]:
    """One sentence; none if somebody looked all the time."""
    return (f"Nobody looked for {duration_text(seconds)}, and the last demand before lasts meanwhile.",) if seconds else ()
