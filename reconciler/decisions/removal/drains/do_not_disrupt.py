"""Annotations of pods and nodes that forbid their disruption, forever or until a given time.

SOURCE: Karpenter 1.12. On a pod, `karpenter.sh/do-not-disrupt` is "true" or a Go duration from the start of the pod. On a node,
it is "true". Here, both accept an instant, too, and nodes accept a duration. `reconciler.dev/do-not-disrupt` means the same.

"false" holds nothing. Any other value, which Karpenter ignores, holds here without an end, and the reason says so.
"""

from collections.abc import Iterable
from math import ceil

import msgspec

from reconciler.cluster.wire.pod import DO_NOT_DISRUPT, KARPENTER_DO_NOT_DISRUPT
from reconciler.decisions.reasons.drain_rules import DoNotDisrupt, DoNotDisruptUnreadable
from reconciler.plan.reason import KeepsNode
from reconciler.values.duration import DurationError, exact_seconds
from reconciler.values.instant import InstantError, instant_text, parse_instant

_ANNOTATIONS = (KARPENTER_DO_NOT_DISRUPT, DO_NOT_DISRUPT)
_MOST_SHOWN = 64
_LAST = parse_instant("9999-12-31T23:59:59Z")


class Holds(msgspec.Struct, frozen=True, kw_only=True):
    """What the annotations of one object say now. `ending` are those with an end, the last of them at `until_seconds` (Unix
    time)."""

    lasting: tuple[KeepsNode, ...] = ()
    ending: tuple[KeepsNode, ...] = ()
    until_seconds: int | None = None


NO_HOLDS = Holds()


def disruption_holds(annotations: Iterable[tuple[str, str]], started_seconds: int, now_seconds: int) -> Holds:
    """The holds of an object that began to run at `started_seconds`, from which durations count. Both are Unix time."""
    lasting: list[KeepsNode] = []
    ending: list[KeepsNode] = []
    last: int | None = None
    for key, text in annotations:
        if key not in _ANNOTATIONS or text == "false":
            continue
        until = None if text == "true" else _end(text, started_seconds)
        if text == "true" or (until is not None and until > _LAST):
            lasting.append(DoNotDisrupt(annotation=key, until=""))
        elif until is None:
            lasting.append(DoNotDisruptUnreadable(annotation=key, value=text[:_MOST_SHOWN]))
        elif until > now_seconds:
            ending.append(DoNotDisrupt(annotation=key, until=instant_text(until)))
            last = until if last is None else max(last, until)
    if not lasting and not ending:
        return NO_HOLDS
    return Holds(lasting=tuple(lasting), ending=tuple(ending), until_seconds=last)


def unreadable(annotations: Iterable[tuple[str, str]]) -> tuple[DoNotDisruptUnreadable, ...]:
    """The values that nobody understands."""
    lasting = disruption_holds(annotations, 0, 0).lasting
    return tuple(because for because in lasting if isinstance(because, DoNotDisruptUnreadable))


def ends_by_age(annotations: Iterable[tuple[str, str]]) -> bool:
    """Whether a value is a duration, so that equal objects of different ages differ."""
    return any(key in _ANNOTATIONS and _duration(text) is not None for key, text in annotations)


def _end(text: str, started_seconds: int) -> int | None:
    """When it ends (Unix time); None: the value is neither an instant nor a duration."""
    seconds = _duration(text)
    if seconds is not None:
        return started_seconds + seconds
    try:
        return parse_instant(text)
    except InstantError:
        return None


def _duration(text: str) -> int | None:
    """Whole seconds, rounded up; None for anything else, and for less than nothing."""
    try:
        seconds = ceil(exact_seconds(text))
    except DurationError:
        return None
    return seconds if seconds >= 0 else None
