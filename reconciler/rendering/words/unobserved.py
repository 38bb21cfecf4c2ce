"""Gaps of a recording, in the words of every replay."""

from reconciler.values.duration import duration_text


def unobserved_words(seconds: int) -> tuple[str, ...]:
    """One sentence, or none if there is no gap."""
    return (f"Nobody looked for {duration_text(seconds)}, and the last demand before lasts meanwhile.",) if seconds else ()
