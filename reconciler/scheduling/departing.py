"""Which pods are on nodes that leave: those that are evicted, and those that end with their node."""

from array import array

from reconciler.cluster.pods.pod_table import FINISHED_PHASES
from reconciler.cluster.world import World
from reconciler.scheduling.kernels import rows


def departing(world: World, leaving: bytearray, *, ending: bool) -> "array[int]":
    """Rows of pods on the marked nodes, in order: with `ending`, the pods that end with their node, otherwise all others.
    Finished pods end with their node. So do mirror pods and DaemonSet pods, which nobody evicts. `leaving` has a byte for each
    node of the World."""
    pods = world.pods
    ends = bytearray(traits.daemonset or traits.mirror for traits in world.pod_traits)
    picked = array("i", bytes(4 * len(pods)))
    return picked[: rows.rows_on(pods.node, pods.traits, pods.phase, leaving, ends, *FINISHED_PHASES, ending, picked)]
