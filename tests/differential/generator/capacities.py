"""CSI drivers that say how much storage is left where, and claims that need some of it."""

from tests.differential.generator.draft import HOSTNAME, NAMESPACES, ZONE, ZONES, Draft, Object, add_volume
from tests.differential.generator.volume import claim, storage_class, use

_TRACKED, _UNTRACKED = "tracked.csi.example.com", "untracked.csi.example.com"


def add(draft: Draft) -> None:
    """Make drivers with and without capacities, and pods that wait for volumes of all sizes."""
    for driver, tracks in ((_TRACKED, True), (_UNTRACKED, False)):
        spec = {"storageCapacity": tracks, "attachRequired": True, "podInfoOnMount": False}
        item = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": driver}, "spec": spec}
        draft.storage.append(item | {"spec": spec | {"volumeLifecycleModes": ["Persistent"], "fsGroupPolicy": "File"}})
    classes = {"tracked": _TRACKED, "tracked-too": _TRACKED, "untracked": _UNTRACKED, "no-driver": "other.csi.example.com"}
    for name, provisioner in classes.items():
        storage_class(draft, name, provisioner, "WaitForFirstConsumer")
    for index in range(draft.random.randint(2, 12)):
        draft.storage.append(_capacity(draft, index))
    names: dict[str, list[str]] = {namespace: [] for namespace in NAMESPACES}
    for index in range(draft.random.randint(10, 25)):
        namespace = draft.random.choice(NAMESPACES)
        claim(draft, namespace, f"sized-{index}", draft.random.choice(list(classes)), draft.random.choice((1, 5, 20)))
        names[namespace].append(f"sized-{index}")
    for pod in draft.some(draft.pods, 50):
        available = names[pod["metadata"]["namespace"]]
        if available:
            for name in draft.subset(available, 1, 2):
                add_volume(pod, use(name))


def _capacity(draft: Draft, index: int) -> Object:
    item: Object = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": f"capacity-{index}", "namespace": "default"},
        "storageClassName": draft.random.choice(("tracked", "tracked", "tracked-too", "untracked")),
    }
    if draft.chance(90):
        item["nodeTopology"] = draft.random.choice(
            (
                {"matchLabels": {ZONE: draft.random.choice(ZONES)}},
                {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": draft.subset(draft.node_names(), 1, 5)}]},
                {},
            )
        )
    if draft.chance(85):
        item["capacity"] = draft.random.choice(("0", "4Gi", "5Gi", "100Gi"))
    if draft.chance(30):
        item["maximumVolumeSize"] = draft.random.choice(("2Gi", "10Gi"))
    return item
