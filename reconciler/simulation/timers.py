"""When a decision could come out differently although nothing happened: the next timer after an instant."""

from reconciler.decisions.memory import Memory
from reconciler.decisions.reasons.pods import Delayed
from reconciler.decisions.removal.replacements.opportunity import REPACKED_SECONDS
from reconciler.decisions.removal.replacements.replacing import PATIENCE_SECONDS
from reconciler.plan.plan import Plan, PodOutcome
from reconciler.policy.documents import NodeGroupPolicy
from reconciler.values.instant import parse_instant


def next_timer_seconds(plan: Plan, memory: Memory, policy: NodeGroupPolicy, after_seconds: int) -> int | None:
    """The first of: a node becomes removable, a back-off or cool-down ends, a replacement is given up, the delay of a pod ends.
    Also the end of the time in which new nodes of a repack are in no other one. None if there is none."""
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
    running.extend(_removable(plan))
    running.extend(_delayed(plan))
    running.extend(one.started_seconds + PATIENCE_SECONDS + 1 for one in memory.replacements)
    running.extend(since + REPACKED_SECONDS for since in memory.repacked.values())
    return min((instant for instant in running if instant > after_seconds), default=None)


def gathered_seconds(plan: Plan, first_seconds: int, within_seconds: int) -> int:
    """The last instant at which a node becomes removable, within `within_seconds` of the first one. Pods of one Deployment end
    over some seconds, and their nodes can leave in one write. If `first_seconds` is not such an instant, it is returned."""
    removable = _removable(plan)
    if first_seconds not in removable:
        return first_seconds
    return max(instant for instant in removable if instant <= first_seconds + within_seconds)


def _removable(plan: Plan) -> set[int]:
    # Many nodes share an instant, and reading one costs more than keeping a set of texts.
    texts = {line.removable_at for line in plan.nodes if line.removable_at is not None}
    return {parse_instant(text) for text in texts}


def _delayed(plan: Plan) -> set[int]:
    delayed = (reason for line in plan.pods if line.outcome is PodOutcome.DELAYED for reason in line.reasons)
    texts = {str(reason.data["until"]) for reason in delayed if reason.code == Delayed.code}
    return {parse_instant(text) for text in texts}
