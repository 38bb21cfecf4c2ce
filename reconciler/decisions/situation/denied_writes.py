"""Writes that the platform denies because a permission is missing.

They are tried again now and then, and reported until one of their kind succeeds. A denial is not a failure of the group's
nodes, nor another writer's answer. Growth and removal are kept apart, because they need different permissions.
"""

from collections.abc import Iterable

import msgspec

from reconciler.decisions.memory import BackoffState, Memory, Outcome
from reconciler.decisions.reasons.owners import WriteDenied
from reconciler.decisions.situation.backoff import RULE
from reconciler.plan.plan import ActionKind
from reconciler.values.instant import instant_text

DENIED = "Denied"
GROWTH, REMOVAL = "growth", "removal"


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
