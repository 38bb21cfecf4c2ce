"""Bound volumes that carry zone and region labels, old and new, also several zones in one value."""

from tests.differential.generator.draft import NAMESPACES, REGION, ZONE, Draft, add_volume, labels_of
from tests.differential.generator.volume import bind, claim, csi, use, volume

_BETA_ZONE, _BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"


def add(draft: Draft) -> None:
    """Label some nodes the old way, make zonal volumes and mount them."""
    for node in draft.some(draft.nodes, 25):
        labels = labels_of(node)
        labels |= {_BETA_ZONE: labels.get(ZONE, "a"), _BETA_REGION: "r1"}
        if draft.chance(50):
            labels.pop(ZONE, None)
    names: dict[str, list[str]] = {namespace: [] for namespace in NAMESPACES}
    for index in range(draft.random.randint(8, 20)):
        namespace = draft.random.choice(NAMESPACES)
        item = claim(draft, namespace, f"zonal-{index}", "", 5)
        bound_to = volume(draft, f"zonal-{index}", "", 5, csi(f"zonal-{index}"))
        key, region = draft.random.choice(((ZONE, REGION), (_BETA_ZONE, _BETA_REGION)))
        labels = labels_of(bound_to)
        labels[key] = draft.random.choice(("a", "b", "a__c", "b__c__a", "nowhere"))
        if draft.chance(50):
            labels[region] = draft.random.choice(("r1", "r2"))
        bind(item, bound_to)
        names[namespace].append(f"zonal-{index}")
    for pod in draft.some(draft.pods, 50):
        available = names[pod["metadata"]["namespace"]]
        if available:
            for name in draft.subset(available, 1, 2):
                add_volume(pod, use(name))
