"""CSI drivers that attach only so many volumes to one node."""

from tests.differential.generator.draft import NAMESPACES, Draft, Object, add_volume
from tests.differential.generator.volume import bind, claim, csi, storage_class, use, volume

DRIVERS = ("disk.csi.example.com", "files.csi.example.com")


def add(draft: Draft) -> None:
    """Give nodes CSINodes with limits, and pods volumes of those drivers, some shared, some not yet provisioned."""
    for driver in DRIVERS:
        storage_class(draft, driver.split(".", maxsplit=1)[0], driver, "WaitForFirstConsumer")
    for node in draft.some(draft.nodes, 80):
        draft.storage.append(_csi_node(draft, node["metadata"]["name"]))
    names: dict[str, list[str]] = {namespace: [] for namespace in NAMESPACES}
    for index in range(draft.random.randint(15, 40)):
        namespace = draft.random.choice(NAMESPACES)
        driver = draft.random.choice(DRIVERS)
        class_name = driver.split(".", maxsplit=1)[0]
        item = claim(draft, namespace, f"data-{index}", class_name, 5)
        if draft.chance(75):
            # Two volumes may be one disk behind the driver: it is attached once.
            bind(item, volume(draft, f"data-{index}", class_name, 5, csi(f"disk-{index % 25}", driver)))
        names[namespace].append(f"data-{index}")
    for pod in draft.some(draft.pods, 60):
        available = names[pod["metadata"]["namespace"]]
        if available:
            for name in draft.subset(available, 1, 3):
                add_volume(pod, use(name))


def _csi_node(draft: Draft, name: str) -> Object:
    drivers = []
    for driver in draft.subset(DRIVERS, 0):
        entry: Object = {"name": driver, "nodeID": name, "topologyKeys": []}
        if draft.chance(85):
            entry["allocatable"] = {"count": draft.random.choice((0, 1, 2, 3, 8))}
        drivers.append(entry)
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": drivers}}
