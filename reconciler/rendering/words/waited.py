"""How long pods waited, in words."""

from reconciler.plan.replay import RunTotals
from reconciler.plan.waiting_times import falls_on_never
from reconciler.plan.week import Span
from reconciler.values.duration import duration_text


def waited_words(pods: RunTotals | Span, percent: int, seconds: int) -> str:
    """The percentile; of a pod that never got a node it is only known that it ranks after all others."""
    late = falls_on_never(percent, pods.pods_placed, pods.pods_never_placed)
    return f"longer than {duration_text(seconds)}" if late else duration_text(seconds)
