"""Where the platform itself refuses sizes: the narrower of its bounds and the policy's applies."""

from reconciler.cluster.target import TargetFacts
from reconciler.decisions.reasons.sizes import PlatformBound


def within_platform(facts: TargetFacts | None, lowest: int, highest: int) -> tuple[int, int, tuple[PlatformBound, ...]]:
    """The range that is left of `lowest` to `highest`, and each bound of it that the platform refuses. A minimum above the
    platform's maximum becomes that maximum; a maximum below its minimum stays, since it asks for no size that is refused."""
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
