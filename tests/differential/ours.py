"""What reconciler answers about a snapshot, in the form of `reconciler fit -o json`."""

import json
from typing import Any

import msgspec

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import World
from reconciler.importers.document import imported_policy
from reconciler.importers.settings import settings_in
from reconciler.importers.sources import Sources
from reconciler.policy.documents import NodeGroupPolicy
from reconciler.policy.tree import default_policy, read_tree
from reconciler.scheduling.default_spread import with_default_spread
from reconciler.scheduling.fit import fit

Object = dict[str, Any]


def our_world(snapshot: Object) -> World:
    """A snapshot as we read it, for the scheduler that it was made for. No object of a kind means that there is none."""
    world = read_snapshot({"cluster.json": json.dumps(snapshot).encode(), "snapshot.yaml": ALL_KINDS})
    return with_default_spread(world, our_policy(snapshot))


ALL_KINDS = b"""formatVersion: "1.0"
kinds: [Service, ReplicaSet, StatefulSet, ReplicationController, DeviceClass, ResourceSlice, ResourceClaim]
"""


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


def our_fit(snapshot: Object) -> Object:
    """The verdicts of the functions behind the `fit` command; that the command prints the same is a test of its own."""
    pods = []
    for answer in fit(our_world(snapshot)):
        nodes = []
        for node in answer.nodes:
            reasons = [rejection.plugin for rejection in node.rejections]
            nodes.append({"node": node.node, "fits": not reasons, "reasons": reasons})
        pods.append({"pod": answer.pod, "nodes": nodes})
    return {"formatVersion": "1.0", "pods": pods}
