"""When a decision could come out differently although nothing happened: the next timer after an instant."""

from datetime import datetime

from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from reconciler.policy.documents import NodeGroupPolicy


def next_timer_seconds(plan: Plan, memory: Memory, policy: NodeGroupPolicy, after_seconds: int) -> int | None:
    """The first of: a node becomes removable, a back-off ends, a cool-down ends. None: no such timer runs."""
    pace = policy.pace
    running = [state.until_seconds for state in memory.backoffs.values()]
    running.extend(
        since + delay
        for since, delay in (
            (memory.last_added_seconds, pace.delay_after_add_seconds),
            (memory.last_removed_seconds, pace.delay_after_delete_seconds),
            (memory.last_failed_seconds, pace.delay_after_failure_seconds),
        )
        if since
    )
    # Many nodes share an instant, and reading one costs more than keeping a set of texts.
    texts = {line.removable_at for line in plan.nodes if line.removable_at is not None}
    running.extend(int(datetime.fromisoformat(text).timestamp()) for text in texts)
    return min((instant for instant in running if instant > after_seconds), default=None)
