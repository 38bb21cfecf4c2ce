"""What a search may change: settings that make a policy faster, slower, larger or smaller, and no promise that people wrote.

The list is closed. Minimum sizes are only raised. Limits, holds, drain rules, health, zones, maximum sizes, prices and templates
are in no list, so no search touches them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations

import msgspec

from reconciler.policy.changes.written_document import WrittenDocument
from reconciler.policy.documents import NodeGroup, NodeGroupPolicy, PolicySet
from reconciler.policy.field import Field, Kind
from reconciler.policy.fields import document_kind
from reconciler.policy.text_edits import Edit, EditError, Setting, written
from reconciler.values.duration import DurationError, duration_text, parse_duration
from reconciler.values.whole_number import whole_number

Value = str | tuple[str, ...]

MOST_VALUES, MOST_KNOBS = 24, 24
_SPREAD = 5
"""Values of a range without a step."""
_RANGE = re.compile(r"([^./,]+)\.\.([^./,]+)(?:/([^./,]+))?")
_ALL_ORDERS = 3
"""Of up to so many tiers every order is tried, of more only exchanges of neighbours."""

_PERCENTS = ("30", "40", "50", "60", "70", "80")
_OF_GROUPS: Mapping[str, tuple[Value, ...]] = {
    "scaleDown.utilizationThresholdPercent": _PERCENTS,
    "scaleDown.unneededTime": ("2m", "5m", "10m", "20m", "30m", "1h"),
    "headroom.nodes": ("0", "1", "2", "3", "4"),
}
"""Settings of every level of a group that are tried unless somebody names others, with the values."""
_OF_GROUPS_WHERE_WRITTEN: Mapping[str, tuple[Value, ...]] = {
    "scaleDown.gpuUtilizationThresholdPercent": _PERCENTS,
    "headroom.nodesPerZone": ("0", "1", "2"),
}
_OF_GROUPS_IF_NAMED = ("scaleDown.consolidation.mode", "scaleDown.consolidation.minSavingPercent", "size.min")
_EXPANDERS = ("LeastCost", "LeastWaste", "LeastNodes", "MostPods")
_OF_POLICY: Mapping[str, tuple[Value, ...]] = {
    "pace.delayAfterAdd": ("0s", "2m", "5m", "10m", "20m"),
    "expanders": tuple((word,) for word in _EXPANDERS),
}
_OF_POLICY_IF_NAMED = (
    "nearTiePercent",
    "pace.delayAfterDelete",
    "pace.maxAddedNodes",
    "pace.maxRemovedPercent",
    "pods.newPodDelay",
)
TIERS, _RAISED_ONLY = "tiers", "size.min"
_GROUP_KEYS = (*_OF_GROUPS, *_OF_GROUPS_WHERE_WRITTEN, *_OF_GROUPS_IF_NAMED)
_POLICY_KEYS = (*_OF_POLICY, *_OF_POLICY_IF_NAMED, TIERS)
KEYS = tuple(sorted((*_GROUP_KEYS, *_POLICY_KEYS)))


class VaryError(ValueError):
    """A `KEY=RANGE` that cannot be searched; the message says what to write instead."""


class Knob(msgspec.Struct, frozen=True, kw_only=True):
    """One setting with the values to try, that of today excluded. `before` is what is written now (None: nothing)."""

    setting: Setting
    before: Value | None
    values: tuple[Value, ...]
    reorders: bool = False

    def edits(self) -> tuple[Edit, ...]:
        """One per value."""
        return tuple(Edit(self.setting, value, self.reorders) for value in self.values)


Allowed = Callable[[Edit], bool]
"""Whether a policy with this one change is valid and keeps what people promised."""


def default_knobs(policy: PolicySet, files: Mapping[str, bytes], allowed: Allowed) -> tuple[Knob, ...]:
    """What an owner may sensibly change: wherever it is written, else in the defaults of the policy."""
    found: list[Knob | None] = []
    for key, values in {**_OF_GROUPS, **_OF_GROUPS_WHERE_WRITTEN}.items():
        places = _places(policy, key) or ((_defaults(policy, key),) if key in _OF_GROUPS else ())
        found += (_knob(files, place, key, values, allowed) for place in places)
    found += (_knob(files, _of_policy(policy, key), key, values, allowed) for key, values in _OF_POLICY.items())
    found.append(_orders(policy, files, None, allowed))
    return tuple(knob for knob in found if knob is not None)[:MOST_KNOBS]


def named_knobs(policy: PolicySet, files: Mapping[str, bytes], text: str, allowed: Allowed) -> tuple[Knob, ...]:
    """The knobs of one `KEY=RANGE`. A key of groups stands for every place where it is written, else for the defaults of the
    policy. A longer one (`tiers[spot].defaults.headroom.nodes`, `GROUP/headroom.nodes`) is one place. Raises `VaryError`."""
    key, sign, wanted = text.partition("=")
    if not sign or not wanted:
        raise VaryError(f"{text[:80]!r}: write KEY=RANGE, such as scaleDown.unneededTime=2m..20m")
    short = _short(key)
    if short == TIERS:
        orders = None if wanted == "*" else tuple(tuple(words.split(">")) for words in wanted.split(","))
        knob = _orders(policy, files, orders, allowed)
        if knob is None:
            raise VaryError(f"{text[:80]!r}: there is no other order of tiers. Write all names, such as tiers=spot>on-demand")
        return (knob,)
    values = range_values(_field(short), wanted)
    places = (_one_place(policy, key, short),) if key != short else _places(policy, key) or (_defaults(policy, key),)
    if key in _POLICY_KEYS:
        places = (_of_policy(policy, key),)
    knobs = [_knob(files, place, short, values, allowed, named=True) for place in places]
    found = tuple(knob for knob in knobs if knob is not None)
    if not found:
        raise VaryError(f"{text[:80]!r}: no value is left. The policy has it already, or is not valid with it")
    return found


def range_values(field: Field, text: str) -> tuple[Value, ...]:
    """`30..80` (five values), `30..80/10`, or `30,60`; words of a list are separated by `>`. Raises `VaryError`."""
    match = _RANGE.fullmatch(text)
    if match is None:
        values: tuple[Value, ...] = tuple(tuple(word.split(">")) if field.kind is Kind.LIST else word for word in text.split(","))
    else:
        first, last = _number(field, match[1]), _number(field, match[2])
        step = _number(field, match[3]) if match[3] else max(1, (last - first) // (_SPREAD - 1))
        if last < first or step < 1:
            raise VaryError(f"{text[:80]!r}: the second end must not be below the first, and a step is above zero")
        if (last - first) // step >= MOST_VALUES:
            raise VaryError(
                f"{text[:80]!r}: more than {MOST_VALUES} values. Write a larger step, such as {match[1]}..{match[2]}/STEP"
            )
        numbers = range(first, last + 1, step)
        values = tuple(duration_text(number) if field.kind is Kind.DURATION else str(number) for number in numbers)
    if len(values) > MOST_VALUES:
        raise VaryError(f"{text[:80]!r}: more than {MOST_VALUES} values")
    return values


def _number(field: Field, text: str) -> int:
    if field.kind is Kind.DURATION:
        try:
            return parse_duration(text)
        except DurationError as error:
            raise VaryError(f"{text[:40]!r}: {error}") from None
    number = whole_number(text) if len(text) < 10 else None
    if number is None or field.kind not in (Kind.INTEGER, Kind.PERCENT):
        raise VaryError(f"{text[:40]!r} is not a number: write the values one by one, separated by commas")
    return number


def _short(key: str) -> str:
    """The key without its place. Raises `VaryError` for one that no search may change."""
    if key in _POLICY_KEYS:
        return key
    short = next((one for one in _GROUP_KEYS if key == one or key.endswith((f".{one}", f"/{one}"))), None)
    if short is None:
        raise VaryError(f"{key[:80]!r} is not searched. Name one of {', '.join(KEYS)}")
    return short


def _one_place(policy: PolicySet, key: str, short: str) -> Setting:
    group, sign, rest = key.partition("/")
    if not sign:
        return _of_policy(policy, key)
    if rest != short and not re.fullmatch(rf"windows\[[^\[\]]+\]\.{re.escape(short)}", rest):
        raise VaryError(f"{key[:80]!r}: write GROUP/{short}")
    if all(one.name != group for one in policy.groups):
        raise VaryError(f"{key[:80]!r}: no NodeGroup document has the name {group[:60]!r}")
    return Setting("NodeGroup", group, f"spec.{rest}")


def _of_policy(policy: PolicySet, key: str) -> Setting:
    return Setting("NodeGroupPolicy", policy.policy.name, f"spec.{key}")


def _defaults(policy: PolicySet, key: str) -> Setting:
    return _of_policy(policy, f"defaults.{key}")


def _places(policy: PolicySet, key: str) -> tuple[Setting, ...]:
    """Where a key of groups is written: in defaults, tiers, groups and their windows."""
    documents: tuple[NodeGroupPolicy | NodeGroup, ...] = (policy.policy, *policy.groups)
    return tuple(place for document in documents for place in _in_document(document, key))


def _in_document(document: NodeGroupPolicy | NodeGroup, key: str) -> Iterator[Setting]:
    for path, place_key in WrittenDocument(document).place_keys.items():
        dotted = ".".join(path).replace(".[", "[")
        if place_key in document.places and dotted.endswith(f".{key}"):
            yield Setting(type(document).__name__, document.name, dotted)


def _knob(
    files: Mapping[str, bytes], setting: Setting, key: str, values: Sequence[Value], allowed: Allowed, *, named: bool = False
) -> Knob | None:
    """None if no value is left, or if only a person can change the setting. A setting that somebody named raises `VaryError`."""
    field = _field(key)
    try:
        before = written(files, setting)
    except EditError as error:
        if named:
            raise VaryError(str(error)) from None
        return None
    present = before if before is not None or field.default is None else str(field.default)
    if present is None and key == "headroom.nodes":
        present = "0"
    kept = [value for value in values if _amount(field, value) != _amount(field, present)]
    if key == _RAISED_ONLY:
        least = _number(field, present) if isinstance(present, str) else 0
        below = [value for value in kept if isinstance(value, str) and _number(field, value) < least]
        if below:
            raise VaryError(f"{key}={below[0]}: {setting} is {least}, and a search never goes below a minimum that people set")
    kept = [value for value in dict.fromkeys(kept) if allowed(Edit(setting, value))]
    return Knob(setting=setting, before=before, values=tuple(kept)) if kept else None


def _amount(field: Field, value: Value | None) -> object:
    """Equal for two ways to write the same."""
    if field.kind is Kind.DURATION and isinstance(value, str):
        try:
            return parse_duration(value)
        except DurationError:
            return value
    return value


def _field(key: str) -> Field:
    kind = document_kind("NodeGroupPolicy")
    field = kind.root if kind is not None else None
    for step in ("spec", *(() if key in _POLICY_KEYS else ("defaults",)), *key.split(".")):
        field = field.child(step) if field is not None else None
    if field is None:
        raise KeyError(key)
    return field


def _orders(
    policy: PolicySet, files: Mapping[str, bytes], wanted: Sequence[tuple[str, ...]] | None, allowed: Allowed
) -> Knob | None:
    """Other orders of the tiers."""
    names = tuple(tier.name for tier in policy.policy.tiers)
    orders = _other_orders(names) if wanted is None else tuple(order for order in wanted if order != names)
    setting = _of_policy(policy, TIERS)
    kept = tuple(order for order in orders if allowed(Edit(setting, order, reorders=True)))
    return Knob(setting=setting, before=names, values=kept, reorders=True) if kept else None


def _other_orders(names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    if len(names) <= _ALL_ORDERS:
        return tuple(order for order in permutations(names) if order != names)
    return tuple((*names[:at], names[at + 1], names[at], *names[at + 2 :]) for at in range(min(len(names) - 1, MOST_VALUES)))
