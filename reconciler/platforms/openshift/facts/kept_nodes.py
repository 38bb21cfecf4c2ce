"""Why no node of a MachineSet may be removed now."""

from collections.abc import Iterable

from reconciler.cluster.nodes.node import Node

_CONFIG = "machineconfiguration.openshift.io/"


def failed_beside(names: Iterable[str]) -> str:
    """A Failed Machine ties with one that is marked for deletion. SOURCE: measured on the controller of MachineSets: it
    deletes the one with the earlier name (12 of 12 runs). That may be either."""
    machines = sorted(names)
    if not machines:
        return ""
    named = ", ".join(machines[:3]) + (f" and {len(machines) - 3} more" if len(machines) > 3 else "")
    return f"Machine {named} failed and could go instead of the chosen one. Delete the failed Machine first"


def updated_beside(nodes: Iterable[Node]) -> str:
    """The machine config operator cordons, drains and restarts one node after the other. No second one is removed meanwhile.

    SOURCE: the annotations of the operator's daemon. A node is done if its current config is the desired one, the
    last requested drain was done, and its state is Done.
    """
    for node in nodes:
        annotations = dict(node.annotations)
        state = annotations.get(f"{_CONFIG}state", "")
        config = [annotations.get(f"{_CONFIG}{name}", "") for name in ("currentConfig", "desiredConfig")]
        drain = [annotations.get(f"{_CONFIG}{name}", "") for name in ("lastAppliedDrain", "desiredDrain")]
        if config[0] != config[1] or drain[0] != drain[1] or state not in ("", "Done"):
            return f"the machine config operator is updating node {node.name} of the same role (state {state or 'unset'})"
    return ""
