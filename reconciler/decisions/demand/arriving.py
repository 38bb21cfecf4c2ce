"""Detects a burst of pods that is still arriving.

Growth waits for its end, so that nodes are chosen for the whole burst. If pods were judged one by one, the first of a burst
would add machines that do not suit the later ones. Batching of pending pods comes from Karpenter (idle and longest duration). A
plan shows what would be added now. Only loops ask whether to do it now: in a capture of a cluster, a burst would never end.
"""

from reconciler.cluster.world import World
from reconciler.decisions.reasons.pods import Arriving
from reconciler.plan.plan import Plan, PodOutcome
from reconciler.policy.documents import PodRules
from reconciler.values.instant import instant_text


def arriving(plan: Plan, world: World, rules: PodRules, now_seconds: int) -> Arriving | None:
    """What growth for pending pods waits for. None if no pod that needs a node came within the last `burstPause`, or one has
    waited for `burstLimit`. Pods from the future (another clock) do not show a burst."""
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
