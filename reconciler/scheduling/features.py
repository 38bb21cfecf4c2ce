"""What a pod shape needs that verdicts do not model."""

from collections.abc import Iterable

from reconciler.cluster.pod import PodShape
from reconciler.scheduling.label_match import selects


def not_modelled(shape: PodShape, others: Iterable[PodShape]) -> str:
    """The features, as a phrase; empty when there are none."""
    found = []
    if shape.claims:
        found.append("DynamicResources")
    if shape.affinity or shape.anti_affinity:
        found.append("InterPodAffinity")
    if shape.spread:
        found.append("PodTopologySpread")
    if shape.volumes:
        found.append("volumes")
    if any(
        selects(term.selector, shape.labels) and (shape.namespace in term.namespaces or term.namespace_selector is not None)
        for other in others
        for term in other.anti_affinity
    ):
        found.append("InterPodAffinity of other pods")
    return ", ".join(found)
