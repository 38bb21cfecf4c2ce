"""Leaving a group alone for a while after it failed to grow."""

from collections.abc import Sequence

import msgspec

from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.memory import BackoffState, Memory
from reconciler.decisions.situation.group_situation import GroupSituation


class BackoffRule(msgspec.Struct, frozen=True, kw_only=True):
    """First wait, longest wait, and how long after the last failure all is forgotten.

    Defaults and the doubling are those of the Cluster Autoscaler (`exponential_backoff`): 5, 10, 20, 30, 30 minutes,
    forgotten after 3 hours.
    """

    initial_seconds: int = 300
    max_seconds: int = 1800
    reset_seconds: int = 10_800

    @staticmethod
    def of(group: EffectiveGroup) -> "BackoffRule":
        """The rule of one group."""
        return BackoffRule(
            initial_seconds=group.backoff_initial_seconds,
            max_seconds=group.backoff_max_seconds,
            reset_seconds=group.backoff_reset_seconds,
        )

    def after(self, before: BackoffState | None, failed_seconds: int, reason: str) -> BackoffState:
        """The state after one more failure. A failure during a running back-off (one purchase, several machines) does
        not double it."""
        if before is not None and failed_seconds < before.until_seconds:
            return before
        known = before is not None and failed_seconds - before.failed_seconds < self.reset_seconds
        failures = before.failures + 1 if before is not None and known else 1
        # The exponent is bounded so that a long history cannot make a huge number first.
        wait = min(self.initial_seconds * 2 ** min(failures - 1, 30), self.max_seconds)
        return BackoffState(failures=failures, failed_seconds=failed_seconds, until_seconds=failed_seconds + wait, reason=reason)


def note_failures(
    memory: Memory, groups: Sequence[EffectiveGroup], situations: Sequence[GroupSituation], now_seconds: int
) -> Memory:
    """The memory with a back-off for every group that shows a failed or overdue machine not seen before."""
    backoffs = dict(memory.backoffs)
    known = frozenset(memory.failed_machines)
    failed: list[str] = []
    last = memory.last_failed_seconds
    for group, situation in zip(groups, situations, strict=True):
        names = [f"{group.target}/{name}" for name, _ in situation.failed]
        failed.extend(names)
        fresh = [text for name, (_, text) in zip(names, situation.failed, strict=True) if name not in known]
        if fresh:
            rule = BackoffRule.of(group)
            if situation.needs_person:
                # Asking again soon is in vain: the longest wait from the first failure on.
                rule = msgspec.structs.replace(rule, initial_seconds=rule.max_seconds)
            backoffs[group.name] = rule.after(backoffs.get(group.name), now_seconds, fresh[0])
            last = now_seconds
    return msgspec.structs.replace(memory, backoffs=backoffs, failed_machines=tuple(sorted(failed)), last_failed_seconds=last)


def forget(memory: Memory, groups: Sequence[EffectiveGroup], resumed: frozenset[str], now_seconds: int) -> Memory:
    """Drop back-offs that are over for good, of groups that are gone, and of groups whose hold has just ended; with the
    end of a hold the count of conflicts starts afresh too."""
    rules = {group.name: BackoffRule.of(group) for group in groups}
    kept = {
        name: state
        for name, state in sorted(memory.backoffs.items())
        if name in rules and name not in resumed and now_seconds - state.failed_seconds < rules[name].reset_seconds
    }
    freed = {str(group.target) for group in groups if group.name in resumed}
    conflicts = {target: state for target, state in memory.conflicts.items() if target not in freed}
    return msgspec.structs.replace(memory, backoffs=kept, conflicts=conflicts)
