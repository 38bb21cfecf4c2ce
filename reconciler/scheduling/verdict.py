"""Why a pod does not run on a node: every filter plugin that says no, in kube-scheduler's names."""

from collections.abc import Sequence

import msgspec

from reconciler.cluster.values.resources import PODS
from reconciler.values.plural import count_text
from reconciler.values.quantity import Rounding, amount_text


class Rejection(msgspec.Struct, frozen=True, order=True):
    """One filter plugin's no. `plugin` is its registered name (`NodeResourcesFit`), `message` one phrase with numbers."""

    plugin: str
    message: str


class Shortage(msgspec.Struct, frozen=True):
    """A node has too little of one resource: `free` (below zero if overcommitted) of `allocatable`, which may be left out."""

    resource: str
    needed: int
    free: int
    allocatable: int | None = None

    def text(self) -> str:
        """`20 cpu (3.95 of 4 free)`. The need rounds up and the rest down, so that they never look equal."""
        needed = amount_text(self.resource, self.needed, Rounding.UP)
        needed = count_text(self.needed, "pod slot") if self.resource == PODS else f"{needed} {self.resource}"
        there = amount_text(self.resource, max(0, self.free), Rounding.DOWN)
        if self.allocatable is None:
            return f"{needed} ({there} free)"
        return f"{needed} ({there} of {amount_text(self.resource, self.allocatable, Rounding.DOWN)} free)"


def shortages_text(short: Sequence[Shortage], others: int = 0) -> str:
    """`needs 20 cpu (3.95 of 4 free) and 8Gi memory (2Gi of 4Gi free)`. `others` counts unnamed resources that no node has."""
    words = [shortage.text() for shortage in short]
    if others:
        words.append(f"{count_text(others, 'other resource')} that no node has")
    *most, last = words
    return f"needs {', '.join(most)} and {last}" if most else f"needs {last}"
