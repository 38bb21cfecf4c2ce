"""When windows, scheduled budgets and holds of two policies are in force during one week."""

import msgspec

Spans = tuple[tuple[int, int], ...]
"""From and until (Unix time), in order; none touches the next one."""


class Track(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One window, budget or hold. `kind` is one of these words, `name` is that of the policy, or empty. It is of `groups`.
    `before` is when it is in force under main, `after` under this PR."""

    kind: str
    name: str
    groups: tuple[str, ...] = ()
    before: Spans = ()
    after: Spans = ()


class Timeline(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A week from `from_seconds` (Unix time, the midnight of UTC before now) on. `tracks` differ if their spans do."""

    from_seconds: int
    until_seconds: int
    tracks: tuple[Track, ...] = ()

    @property
    def differing(self) -> tuple[Track, ...]:
        """Those that are in force at another time under this PR."""
        return tuple(track for track in self.tracks if track.before != track.after)
