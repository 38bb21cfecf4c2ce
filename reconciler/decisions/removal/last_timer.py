"""From when on nothing but use keeps a node that may go: the timer that ends last, and which one that is."""

from collections.abc import Mapping

import msgspec

from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.reasons.drain_rules import DoNotDisrupt, JobAwaited
from reconciler.decisions.reasons.groups import CoolDown
from reconciler.decisions.reasons.kept_nodes import DisruptionBudgetUsedUp, KeptByWindow, RemovalsOffByWindow
from reconciler.decisions.removal.budgets import BudgetLedger
from reconciler.decisions.removal.kinds import KINDS
from reconciler.plan.reason import Blocker
from reconciler.policy.documents import RemovalReason, Toggle
from reconciler.policy.windows import OpenWindow, open_windows
from reconciler.values.instant import instant_text

_MOST_SPANS = 100
"""Spans of budgets and windows that follow each other without a gap; with more of them nobody knows an end."""


LAST_TIMERS: Mapping[str, str] = {
    CoolDown.code: "when the cool-down ends",
    DisruptionBudgetUsedUp.code: "when the budget opens",
    DoNotDisrupt.code: "when do-not-disrupt ends",
    JobAwaited.code: "when the wait for its Jobs ends",
    KeptByWindow.code: "when the window closes",
    RemovalsOffByWindow.code: "when the window closes",
}
"""What happens at the end of the last timer, by the code of the blocker; the node's own time is none of them."""


class Timer(msgspec.Struct, frozen=True, kw_only=True):
    """The one that ends last. `at_seconds` None: it has no known end. `blocker` None: it has ended."""

    at_seconds: int | None
    blocker: Blocker | None = None


class LastTimers:
    """The last timer of every node of a plan. Timers are its own time (unneeded or unready), cool-downs, scheduled budgets of
    zero, and windows that keep its group larger.

    Used-up budgets are not timers: they are free again when a drain ends, and that time is unknown.
    """

    def __init__(self, draft: Draft, budgets: BudgetLedger) -> None:
        self._draft = draft
        self._budgets = budgets
        self.cool_down = cool_down(draft)
        self._shut: dict[tuple[RemovalReason, int, tuple[bool, ...]], Timer | None] = {}
        self._opened: dict[tuple[int, int], tuple[OpenWindow, ...]] = {}
        self._last: dict[tuple[object, ...], Timer] = {}
        """By all that the timer of a node depends on: equal nodes share theirs."""

    def last(
        self, group: GroupDraft, node: int, reason: RemovalReason, own_seconds: int, left: int, *, cools_down: bool
    ) -> Timer:
        """For one node, by index. `own_seconds` is when its own time ends. `left` is the size of the group without the node."""
        sizes = left if group.group.windows else None
        key = group.position, reason, own_seconds, sizes, cools_down, self._budgets.same_zero(node)
        if key not in self._last:
            self._last[key] = self._found(group, node, reason, own_seconds, left, cools_down=cools_down)
        return self._last[key]

    def _found(
        self, group: GroupDraft, node: int, reason: RemovalReason, own_seconds: int, left: int, *, cools_down: bool
    ) -> Timer:
        at, blocker = self._draft.now_seconds, None
        if own_seconds > at:
            waits = KINDS[reason].waits(why=reason.value, removable_at=instant_text(own_seconds))
            at, blocker = own_seconds, waits.blocker()
        if cools_down and self.cool_down is not None and self.cool_down[0] > at:
            at, blocker = self.cool_down[0], self.cool_down[1].blocker()
        for _ in range(_MOST_SPANS):
            later = self._shut_at(reason, node, at) or self._kept_at(group, left, at)
            if later is None:
                return Timer(at_seconds=at, blocker=blocker)
            if later.at_seconds is None:
                return later
            at, blocker = later.at_seconds, later.blocker
        return Timer(at_seconds=None, blocker=blocker)

    def _shut_at(self, reason: RemovalReason, node: int, at_seconds: int) -> Timer | None:
        """The budget of zero that is open then, with its end; None where there is none."""
        key = reason, at_seconds, self._budgets.same_zero(node)
        if key not in self._shut:
            shut = self._budgets.shut_at(reason, node, at_seconds)
            self._shut[key] = None if shut is None else Timer(at_seconds=shut[1], blocker=shut[0].blocker())
        return self._shut[key]

    def _kept_at(self, group: GroupDraft, left: int, at_seconds: int) -> Timer | None:
        """The window that keeps the group larger or turns its removals off then. One that is open now has its effect already."""
        if at_seconds == self._draft.now_seconds or not group.group.windows:
            return None
        key = group.position, at_seconds
        if key not in self._opened:
            self._opened[key] = open_windows(group.group.windows, at_seconds)
        opened = self._opened[key]
        kept = [(one.until_seconds, least) for one in opened if left < (least := one.window.size.min or 0)]
        if not kept:
            # Of several open windows, the strictest value counts.
            off_until = max((one.until_seconds for one in opened if one.window.scale_down.mode is Toggle.DISABLED), default=None)
            if off_until is None:
                return None
            off = RemovalsOffByWindow(group=group.group.name, until=instant_text(off_until))
            return Timer(at_seconds=off_until, blocker=off.blocker())
        until, least = max(kept)
        why = KeptByWindow(group=group.group.name, min=least, until=instant_text(until))
        return Timer(at_seconds=until, blocker=why.blocker())


def cool_down(draft: Draft) -> tuple[int, CoolDown] | None:
    """The cool-down in force that ends last, and when. A plan that adds nodes removes none, unless that delay is 0."""
    pace, memory, now = draft.policy.pace, draft.memory, draft.now_seconds
    running = [
        (since + delay, CoolDown(after=after, delay_seconds=delay, until=instant_text(since + delay)))
        for after, delay, since in (
            ("nodes were added", pace.delay_after_add_seconds, memory.last_added_seconds),
            ("a removal", pace.delay_after_delete_seconds, memory.last_removed_seconds),
            ("a failure", pace.delay_after_failure_seconds, memory.last_failed_seconds),
        )
        if since and since + delay > now
    ]
    if draft.added and pace.delay_after_add_seconds:
        delay = pace.delay_after_add_seconds
        running.append((now + delay, CoolDown(after="the nodes that this plan adds", delay_seconds=delay, until="")))
    return max(running, key=lambda pair: pair[0]) if running else None
