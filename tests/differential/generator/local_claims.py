"""Volumes that nobody provisions: made beforehand, found by size, class, labels, mode and place, sometimes promised."""

from tests.differential.generator.draft import HOSTNAME, ZONE, ZONES, Draft, Object
from tests.differential.generator.volume import CLASS_ANNOTATION, bind, claim, csi, in_values, local, volume


def add_volumes(draft: Draft) -> None:
    """Volumes of nodes and zones, few of them like the others."""
    # Sizes differ, so that "the smallest that is big enough" is one volume only.
    for index in range(draft.random.randint(4, 16)):
        key, values = draft.random.choice(((HOSTNAME, draft.subset(draft.node_names(), 1, 3)), (ZONE, draft.subset(ZONES, 1, 2))))
        item = volume(draft, f"local-{index}", "local", 1 + index, local(), in_values(key, values))
        _vary(draft, item)
        if draft.chance(10):
            item["spec"]["claimRef"] = {"namespace": "shop", "name": f"other-{index}", "uid": f"uid-other-{index}"}
    for index in range(draft.random.randint(0, 4)):
        # Made by hand for a class that could also provision; a claim of another attributes class may not have it.
        term = in_values(ZONE, draft.subset(ZONES, 1, 2))
        item = volume(draft, f"ready-{index}", "later", 20 + index, csi(f"ready-{index}"), term)
        if draft.chance(40):
            item["spec"]["volumeAttributesClassName"] = "gold"


def _vary(draft: Draft, item: Object) -> None:
    if draft.chance(20):
        item["metadata"]["labels"] = {"kind": "fast"}
    if draft.chance(10):
        item["spec"]["volumeMode"] = "Block"
    if draft.chance(10):
        item["status"]["phase"] = draft.random.choice(("Released", "Failed", "Pending"))
    if draft.chance(10):
        item["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["kubernetes.io/pv-protection"]}
    if draft.chance(10):
        # The way to name a class before there was a field for it; it still comes first.
        item["metadata"]["annotations"] = {CLASS_ANNOTATION: draft.random.choice(("local", "later"))}


def bound_local(draft: Draft, namespace: str, name: str) -> Object:
    """A claim bound to a volume of a few nodes."""
    item = claim(draft, namespace, name, "local", 5)
    term = in_values(HOSTNAME, draft.subset(draft.node_names(), 1, 3))
    bind(item, volume(draft, f"pv-{name}", "local", 5, local(), term))
    return item


def waiting_local(draft: Draft, namespace: str, name: str) -> Object:
    """A claim that must find one of the volumes that are there."""
    item = claim(draft, namespace, name, "local", draft.random.randint(1, 17))
    if draft.chance(20):
        item["spec"]["selector"] = {"matchLabels": {"kind": "fast"}}
    if draft.chance(10):
        item["spec"]["volumeMode"] = "Block"
    if draft.chance(10):
        item["spec"]["accessModes"] = ["ReadOnlyMany"]
    if draft.chance(10):
        item["metadata"]["annotations"][CLASS_ANNOTATION] = "local"
    return item


def promised_local(draft: Draft, namespace: str, name: str) -> Object:
    """A claim whose volume already names it, by name alone, or with the identity of this claim or of an earlier one."""
    item = claim(draft, namespace, name, "local", 2)
    term = in_values(HOSTNAME, draft.subset(draft.node_names(), 1, 4))
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}
    identity = draft.random.choice(("", item["metadata"]["uid"], "uid-earlier"))
    promised = volume(draft, f"promised-{name}", "local", 40, local(), term)
    promised["spec"]["claimRef"] = reference | {"uid": identity} if identity else reference
    return item
