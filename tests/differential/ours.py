"""What reconciler answers about a snapshot, in the form of `reconciler fit -o json`."""

import json
from typing import Any

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import World
from reconciler.scheduling.fit import fit

Object = dict[str, Any]


def our_world(snapshot: Object) -> World:
    """A snapshot as we read it."""
    return read_snapshot({"cluster.json": json.dumps(snapshot).encode()})


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
