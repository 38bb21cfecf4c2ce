"""How a value of a group that is more than one scalar follows from its levels, by the merge rule of its key.

Levels are the NodeGroup, its tier's defaults and the policy's defaults, in this order: the nearest first. Checks, comparison,
decisions and explanations all resolve these fields here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from reconciler.policy.documents import (
    GroupFields,
    Headroom,
    Hold,
    Mode,
    NodeGroupPolicy,
    PodWeight,
    TaintSpec,
    TemplateDevices,
    TierMatch,
    Window,
)
from reconciler.policy.field import MergeRule
from reconciler.policy.group_value import merge_rule_of
from reconciler.policy.values.label_selector import selector_matches
from reconciler.policy.values.pattern import matches
from reconciler.values.instant import instant_text
from reconciler.values.quantity import quantity_text

NOTHING = "none"
"""The text of a field of which no level says anything."""

V = TypeVar("V")
Pairs = tuple[tuple[str, str], ...]
Amounts = tuple[tuple[str, int], ...]


class LevelField(msgspec.Struct, Generic[V], frozen=True):
    """One field. `read` gives what a level says, None where it says nothing; `text` is a value as people read it."""

    path: str
    read: Callable[[GroupFields], V | None]
    text: Callable[[V], str]

    @property
    def rule(self) -> MergeRule:
        """As the key says."""
        return merge_rule_of(self.path)

    def stated(self, levels: Sequence[GroupFields], now_seconds: int) -> list[tuple[int, V]]:
        """Index and value of each level that says something; a hold that has ended by `now_seconds` (Unix time) says nothing."""
        read = self.read
        return [
            (index, value)
            for index, level in enumerate(levels)
            if (value := read(level)) is not None and not _ended(value, now_seconds)
        ]

    def counting(self, levels: Sequence[GroupFields], now_seconds: int) -> list[tuple[int, V]]:
        """What of `stated` the rule lets count, the nearest level first; of keys those that no nearer level names."""
        values = self.stated(levels, now_seconds)
        if not values:
            return values
        rule = self.rule
        if rule is MergeRule.KEYS:
            return [(index, value) for index, value in _first_keys(values) if value]
        return values if rule is MergeRule.UNION else values[:1]

    @property
    def adds(self) -> bool:
        """Whether several levels count together."""
        return self.rule in (MergeRule.KEYS, MergeRule.UNION)

    def nearest(self, levels: Sequence[GroupFields], now_seconds: int = 0) -> tuple[int, V] | None:
        """The nearest level that counts, and its value."""
        return next(iter(self.counting(levels, now_seconds)), None)


def _first_keys(stated: Sequence[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    named: set[str] = set()
    for index, pairs in stated:
        yield index, tuple(pair for pair in pairs if pair[0] not in named)
        named.update(key for key, _ in pairs)


def _ended(value: object, now_seconds: int) -> bool:
    return isinstance(value, Hold) and value.until_seconds is not None and value.until_seconds <= now_seconds


def amounts_text(amounts: Amounts) -> str:
    """`cpu 4, memory 16Gi`."""
    return ", ".join(f"{name} {quantity_text(name, amount)}" for name, amount in amounts)


def _headroom_text(value: Headroom) -> str:
    parts = [f"nodes {value.nodes}"] if value.nodes is not None else []
    if value.nodes_per_zone is not None:
        parts.append(f"nodesPerZone {value.nodes_per_zone}")
    parts += [f"pods {one.name or '(unnamed)'} x {one.count}" for one in value.pods]
    return ", ".join(parts)


def _windows_text(windows: tuple[Window, ...]) -> str:
    return ", ".join(one.name or one.schedule or f"from {instant_text(one.from_seconds or 0)}" for one in windows)


def _hold_text(hold: Hold) -> str:
    if hold.until_seconds is None:
        return hold.reason
    return f"{hold.reason}, until {instant_text(hold.until_seconds)}"


def _taints_text(taints: tuple[TaintSpec, ...]) -> str:
    texts = (f"{one.key}={one.value}:{one.effect}" if one.value else f"{one.key}:{one.effect}" for one in taints)
    return ", ".join(texts) or NOTHING


def _devices_text(devices: tuple[TemplateDevices, ...]) -> str:
    return ", ".join(f"{one.count} {one.name}{_partitions_text(one)} of {one.driver}" for one in devices) or NOTHING


def _partitions_text(devices: TemplateDevices) -> str:
    return f" ({' + '.join(f'{one.count} {one.name}' for one in devices.partitions)} each)" if devices.partitions else ""


def _labels_text(labels: Pairs) -> str:
    return ", ".join(f"{key}={value}" for key, value in labels)


def _labels_of(level: GroupFields) -> Pairs | None:
    """`template.architecture` is a label as well: a nearer level that says either overrides it."""
    template = level.template
    architecture = {_ARCH_LABEL: template.architecture} if template.architecture else {}
    return tuple((architecture | dict(template.labels)).items()) or None


def _weights_text(weights: tuple[PodWeight, ...]) -> str:
    return ", ".join(f"{one.weight} x {'+'.join(f'{key}={value}' for key, value in one.labels)}" for one in weights)


_ARCH_LABEL = "kubernetes.io/arch"
_NO_HEADROOM = Headroom()

HEADROOM = LevelField[Headroom](
    "headroom", lambda level: level.headroom if level.headroom != _NO_HEADROOM else None, _headroom_text
)
WINDOWS = LevelField[tuple[Window, ...]]("windows", lambda level: level.windows or None, _windows_text)
HOLD = LevelField[Hold]("hold", lambda level: level.hold, _hold_text)
CAPACITY = LevelField[Amounts]("template.capacity", lambda level: level.template.capacity or None, amounts_text)
RESERVED = LevelField[Amounts]("template.reserved", lambda level: level.template.reserved or None, amounts_text)
ARCHITECTURE = LevelField[str]("template.architecture", lambda level: level.template.architecture or None, str)
LABELS = LevelField[Pairs]("template.labels", _labels_of, _labels_text)
TAINTS = LevelField[tuple[TaintSpec, ...]]("template.taints", lambda level: level.template.taints, _taints_text)
STARTUP_TAINTS = LevelField[tuple[TaintSpec, ...]](
    "template.startupTaints", lambda level: level.template.startup_taints or None, _taints_text
)
DEVICES = LevelField[tuple[TemplateDevices, ...]]("template.devices", lambda level: level.template.devices, _devices_text)
STORAGE = LevelField[Pairs]("template.storage", lambda level: level.template.storage or None, _labels_text)
ZONES = LevelField[tuple[str, ...]]("template.zones", lambda level: level.template.zones or None, ", ".join)
POD_WEIGHTS = LevelField[tuple[PodWeight, ...]](
    "scaleDown.consolidation.podWeights", lambda level: level.scale_down.consolidation.pod_weights or None, _weights_text
)
_ALL: tuple[LevelField[Any], ...] = (
    HEADROOM, WINDOWS, HOLD, CAPACITY, RESERVED, ARCHITECTURE, LABELS, TAINTS, STARTUP_TAINTS, DEVICES, STORAGE, ZONES,
    POD_WEIGHTS,
)  # fmt: skip
LEVEL_FIELDS: Mapping[str, LevelField[Any]] = {one.path: one for one in _ALL}


def tier_rank(policy: NodeGroupPolicy, named: str | None, name: str, labels: Pairs) -> int | None:
    """The tier of a group: the one that is `named`, else the first whose `match` takes its name or labels; None: no tier."""
    for rank, tier in enumerate(policy.tiers):
        if tier.name == named if named is not None else _takes(tier.match, name, labels):
            return rank
    return None


def _takes(match: TierMatch, name: str, labels: Pairs) -> bool:
    if any(matches(pattern, name) for pattern in match.names):
        return True
    return match.labels is not None and selector_matches(match.labels, dict(labels))


def level_order(document: GroupFields | None, tier: GroupFields | None, defaults: GroupFields) -> tuple[GroupFields, ...]:
    """The levels of one group, the nearest first: its NodeGroup, the defaults of its tier, the defaults of the policy. `document`
    is None for a discovered group, `tier` for a group without one."""
    return tuple(level for level in (document, tier, defaults) if level is not None)


def effective_mode(written: Mode | None, policy: Mode) -> Mode:
    """The stricter of a group's mode, as its levels write it (None: nowhere), and of the policy's."""
    return Mode.OBSERVE if Mode.OBSERVE in (written, policy) else Mode.ENFORCE


def merged_labels(levels: Sequence[GroupFields]) -> dict[str, str]:
    """All labels of the levels, each key from the nearest that names it."""
    return {key: value for _, labels in LABELS.counting(levels, 0) for key, value in labels}


def added_startup_taints(levels: Sequence[GroupFields]) -> frozenset[tuple[str, str]]:
    """Key and effect of every startup taint of the levels."""
    return frozenset((taint.key, taint.effect) for _, taints in STARTUP_TAINTS.counting(levels, 0) for taint in taints)
