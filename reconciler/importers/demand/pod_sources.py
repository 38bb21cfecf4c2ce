"""Pods as their manifests say, as sources of demand: read as a snapshot is, so that nothing about a pod is judged twice."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from reconciler.cluster.snapshots.snapshot import SnapshotError, read_snapshot
from reconciler.importers.demand.lifetimes import DemandImportError
from reconciler.simulation.replays.trace import DemandSource

_KEPT_METADATA = ("labels", "annotations", "ownerReferences", "creationTimestamp")
_BY_NAME = "StatefulSet"


class PodManifest(msgspec.Struct):
    """A pod that was asked for, and the line of the file that has it."""

    line: int
    namespace: str
    name: str
    metadata: Mapping[str, Any]
    spec: Mapping[str, Any]


def sources_of(pods: Sequence[PodManifest]) -> Mapping[int, DemandSource]:
    """By index; those that follow their nodes have none. Raises `DemandImportError`, with the line of what cannot be read."""
    # Names are numbers here: a pod of a StatefulSet may come again.
    items = [_item(index, one) for index, one in enumerate(pods)]
    listed = msgspec.json.encode({"apiVersion": "v1", "kind": "PodList", "items": items})
    try:
        world = read_snapshot({"pods.json": listed})
    except SnapshotError as error:
        if len(pods) > 1:
            half = len(pods) // 2
            return {**sources_of(pods[:half]), **sources_of(pods[half:])}  # one of them raises, with the line of its pod
        raise DemandImportError(pods[0].line, f"a pod that cannot be read: {error}") from None
    found: dict[int, DemandSource] = {}
    for row in range(len(world.pods)):
        traits = world.pod_traits[world.pods.traits[row]]
        if traits.daemonset or traits.mirror:
            continue
        index = int(world.pods.name[row])
        named = traits.controller is None or traits.controller.kind == _BY_NAME
        shape = world.pod_shapes[world.pods.shape[row]]
        found[index] = DemandSource(shape=shape, traits=traits, pod_name=pods[index].name if named else "")
    return found


def _item(index: int, pod: PodManifest) -> dict[str, object]:
    kept = {key: pod.metadata[key] for key in _KEPT_METADATA if key in pod.metadata}
    spec = {key: value for key, value in pod.spec.items() if key not in ("nodeName", "schedulingGates")}
    return {"metadata": {**kept, "namespace": pod.namespace, "name": str(index)}, "spec": spec, "status": {"phase": "Pending"}}
