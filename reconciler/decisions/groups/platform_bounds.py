"""Narrows the bounds of a group to the bounds that its platform enforces."""

from reconciler.cluster.target import TargetFacts
from reconciler.decisions.reasons.sizes import PlatformBound


def within_platform(facts: TargetFacts | None, lowest: int, highest: int) -> tuple[int, int, tuple[PlatformBound, ...]]:
    """The part of `lowest` to `highest` that the platform allows, and each bound that the platform refuses. A minimum above the
    platform's maximum becomes that maximum. A maximum below the platform's minimum stays, because it requests no size that the
    platform refuses."""
    if facts is None or not facts.sizes_bind or facts.min_size is None or facts.max_size is None:
        return lowest, highest, ()
    least, most, origin = facts.min_size, facts.max_size, facts.size_origin
    passed: list[PlatformBound] = []
    if lowest > most:
        passed.append(PlatformBound(bound="size.min", wanted=lowest, allowed=most, side="most", origin=origin))
    elif lowest < least:
        passed.append(PlatformBound(bound="size.min", wanted=lowest, allowed=least, side="least", origin=origin))
    if highest > most:
        passed.append(PlatformBound(bound="size.max", wanted=highest, allowed=most, side="most", origin=origin))
    return min(max(lowest, least), most), min(highest, most), tuple(passed)
