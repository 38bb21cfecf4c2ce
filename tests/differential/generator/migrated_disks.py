"""Old in-tree disks on nodes where a CSI driver has taken them over: limits and topology are then the driver's."""

from tests.differential.generator.draft import NAMESPACES, ZONE, Draft, Object, add_volume, labels_of
from tests.differential.generator.volume import bind, claim, in_values, storage_class, use, volume

_PLUGINS = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}
_TOPOLOGY = {
    "kubernetes.io/aws-ebs": "topology.ebs.csi.aws.com/zone",
    "kubernetes.io/gce-pd": "topology.gke.io/zone",
    "kubernetes.io/portworx-volume": "topology.portworx.com/zone",
}
_MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"


def add(draft: Draft) -> None:
    """Give nodes CSINodes that say what is taken over, and pods disks inside and behind claims."""
    taken_over = {item["metadata"]["name"] for item in draft.storage if item["kind"] == "CSINode"}
    for node in draft.some(draft.nodes, 80):
        if node["metadata"]["name"] not in taken_over:
            draft.storage.append(_csi_node(draft, node))
    for plugin in _PLUGINS:
        storage_class(draft, plugin.rpartition("/")[2], plugin, "WaitForFirstConsumer")
    names: dict[str, list[str]] = {namespace: [] for namespace in NAMESPACES}
    for index in range(draft.random.randint(10, 30)):
        namespace = draft.random.choice(NAMESPACES)
        names[namespace].append(_claimed(draft, namespace, index))
    for pod in draft.some(draft.pods, 40):
        available = names[pod["metadata"]["namespace"]]
        if available:
            for name in draft.subset(available, 1, 2):
                add_volume(pod, use(name))
    for pod in draft.some(draft.pods, 25):
        number = draft.random.randrange(40)
        add_volume(pod, draft.random.choice((_amazon(number), _google(number), _portworx(number))))


def _csi_node(draft: Draft, node: Object) -> Object:
    name = node["metadata"]["name"]
    drivers = []
    for plugin, driver in _PLUGINS.items():
        key = _TOPOLOGY[plugin]
        entry: Object = {"name": driver, "nodeID": name, "topologyKeys": [key]}
        if draft.chance(85):
            entry["allocatable"] = {"count": draft.random.choice((0, 1, 2, 3))}
        drivers.append(entry)
        zone = labels_of(node).get(ZONE)
        if zone and draft.chance(80):
            labels_of(node)[key] = zone
    metadata: Object = {"name": name}
    if draft.chance(80):
        metadata["annotations"] = {_MIGRATED: ",".join(draft.subset(list(_PLUGINS)))}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": {"drivers": drivers}}


def _claimed(draft: Draft, namespace: str, index: int) -> str:
    name = f"old-{index}"
    sources = (("aws-ebs", _amazon(index)), ("gce-pd", _google(index)), ("portworx-volume", _portworx(index)))
    plugin, source = draft.random.choice(sources)
    item = claim(draft, namespace, name, plugin, 5)
    if draft.chance(80):
        zone = draft.random.choice(("a", "b", "c"))
        term = in_values(ZONE, [zone]) if draft.chance(60) else None
        bound_to = volume(draft, f"old-{index}", plugin, 5, source, term)
        if draft.chance(60):
            labels_of(bound_to)[ZONE] = zone
        bind(item, bound_to)
    return name


def _amazon(number: int) -> Object:
    return {"awsElasticBlockStore": {"volumeID": f"vol-{number:04d}", "fsType": "ext4"}}


def _portworx(number: int) -> Object:
    return {"portworxVolume": {"volumeID": f"px-{number}", "fsType": "ext4"}}


def _google(number: int) -> Object:
    return {"gcePersistentDisk": {"pdName": f"disk-{number}", "fsType": "ext4"}}
