"""What the loop asks of our custom resources: to show the result of an iteration."""

from collections.abc import Mapping
from typing import Protocol

from reconciler.control.turn.turn_report import LoopReport
from reconciler.kube.leading.events import Subject
from reconciler.plan.plan import Plan


class OwnObjects(Protocol):
    """Custom resources of ours, on which a turn is told: their status, and Events about them."""

    def subjects(self, plan: Plan | None) -> Mapping[str, Subject]:
        """What Events are about, by the text that the plan calls a target by."""

    def turned(self, report: LoopReport) -> None:
        """After a turn. Never raises for what a server does."""
