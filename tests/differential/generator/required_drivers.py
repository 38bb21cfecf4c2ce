"""CSI drivers that nodes must have before pods with their volumes run there."""

from tests.differential.generator import volume_limits
from tests.differential.generator.draft import Draft, Object
from tests.differential.generator.volume_limits import DRIVERS

_REQUIRED = {"preventPodSchedulingIfMissing": True}
_TAKEN_OVER = ("ebs.csi.aws.com", "disk.csi.azure.com", "pd.csi.storage.gke.io")


def add(draft: Draft) -> None:
    """Let drivers say whether nodes must have them, also those that took over in-tree disks."""
    if not any(item["kind"] == "CSINode" for item in draft.storage):
        volume_limits.add(draft)
    there = [item["metadata"]["name"] for item in draft.storage if item["kind"] == "CSIDriver"]
    for name in draft.subset(sorted({*DRIVERS, *_TAKEN_OVER, *there})):
        _driver(draft, name)["spec"] |= draft.random.choice((_REQUIRED, _REQUIRED, {"preventPodSchedulingIfMissing": False}, {}))


def _driver(draft: Draft, name: str) -> Object:
    """A driver that another feature may have made."""
    for item in draft.storage:
        if item["kind"] == "CSIDriver" and item["metadata"]["name"] == name:
            return item
    made: Object = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": {}}
    draft.storage.append(made)
    return made
