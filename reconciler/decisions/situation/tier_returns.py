"""Tiers with `returnAfter`: since when each has capacity, and how long nodes of lower tiers wait for it."""

from collections.abc import Iterable, Sequence

import msgspec

from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.memory import Memory, TierState
from reconciler.decisions.situation.backoff import BackoffRule
from reconciler.policy.documents import Tier

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
