"""Reasons about machines that a target was asked for, makes or gives back."""

from reconciler.decisions.reasons.amounts import count_text
from reconciler.plan.reason import Because


class UpcomingNodes(Because, frozen=True, kw_only=True):
    """Nodes already asked for that no pod can use yet: `starting` of them have joined, and wait for what `waits_for` names."""

    code = "UpcomingNodes"
    count: int
    starting: int = 0
    waits_for: tuple[str, ...] = ()

    def sentence(self) -> str:
        """How many, and what those that have joined wait for."""
        parts = [f"{count_text(self.count - self.starting, 'node')} asked for and not registered yet"]
        if self.starting:
            named = f" ({', '.join(self.waits_for)})" if self.waits_for else ""
            parts.append(f"{count_text(self.starting, 'node')} joined and not started yet{named}")
        return ", ".join(parts[self.count == self.starting :])


class MachinesFailed(Because, frozen=True, kw_only=True):
    """Machines that will not become nodes by themselves."""

    code = "MachinesFailed"
    count: int
    first: str

    def sentence(self) -> str:
        """How many, and the first message."""
        return f"{count_text(self.count, 'machine')} failed or did not register in time; {self.first}"


class MayNotReturn(Because, frozen=True, kw_only=True):
    """The last node of a group goes whose machines are scarce."""

    code = "MayNotReturn"
    why: str

    template = "the group goes to 0 and its machines back to the provider; they may not be had again: {why}"


class Replaced(Because, frozen=True, kw_only=True):
    """The target makes machines by itself for nodes that went: its desired count did not change."""

    code = "Replaced"
    machines: tuple[str, ...]
    replicas: int
    since: str

    def sentence(self) -> str:
        """Which machines, and why they come."""
        return (
            f"{count_text(len(self.machines), 'machine')} ({', '.join(self.machines)}) in place of nodes that went, made by the "
            f"target: it keeps {self.replicas} replicas, unchanged since {self.since}"
        )


class RequestCancelled(Because, frozen=True, kw_only=True):
    """Requests for nodes that never came are taken back: exactly these machines go, and the size falls by no more than them."""

    code = "RequestCancelled"
    machines: tuple[str, ...]
    without_machine: int
    nodes: int
    why: str

    def sentence(self) -> str:
        """What goes, why, and what stays."""
        parts = [f"machine {', '.join(self.machines)}"] if self.machines else []
        if self.without_machine:
            parts.append(f"{count_text(self.without_machine, 'request')} without a machine")
        stay = "the 1 node stays" if self.nodes == 1 else f"all {self.nodes} nodes stay"
        return f"{' and '.join(parts)} never became a node ({self.why}): taken back, {stay}"


class AskedAnew(Because, frozen=True, kw_only=True):
    """Machines that never became nodes are replaced: the group is at its minimum, so that its size stays."""

    code = "AskedAnew"
    machines: tuple[str, ...]
    min: int
    why: str

    def sentence(self) -> str:
        """What is replaced, why, and why the size stays."""
        names = ", ".join(self.machines)
        return f"machine {names} never became a node ({self.why}): asked for anew, since the minimum is {self.min}"
