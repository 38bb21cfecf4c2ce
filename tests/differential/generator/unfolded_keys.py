"""Affinity terms with label keys that no API server has folded into the selector, as in a file written by hand."""

from tests.differential.generator.draft import APPS, HOSTNAME, ZONE, Draft


def add(draft: Draft) -> None:
    """Give pods terms whose keys say more than their selector: the scheduler reads the selector only."""
    for pod in draft.some(draft.pods, 25):
        kind, key = draft.random.choice((("podAffinity", ZONE), ("podAntiAffinity", HOSTNAME)))
        term = {
            "topologyKey": key,
            "labelSelector": {"matchLabels": {"app": draft.random.choice(APPS)}},
            draft.random.choice(("matchLabelKeys", "mismatchLabelKeys")): ["version"],
        }
        pod["spec"].setdefault("affinity", {})[kind] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
