"""What reconciler answers about a snapshot, in the form of `reconciler fit -o json`."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.values.kubernetes_version import KubernetesVersion, kubernetes_version
from reconciler.cluster.world import World
from reconciler.importers.document import imported_policy
from reconciler.importers.settings import settings_in
from reconciler.importers.sources import Sources
from reconciler.policy.documents import NodeGroupPolicy
from reconciler.policy.tree import default_policy, read_tree
from reconciler.scheduling.default_spread import with_default_spread
from reconciler.scheduling.fit import fit
from reconciler.values.feature_gate import default_gates

Object = dict[str, Any]
RECORDED: KubernetesVersion = (1, 36, 3)
"""The version of the recorded answers."""


def our_world(snapshot: Object, version: KubernetesVersion = RECORDED, gates: Mapping[str, bool] = {}) -> World:
    """A snapshot as we read it, for the scheduler that it was made for. The rules are those of a version, with the feature gates
    that the newest kubelet has by default, and with `gates`. No object of a kind means that there is none."""
    world = read_snapshot({"cluster.json": json.dumps(snapshot).encode(), "snapshot.yaml": manifest(snapshot, version, gates)})
    return with_default_spread(world, our_policy(snapshot))


def manifest(snapshot: Object, version: KubernetesVersion = RECORDED, gates: Mapping[str, bool] = {}) -> bytes:
    """`snapshot.yaml` of a snapshot."""
    told = [item["status"].get("nodeInfo", {}).get("kubeletVersion", "") for item in snapshot["items"] if item["kind"] == "Node"]
    newest = max(filter(None, map(kubernetes_version, told)), default=version)
    written = {
        "formatVersion": "1.0",
        "kinds": _ALL_KINDS,
        "kubernetesVersion": "v" + ".".join(map(str, version)),
        "featureGates": dict(default_gates(newest[1])) | dict(gates),
    }
    return json.dumps(written).encode()


_ALL_KINDS = (
    "Service", "ReplicaSet", "StatefulSet", "ReplicationController", "DeviceClass", "ResourceSlice", "ResourceClaim",
)  # fmt: skip


def our_policy(snapshot: Object) -> NodeGroupPolicy:
    """The policy that `reconciler import` makes of the scheduler's configuration, where the snapshot has one."""
    for item in snapshot["items"]:
        if item["kind"] == "KubeSchedulerConfiguration":
            files = {"scheduler.json": json.dumps(item, indent=1).encode()}
            files, _ = imported_policy(settings_in("scheduler.json", files["scheduler.json"], Sources(files)), "imported")
            (policy,) = read_tree({name: text.encode() for name, text in files.items()}, now_seconds=0).sets
            # The oracle asks one profile about every pod, whatever scheduler the pod names.
            names = {pod["spec"].get("schedulerName", "default-scheduler") for pod in snapshot["items"] if pod["kind"] == "Pod"}
            rules = msgspec.structs.replace(policy.policy.pods, scheduler_names=tuple(sorted(names)))
            return msgspec.structs.replace(policy.policy, pods=rules)
    return default_policy().policy


def our_fit(snapshot: Object, version: KubernetesVersion = RECORDED, gates: Mapping[str, bool] = {}) -> Object:
    """The verdicts of the functions behind the `fit` command; that the command prints the same is a test of its own."""
    pods = []
    for answer in fit(our_world(snapshot, version, gates)):
        nodes = []
        for node in answer.nodes:
            reasons = [rejection.plugin for rejection in node.rejections]
            nodes.append({"node": node.node, "fits": not reasons, "reasons": reasons})
        pods.append({"pod": answer.pod, "nodes": nodes})
    return {"formatVersion": "1.0", "pods": pods}
