"""Volumes that are attached to nodes, whether a pod there uses them, used them a moment ago, or nobody does."""

from tests.differential.generator import volume_limits
from tests.differential.generator.draft import Draft
from tests.differential.generator.volume import csi, volume
from tests.differential.generator.volume_limits import DRIVERS


def add(draft: Draft) -> None:
    """Attach known volumes, forgotten ones and unknown ones to nodes with drivers."""
    if not any(item["kind"] == "CSINode" for item in draft.storage):
        volume_limits.add(draft)  # without limits and volumes of their own nothing would show
    known = [item["metadata"]["name"] for item in draft.storage if item["kind"] == "PersistentVolume"]
    for index in range(4):
        name = f"forgotten-{index}"
        volume(draft, name, "", 5, csi(f"forgotten-{index}", draft.random.choice(DRIVERS)))
        known.append(name)
    for index in range(draft.random.randint(5, 30)):
        name = draft.random.choice((*known, "no-such-volume"))
        draft.storage.append(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "VolumeAttachment",
                "metadata": {"name": f"attachment-{index}"},
                "spec": {
                    "attacher": draft.random.choice(DRIVERS),
                    "nodeName": draft.random.choice(draft.node_names()),
                    "source": {"persistentVolumeName": name},
                },
                "status": {"attached": True},
            }
        )
