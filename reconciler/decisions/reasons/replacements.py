"""What keeps a node out of every replacement."""

from reconciler.plan.reason import Because
from reconciler.values.duration import duration_text


class ReplacementDisabled(Because, frozen=True, kw_only=True):
    """The policy replaces no nodes of the group."""

    code = "ReplacementDisabled"
    group: str

    template = "scaleDown.consolidation.mode of {group} is Disabled"


class ReplacementWithoutPrice(Because, frozen=True, kw_only=True):
    """Nobody knows what the node costs, so nobody knows what a replacement would save."""

    code = "ReplacementWithoutPrice"
    group: str

    template = "the price of a node of {group} is unknown: write pricePerHour"


class ReplacementBlocked(Because, frozen=True, kw_only=True):
    """The node could not be drained once its replacement is there. The codes are those of its blockers."""

    code = "ReplacementBlocked"
    codes: tuple[str, ...]
    why: str

    template = "it could not be drained: {why}"


class ReplacedBefore(Because, frozen=True, kw_only=True):
    """A replacement of the node was given up, so the same is not tried again for a day."""

    code = "ReplacedBefore"
    since: str
    until: str

    template = "its replacement was given up at {since}, and is not tried again before {until}"


class RepackedBefore(Because, frozen=True, kw_only=True):
    """The node came for several others, so only one new node alone may replace it for an hour."""

    code = "RepackedBefore"
    since: str
    until: str

    template = "it took pods of a replacement at {since}. Several new nodes do not replace it before {until}"


class ReplacementUnpaid(Because, frozen=True, kw_only=True):
    """The last replacement for the same pods has not saved yet what it was begun for, so no other one begins."""

    code = "ReplacementUnpaid"
    nodes: tuple[str, ...]
    since: str
    until: str

    template = (
        "the replacement of {nodes} waits: the last one for the same pods began at {since} and has not saved enough yet. "
        "It begins when that has, when pods change, or at {until}"
    )


class ReplacementPaysLate(Because, frozen=True, kw_only=True):
    """A replacement saves enough, but old and new nodes would run together for so long that the saving does not pay within a day
    (`disruption: Balanced`)."""

    code = "ReplacementPaysLate"
    nodes: tuple[str, ...]
    payback_seconds: int

    def sentence(self) -> str:
        """The nodes, and when the replacement would have paid."""
        pays = f"it pays back in {duration_text(self.payback_seconds)}"
        return f"the replacement of {', '.join(self.nodes)} does not begin: {pays}, and Balanced allows 24h"


class ReplacementSavesTooLittle(Because, frozen=True, kw_only=True):
    """No set with the node was found whose replacement saves enough."""

    code = "ReplacementSavesTooLittle"
    percent: int
    per_moved_pod: str
    balanced: bool

    def sentence(self) -> str:
        """What the policy asks for."""
        each = f"{self.per_moved_pod}/h for each moved pod (minSavingPerMovedPod)"
        weighed = ", and as much as the moved pods weigh (disruption: Balanced)" if self.balanced else ""
        return f"no new nodes were found that save {self.percent}% (minSavingPercent) and {each}{weighed}"
