"""Machines that the platform ends at a known time, such as those of a Capacity Block: when their nodes are drained before it.

SOURCE: AWS begins to terminate the instances of a Capacity Block 30 minutes before its end. The Amazon EKS user guide asks for a
drain before that. Karpenter begins to drain 10 minutes before AWS begins. Here, budgets let few nodes leave at once, so drains
begin earlier.
"""

from collections.abc import Iterable

from reconciler.cluster.nodes.node import ZONE_LABEL, NodeShape
from reconciler.cluster.target import Ending, Machine
from reconciler.decisions.groups.group import EffectiveGroup

DRAIN_SECONDS = 1800
"""So long before the platform ends machines, their nodes begin to leave."""
LAST_GROWTH_SECONDS = 3600
"""So long before the platform ends machines, no more are requested: a new node would leave within half an hour."""


def last_growth(group: EffectiveGroup, now_seconds: int) -> Ending | None:
    """The end that is too near for another node; None if there is none."""
    return _near(_endings(group), now_seconds, LAST_GROWTH_SECONDS)


def ending_of(group: EffectiveGroup, shape: NodeShape, machine: Machine | None, now_seconds: int) -> Ending | None:
    """The end for which a node of the group has to leave now; None if there is none. A machine of an older template may be
    somewhere else, so its end is unknown."""
    if machine is None or machine.outdated:
        return None
    zone = machine.zone or shape.label(ZONE_LABEL) or ""
    return _near((one for one in _endings(group) if one.zone in ("", zone)), now_seconds, DRAIN_SECONDS)


def _endings(group: EffectiveGroup) -> tuple[Ending, ...]:
    return group.facts.endings if group.facts is not None else ()


def _near(endings: Iterable[Ending], now_seconds: int, seconds: int) -> Ending | None:
    due = [one for one in endings if now_seconds >= one.at_seconds - seconds]
    return min(due, key=lambda one: (one.at_seconds, one.what), default=None)
