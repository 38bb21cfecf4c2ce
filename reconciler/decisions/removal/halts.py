"""Why nothing at all is removed: an unhealthy cluster, or a view with holes."""

from reconciler.decisions.draft import Draft
from reconciler.decisions.situation.group_situation import unhealthy

NEEDED_FOR_REMOVAL = ("Pod", "PodDisruptionBudget", "ReplicaSet")


def halts(draft: Draft) -> tuple[str, ...]:
    """Sentences; empty when removals may go on."""
    found = []
    missing = [kind for kind in NEEDED_FOR_REMOVAL if kind in draft.world.not_captured]
    if missing:
        found.append(f"{', '.join(missing)} objects were not captured, so nobody knows what a removal would disturb")
    health = draft.policy.health
    halted, unready, managed = unhealthy(draft.states, health.max_unready_percent, health.ok_unready_count)
    if halted:
        found.append(
            f"{unready} of {managed} managed nodes are unready, more than {health.ok_unready_count} "
            f"and more than {health.max_unready_percent}%"
        )
    return tuple(found)
