"""Why no node of a set may be removed at the moment, whatever runs on it."""

from collections.abc import Iterable

from reconciler.cluster.nodes.node import Node

_CONFIG = "machineconfiguration.openshift.io/"


def failed_beside(names: Iterable[str]) -> str:
    """SOURCE: measured on the controller of MachineSets: a Failed Machine ties with one that is marked for deletion, and of the
    two the one with the earlier name goes (12 of 12 runs), which may be either."""
    found = sorted(names)
    if not found:
        return ""
    named = ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
    return f"Machine {named} failed and would go, or not, instead of the one that is chosen: it has to be cancelled first"


def updated_beside(nodes: Iterable[Node]) -> str:
    """The machine config operator cordons, drains and restarts nodes one after the other: no second one goes beside it.

    SOURCE: the annotations of the operator's daemon; a node is at rest when its current config is the desired one, the drain that
    was asked for last was done, and its state says Done.
    """
    for node in nodes:
        annotations = dict(node.annotations)
        state = annotations.get(f"{_CONFIG}state", "")
        config = [annotations.get(f"{_CONFIG}{name}", "") for name in ("currentConfig", "desiredConfig")]
        drain = [annotations.get(f"{_CONFIG}{name}", "") for name in ("lastAppliedDrain", "desiredDrain")]
        if config[0] != config[1] or drain[0] != drain[1] or state not in ("", "Done"):
            return f"the machine config operator is at work on node {node.name} of the same role (state {state or 'unset'})"
    return ""
