"""The machine behind a node."""

from reconciler.cluster.target import Machine, TargetRef


def machine_of(machines: tuple[Machine, ...], target: TargetRef, node: str) -> str:
    """The name of the Machine of `target` that became `node`; empty if there is none, or more than one."""
    names = [machine.name for machine in machines if machine.node == node and machine.target == target]
    return names[0] if len(names) == 1 else ""
