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
            initial_seconds=group.scale_up.backoff.initial_seconds,
            max_seconds=group.scale_up.backoff.max_seconds,
            reset_seconds=group.scale_up.backoff.reset_seconds,
        )

    def after(self, before: BackoffState | None, failed_seconds: int, reason: str) -> BackoffState:
        """The state after one more failure. A failure during a running back-off (one purchase, several machines) does
        not double it."""
        if before is not None and failed_seconds < before.until_seconds:
            return before
        known = before is not None and failed_seconds - before.failed_seconds < self.reset_seconds
        failures = before.failures + 1 if before is not None and known else 1
        until = failed_seconds + self.wait_seconds(failures)
        return BackoffState(failures=failures, failed_seconds=failed_seconds, until_seconds=until, reason=reason)

    def by_now(self, state: BackoffState, now_seconds: int) -> BackoffState:
        """The state as it can be now. One that a clock ahead of ours has written ends after the longest wait at most."""
        failed, until = min(state.failed_seconds, now_seconds), min(state.until_seconds, now_seconds + self.max_seconds)
        if (failed, until) == (state.failed_seconds, state.until_seconds):
            return state
        return msgspec.structs.replace(state, failed_seconds=failed, until_seconds=until)

    def wait_seconds(self, failures: int) -> int:
        """The wait after so many failures in a row; none waits as long as one."""
        # The exponent is bounded so that a long history cannot make a huge number first.
        doubled: int = self.initial_seconds << min(max(failures - 1, 0), 30)
        return min(doubled, self.max_seconds)


def note_failures(
    memory: Memory, groups: Sequence[EffectiveGroup], situations: Sequence[GroupSituation], now_seconds: int
) -> Memory:
    """The memory with a back-off for every group that shows a failed or overdue machine not seen before."""
    backoffs, last_failures = dict(memory.backoffs), dict(memory.last_failures)
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
            last = last_failures[group.name] = now_seconds
    return msgspec.structs.replace(
        memory,
        backoffs=backoffs,
        last_failures=last_failures,
        failed_machines=tuple(sorted(failed)),
        last_failed_seconds=last,
    )


def forget(memory: Memory, groups: Sequence[EffectiveGroup], resumed: frozenset[str], now_seconds: int) -> Memory:
    """Drop back-offs that are over, of groups that are gone, and of groups whose hold has just ended. The end of a hold also
    resets the count of conflicts."""
    rules = {group.name: BackoffRule.of(group) for group in groups}
    kept = {
        name: rules[name].by_now(state, now_seconds)
        for name, state in sorted(memory.backoffs.items())
        if name in rules and name not in resumed and now_seconds - state.failed_seconds < rules[name].reset_seconds
    }
    denials = {key: RULE.by_now(state, now_seconds) for key, state in memory.denials.items()}
    freed = {str(group.target) for group in groups if group.name in resumed}
    conflicts = {target: state for target, state in memory.conflicts.items() if target not in freed}
    failures = {name: seconds for name, seconds in memory.last_failures.items() if name not in resumed}
    return msgspec.structs.replace(memory, backoffs=kept, conflicts=conflicts, denials=denials, last_failures=failures)


RULE = BackoffRule(initial_seconds=30, max_seconds=300, reset_seconds=1800)
"""A person who fixes it waits at most five minutes; half an hour after the last denial nobody asks for it any more."""
