"""Reasons about machines that a target was asked for, makes or gives back."""

from reconciler.plan.reason import Because
from reconciler.values.plural import count_text

_NAMED_AT_MOST = 5


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
            f"target: it keeps {count_text(self.replicas, 'replica')}, unchanged since {self.since}"
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


class MachinesKept(Because, frozen=True, kw_only=True):
    """Machines without a node that stay, since they may be somebody else's, or run pods."""

    code = "MachinesKept"
    machines: tuple[str, ...]
    why: str

    def sentence(self) -> str:
        """Which, why, and what ends it."""
        return f"{_named(self.machines)} no node of this cluster and not taken back: {self.why}; end what is not needed by hand"


class NeverJoined(Because, frozen=True, kw_only=True):
    """The target has machines, and none of them has ever become a node of this cluster: it may be another cluster's."""

    code = "NeverJoined"
    target: str
    machines: tuple[str, ...]
    why: str

    def sentence(self) -> str:
        """What is missing, and what ends it."""
        return (
            f"no machine of {self.target} has ever become a node of this cluster, so that it may be another cluster's "
            f"({_named(self.machines)} none; {self.why}): nothing is written until one joins"
        )


class OtherCluster(Because, frozen=True, kw_only=True):
    """The target says that it is for another cluster. `here` are the names by which targets with nodes here, and the policy, call
    this cluster; empty where nothing tells which of several it is."""

    code = "OtherCluster"
    target: str
    named: tuple[str, ...]
    here: tuple[str, ...]

    def sentence(self) -> str:
        """Whose it is, and what ends it."""
        says = f"{self.target} says that it is for cluster {' and '.join(self.named)}"
        if not self.here:
            return (
                f"{says}, others of the policy name other clusters, and no node tells which one this is: "
                "nothing is written until a machine of it joins; leave groups of other clusters out of the policy"
            )
        this = " or ".join(self.here)
        return f"{says}, and this one is {this}: nothing is written; leave it out of the policy, or correct its tags"


def _named(machines: tuple[str, ...]) -> str:
    more = f" and {len(machines) - _NAMED_AT_MOST} more" if len(machines) > _NAMED_AT_MOST else ""
    listed = ", ".join(machines[:_NAMED_AT_MOST])
    return f"machine {listed} is" if len(machines) == 1 else f"machines {listed}{more} are"
