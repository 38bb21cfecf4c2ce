"""The chain of effective values: an open window, the NodeGroup, the target itself, its tier, the policy's defaults, built-in."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.decisions.groups.group import Origin
from reconciler.policy.documents import GroupFields, NodeGroup, NodeGroupPolicy, Tier, Window
from reconciler.policy.group_value import GroupValue
from reconciler.policy.levels import WINDOWS, level_order
from reconciler.policy.place import Place
from reconciler.policy.windows import OpenWindow, open_windows, window_level
from reconciler.values.instant import instant_text


class Sources(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Where values of one group can come from. `document` None: the group was discovered."""

    document: NodeGroup | None
    facts: TargetFacts | None
    policy: NodeGroupPolicy
    tier: Tier | None
    tier_index: int = -1
    opened: tuple[OpenWindow, ...] = ()

    @cached_property
    def written(self) -> tuple[GroupFields, ...]:
        """The levels without open windows, from near to far."""
        return level_order(self.document, None if self.tier is None else self.tier.defaults, self.policy.defaults)

    def windows(self) -> tuple[Window, ...]:
        """Those of the nearest level that has any."""
        nearest = WINDOWS.nearest(self.written)
        return () if nearest is None else nearest[1]

    @cached_property
    def ahead(self) -> tuple[OpenWindow, ...]:
        """The open windows that set more than bounds. They come before all levels, and the strictest of them counts."""
        return tuple(one for one in self.opened if window_level(one) is not None)

    @cached_property
    def fields(self) -> tuple[GroupFields, ...]:
        """The policy levels from near to far."""
        return (*(level for one in self.opened if (level := window_level(one)) is not None), *self.written)

    def place(self, level: int, path: str) -> str:
        """Where the level says the field `path` (`scaleDown.mode`), or where the next field around it is."""
        ahead = self.ahead
        if level < len(ahead):
            opened = ahead[level]
            nearest = WINDOWS.nearest(self.written)
            where = "" if nearest is None else self._place(nearest[0], f"windows[{opened.index}].{path}")
            return f"{where} (window {opened.name}, open until {instant_text(opened.until_seconds)})"
        return self._place(level - len(ahead), path)

    def _place(self, level: int, path: str) -> str:
        if self.document is not None:
            if level == 0:
                return _place(self.document.places, f"spec.{path}", self.document.place)
            level -= 1
        if self.tier is not None and level == 0:
            key = f"spec.tiers[{self.tier_index}].defaults.{path}"
            return f"{_place(self.policy.places, key, self.policy.place)} (tier {self.tier.name})"
        return f"{_place(self.policy.places, f'spec.defaults.{path}', self.policy.place)} (policy defaults)"

    def of_policy(self, path: str) -> str:
        """Where the policy itself says `spec.PATH`, or that it is built in."""
        place = self.policy.places.get(f"spec.{path}")
        return f"{place} (policy)" if place is not None else "built-in"


def sources_at(
    document: NodeGroup | None, facts: TargetFacts | None, policy: NodeGroupPolicy, tier: Tier | None, rank: int, now_seconds: int
) -> Sources:
    """The sources of a group, with the windows that are open at `now_seconds` (Unix time)."""
    sources = Sources(document=document, facts=facts, policy=policy, tier=tier, tier_index=rank)
    opened = open_windows(sources.windows(), now_seconds)
    return msgspec.structs.replace(sources, opened=opened) if opened else sources


class Chains(Mapping[str, tuple[Origin, ...]]):
    """By field path the sources of each value. Every decision asks for the values and hardly any for their sources, so that
    these are told when they are asked for."""

    def __init__(self) -> None:
        self._noted: list[tuple[str, Callable[[], tuple[Origin, ...]]] | Callable[[], None]] = []
        self._by_path: dict[str, Callable[[], tuple[Origin, ...]]] = {}

    def __getitem__(self, path: str) -> tuple[Origin, ...]:
        return self._sourced()[path]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._sourced())

    def __len__(self) -> int:
        return len(self._sourced())

    def keep(self, path: str, sourced: Callable[[], tuple[Origin, ...]]) -> None:
        """Note what tells where a value came from, the source that won first."""
        self._noted.append((path, sourced))

    def keep_all(self, note: Callable[[], None]) -> None:
        """Let `note` keep what it has to say of several values, once anybody asks."""
        self._noted.append(note)

    def _sourced(self) -> Mapping[str, Callable[[], tuple[Origin, ...]]]:
        while self._noted:
            noted, self._noted = self._noted, []
            for position, one in enumerate(noted):
                if not callable(one):
                    self._by_path[one[0]] = one[1]
                    continue
                one()
                self._noted += noted[position + 1 :]
                break
        return self._by_path


def in_order(levels: Sequence[GroupFields], windows: int, value: GroupValue) -> Sequence[int]:
    """The levels as they count. Of open windows, which are the first ones, the strictest value counts, whatever their order."""
    if windows <= 1:
        return range(len(levels))
    setting = [level for level in range(windows) if value.read(levels[level]) is not None]
    if len(setting) > 1:
        setting.sort(key=lambda level: value.looseness(value.read(levels[level]) or 0))
    return (*setting, *range(windows, len(levels)))


def target_option(facts: TargetFacts | None, path: str) -> tuple[int, str] | None:
    """The target's own value for a policy field, if it carries one."""
    if facts is None or not facts.options:
        return None
    return next(((option.value, option.origin) for option in facts.options if option.key == path), None)


def _place(places: Mapping[str, Place], path: str, document: Place) -> str:
    while path:
        if path in places:
            return str(places[path])
        path = path.rpartition(".")[0]
    return str(document)
