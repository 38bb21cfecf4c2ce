"""A burst of pods that is still arriving: what its end is waited for, so that it is bought for as a whole.

Judged as they come, the first pods of a burst buy machines that do not suit the later ones. Batching of pending pods is
Karpenter's (idle and longest duration). A plan says what would be bought now; whether that is done now is asked here, by loops:
in a capture of a cluster every burst would last for ever.
"""

from reconciler.cluster.world import World
from reconciler.decisions.reasons.pods import Arriving
from reconciler.plan.plan import Plan, PodOutcome
from reconciler.policy.documents import PodRules
from reconciler.values.instant import instant_text


def arriving(plan: Plan, world: World, rules: PodRules, now_seconds: int) -> Arriving | None:
    """What growth for pending pods waits for; None when no pod that needs a node came within the last `burstPause`, or one has
    waited for `burstLimit`. Pods from the future (another clock) are no sign of a burst."""
    asking = {line.pod for line in plan.pods if line.outcome is PodOutcome.TRIGGERS_SCALE_UP}
    if not asking:
        return None
    pods = world.pods
    created = [pods.created_seconds[index] for index in pods.pending() if pods.key(index) in asking]
    past = [instant for instant in created if instant <= now_seconds]
    if not past or now_seconds - max(past) >= rules.burst_pause_seconds or now_seconds - min(past) >= rules.burst_limit_seconds:
        return None
    until = instant_text(min(max(past) + rules.burst_pause_seconds, min(past) + rules.burst_limit_seconds))
    return Arriving(pause_seconds=rules.burst_pause_seconds, limit_seconds=rules.burst_limit_seconds, until=until)
