"""Leaving a group alone for a while after it failed to grow."""

from collections.abc import Iterable, Sequence

import msgspec

from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.memory import BackoffState, Memory, Outcome, TierState
from reconciler.decisions.reasons.owners import WriteDenied
from reconciler.decisions.situation.group_situation import GroupSituation
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Tier
from reconciler.values.instant import instant_text


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


# Tiers with `returnAfter`: since when each has had capacity, and how long nodes of lower tiers wait for more than that.

LONGEST_WAIT_SECONDS = 86_400


def return_rule(after_seconds: int) -> BackoffRule:
    """The wait of a tier: `returnAfter`, doubled by each failure in a row after the first. It is at most a day, or `returnAfter`
    where that is longer. The failures are forgotten after twice the longest wait."""
    longest = max(after_seconds, LONGEST_WAIT_SECONDS)
    return BackoffRule(initial_seconds=after_seconds, max_seconds=longest, reset_seconds=2 * longest)


def note_tiers(memory: Memory, tiers: Iterable[Tier], groups: Sequence[EffectiveGroup], now_seconds: int) -> Memory:
    """The memory with the capacity of every tier with `returnAfter`. A tier that is seen for the first time has it from now on,
    or from the end of its last back-off. A failure of any of its groups restarts it."""
    states: dict[str, TierState] = {}
    for tier in tiers:
        if tier.return_after_seconds is not None:
            backoffs = [memory.backoffs[one.name] for one in groups if one.tier == tier.name and one.name in memory.backoffs]
            before = memory.tiers.get(tier.name)
            failed = max((one.failed_seconds for one in backoffs), default=0)
            until = max((one.until_seconds for one in backoffs), default=0)
            state = before or TierState(since_seconds=now_seconds)
            longest = now_seconds + max((BackoffRule.of(one).max_seconds for one in groups if one.tier == tier.name), default=0)
            if state.since_seconds > longest:
                state = msgspec.structs.replace(
                    state, since_seconds=now_seconds, failed_seconds=min(state.failed_seconds, now_seconds)
                )
            if failed > state.failed_seconds:
                state = failed_again(state, return_rule(tier.return_after_seconds), failed)
            states[tier.name] = msgspec.structs.replace(state, since_seconds=max(state.since_seconds, until))
    return msgspec.structs.replace(memory, tiers=states)


def failed_again(state: TierState, rule: BackoffRule, failed_seconds: int) -> TierState:
    """The state after one more failure. Failures before the end of the last back-off count once: one purchase, several
    machines."""
    forgotten = failed_seconds - state.failed_seconds >= rule.reset_seconds
    failures = 0 if forgotten else state.failures
    if failures == 0 or failed_seconds >= state.since_seconds:
        failures += 1
    return TierState(failures=failures, failed_seconds=failed_seconds, since_seconds=max(state.since_seconds, failed_seconds))


def return_wait_seconds(state: TierState, after_seconds: int, now_seconds: int) -> int:
    """How long a tier must have had capacity before nodes return to it, and how long a node stays before it returns."""
    rule = return_rule(after_seconds)
    known = now_seconds - state.failed_seconds < rule.reset_seconds
    return rule.wait_seconds(state.failures if known else 0)


# Writes that the platform denies because a permission is missing. They are tried again now and then, and reported until one of
# their kind succeeds.
#
# A denial is not a failure of the group's nodes, nor another writer's answer. Growth and removal are kept apart, because they
# need different permissions.

DENIED = "Denied"
GROWTH, REMOVAL = "growth", "removal"
RULE = BackoffRule(initial_seconds=30, max_seconds=300, reset_seconds=1800)
"""A person who fixes it waits at most five minutes; half an hour after the last denial nobody asks for it any more."""
_SIDES = {
    ActionKind.ADOPT: GROWTH,
    ActionKind.RESIZE: GROWTH,
    ActionKind.REPLACE: GROWTH,
    ActionKind.REMOVE_NODE: REMOVAL,
    ActionKind.CANCEL: REMOVAL,
}


def with_outcome(memory: Memory, outcome: Outcome) -> Memory:
    """The memory after one write that was tried: a denial is kept, and what was done ends those of its kind."""
    side = _SIDES.get(ActionKind(outcome.kind))
    if side is None:
        return memory
    key = _key(side, outcome.target)
    if outcome.code == DENIED:
        state = RULE.after(memory.denials.get(key), outcome.at_seconds, outcome.message)
        return msgspec.structs.replace(memory, denials={**memory.denials, key: state})
    # A removal that begins has only marked a node.
    begins = outcome.kind == ActionKind.REMOVE_NODE and outcome.nodes and not outcome.generation
    if not outcome.done or begins or key not in memory.denials:
        return memory
    return msgspec.structs.replace(memory, denials={name: state for name, state in memory.denials.items() if name != key})


def lasting(memory: Memory, targets: Iterable[str], now_seconds: int) -> dict[str, BackoffState]:
    """Those of targets that are there, until nobody has asked for it for long."""
    keys = {_key(side, target) for target in targets for side in (GROWTH, REMOVAL)}
    return {
        key: state
        for key, state in sorted(memory.denials.items())
        if key in keys and now_seconds - state.failed_seconds < RULE.reset_seconds
    }


def denied_now(memory: Memory, side: str, target: str, now_seconds: int) -> WriteDenied | None:
    """What is not asked for again yet; None where it may be."""
    state = memory.denials.get(_key(side, target))
    return _write_denied(side, state) if state is not None and state.until_seconds > now_seconds else None


def retry_seconds(memory: Memory, kind: ActionKind, group: str, target: str, now_seconds: int) -> int:
    """The instant until which an action of this kind is not tried again; 0 where nothing keeps it from being tried."""
    side = _SIDES.get(kind)
    denial = memory.denials.get(_key(side, target)) if side is not None else None
    states = (denial, memory.backoffs.get(group) if side == GROWTH else None)
    return max((state.until_seconds for state in states if state is not None and state.until_seconds > now_seconds), default=0)


def denials_of(memory: Memory, target: str) -> tuple[WriteDenied, ...]:
    """All that stand of one target, those among them that may be asked for again."""
    states = ((side, memory.denials.get(_key(side, target))) for side in (GROWTH, REMOVAL))
    return tuple(_write_denied(side, state) for side, state in states if state is not None)


def _write_denied(side: str, state: BackoffState) -> WriteDenied:
    return WriteDenied(what=side, times=state.failures, until=instant_text(state.until_seconds), why=state.reason)


def _key(side: str, target: str) -> str:
    return f"{side} {target}"
