"""The workload cluster that `--cluster NAME` means, among those that a management cluster describes."""

import difflib

from reconciler.cli.outputs.failure import InputError
from reconciler.cluster.world import World
from reconciler.values.cluster_identity import ClusterIdentity


def named_cluster(world: World, given: str) -> ClusterIdentity:
    """`NAMESPACE/NAME`, or a name that only one Cluster has. Raises `InputError`, with the nearest name."""
    found = [one for one in world.clusters if given in (one.title, one.name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"--cluster {given}: several Clusters have this name: {', '.join(one.title for one in found)}")
    titles = [one.title for one in world.clusters]
    near = difflib.get_close_matches(given, [*titles, *(one.name for one in world.clusters)], n=1)
    there = ", ".join(titles[:10]) or "none"
    raise InputError(f"--cluster {given}: no such Cluster." + (f" Did you mean {near[0]}?" if near else f" There are: {there}."))
