"""PersistentVolumes, claims and classes in API form."""

from tests.differential.generator.draft import Draft, Object

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
DRIVER = "disk.csi.example.com"


def storage_class(draft: Draft, name: str, provisioner: str, mode: str, topologies: list[Object] | None = None) -> None:
    """Add a StorageClass."""
    item: Object = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": mode,
    }
    if topologies:
        item["allowedTopologies"] = topologies
    draft.storage.append(item)


def volume(draft: Draft, name: str, class_name: str, gibibytes: int, source: Object, node_term: Object | None = None) -> Object:
    """Add an Available PersistentVolume; `node_term` is what a node must match."""
    spec: Object = {
        "capacity": {"storage": f"{gibibytes}Gi"},
        "accessModes": ["ReadWriteOnce"],
        "volumeMode": "Filesystem",
        "persistentVolumeReclaimPolicy": "Retain",
        **source,
    }
    if class_name:
        spec["storageClassName"] = class_name
    if node_term:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [node_term]}}
    item = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": spec,
        "status": {"phase": "Available"},
    }
    draft.storage.append(item)
    return item


def claim(draft: Draft, namespace: str, name: str, class_name: str | None, gibibytes: int) -> Object:
    """Add a Pending PersistentVolumeClaim; class None leaves the class out, an empty one says that none is wanted."""
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "volumeMode": "Filesystem",
        "resources": {"requests": {"storage": f"{gibibytes}Gi"}},
    }
    if class_name is not None:
        spec["storageClassName"] = class_name
    item = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", "annotations": {}},
        "spec": spec,
        "status": {"phase": "Pending"},
    }
    draft.storage.append(item)
    return item


def bind(item: Object, bound_to: Object) -> None:
    """Bind a claim and a volume to each other, as the volume controller does when it is through."""
    item["spec"]["volumeName"] = bound_to["metadata"]["name"]
    item["metadata"]["annotations"][BIND_COMPLETED] = "yes"
    item["status"]["phase"] = "Bound"
    metadata = item["metadata"]
    bound_to["spec"]["claimRef"] = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    bound_to["status"]["phase"] = "Bound"


def csi(handle: str, driver: str = DRIVER) -> Object:
    """The source of a volume that a CSI driver serves."""
    return {"csi": {"driver": driver, "volumeHandle": handle}}


def local() -> Object:
    """The source of a volume that is a disk of one node."""
    return {"local": {"path": "/mnt/disk"}}


def use(claim_name: str) -> Object:
    """The volume of a pod that uses a claim."""
    return {"persistentVolumeClaim": {"claimName": claim_name}}


def in_values(key: str, values: list[str]) -> Object:
    """A node selector term for one label."""
    return {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}
