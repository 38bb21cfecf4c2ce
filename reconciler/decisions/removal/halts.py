"""Why no node at all is removed: an unhealthy cluster, or an incomplete view."""

from reconciler.decisions.draft import Draft
from reconciler.decisions.situation.clocks import clocks_apart
from reconciler.decisions.situation.group_situation import unhealthy

NEEDED_FOR_REMOVAL = ("Pod", "PodDisruptionBudget", "ReplicaSet", "CapacityBuffer", "ProvisioningRequest")


def halts(draft: Draft) -> tuple[str, ...]:
    """Sentences; empty when removals may go on."""
    sentences = []
    missing = [kind for kind in NEEDED_FOR_REMOVAL if kind in draft.world.not_captured]
    if missing:
        sentences.append(f"{', '.join(missing)} objects were not captured, so the effect of a removal is unknown")
    if apart := clocks_apart(draft.world):
        sentences.append(apart)
    health = draft.policy.health
    halted, unready, managed = unhealthy(draft.states, health.max_unready_percent, health.ok_unready_count)
    if halted:
        sentences.append(
            f"{unready} of {managed} managed nodes are unready, more than {health.ok_unready_count} "
            f"and more than {health.max_unready_percent}%"
        )
    return tuple(sentences)
