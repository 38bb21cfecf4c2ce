"""Two versions of a policy side by side, in words, with the places of both."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from typing import Any

import msgspec

from reconciler.policy.documents import GroupFields, NodeGroup, NodeGroupPolicy, PolicySet
from reconciler.policy.field import Field, Kind, MergeRule
from reconciler.policy.fields import document_kind, walk
from reconciler.policy.levels import (
    ARCHITECTURE,
    LEVEL_FIELDS,
    attributes_of,
    effective_mode,
    group_value,
    level_order,
    merged_labels,
    tier_rank,
)
from reconciler.policy.yaml_nodes import Place
from reconciler.values.duration import duration_text
from reconciler.values.instant import instant_text
from reconciler.values.quantity import quantity_text

# Documents as they would be written: nested YAML keys over texts, each with the key of its place.
#
# The reverse of reading, by the same field model; for comparing and for showing values to people.

Written = dict[str, Any]
"""YAML keys -> texts, or such again. Items of lists stand below `[name]`, so that one that moves is still the same."""

Path = tuple[str, ...]

_TELLING = ("name", "key", "schedule", "reasons")
_MAPS = (Kind.LABEL_MAP, Kind.STRING_MAP, Kind.QUANTITY_MAP)


class WrittenDocument:
    """One document: `values` as written, `place_keys` from the path of a value to its key in `places`."""

    def __init__(self, document: NodeGroup | NodeGroupPolicy) -> None:
        kind = document_kind(type(document).__name__)
        if kind is None:
            raise TypeError(f"{type(document).__name__} is not a kind of document")
        self.place_keys: dict[Path, str] = {}
        self.values = self._object(kind.root, document, (), "")

    def _object(self, field: Field, struct: object, path: Path, key: str) -> Written:
        written: Written = {}
        for child in field.children:
            if child.kind is Kind.OPAQUE or not _applies(child, struct):
                continue
            child_path, child_key = (*path, child.yaml_key), f"{key}.{child.yaml_key}" if key else child.yaml_key
            if child.attribute:
                value = getattr(struct, child.attribute)
                percent = getattr(struct, "percent", None) if child.kind is Kind.INTEGER_OR_PERCENT else None
                if percent is not None:
                    value = f"{percent}%"
            else:
                value = struct if child.children else None
            shown = self._value(child, value, child_path, child_key)
            # An empty mapping that chooses one of several kinds, such as `clusterAPI: {}`, says something.
            if shown not in (None, {}, [], "") or (shown == {} and child.constants):
                written[child.yaml_key] = shown
                self.place_keys[child_path] = child_key
        return written

    def _value(self, field: Field, value: Any, path: Path, key: str) -> Any:  # noqa: ANN401 - nested, by the field model
        if field.kind in (Kind.OBJECT, Kind.SELECTOR):
            return {} if value is None else self._object(field, value, path, key)
        if value is None:
            return field.enum[0] if field.kind is Kind.DURATION and field.enum else None
        if field.kind in (Kind.LIST, Kind.TAINT_LIST):
            return self._list(field, value, path, key)
        if field.kind in _MAPS:
            return self._map(((name, text) for name, text in value), path, key)
        if field.kind is Kind.RESOURCE_MAP:
            return self._map(((name, quantity_text(name, amount)) for name, amount in value), path, key)
        return scalar_text(field, value)

    def _map(self, pairs: Iterable[tuple[str, str]], path: Path, key: str) -> Written:
        texts = dict(pairs)
        self.place_keys.update({(*path, name): f"{key}.{name}" for name in texts})
        return texts

    def _list(self, field: Field, values: tuple[Any, ...], path: Path, key: str) -> Any:  # noqa: ANN401
        item = field.item
        if item is None:
            raise ValueError(f"{field.path} is a list of nothing")
        if not values and field.yaml_key == "taints":
            return "[]"  # unlike a missing key it says that there are none
        if not item.children:
            return f"[{', '.join(_listed(scalar_text(item, value)) for value in values)}]" if values else None
        items = [self._item(item, value, (), "") for value in values]
        labels = _labels(items)
        return {
            label: self._item(item, value, (*path, label), f"{key}[{index}]")
            for index, (label, value) in enumerate(zip(labels, values, strict=True))
        }

    def _item(self, item: Field, value: object, path: Path, key: str) -> Written:
        if path:
            self.place_keys[path] = key
        return self._object(item, value, path, key)


def _applies(field: Field, struct: object) -> bool:
    """Whether one of several exclusive children is the one that is there."""
    return all(getattr(struct, name) == constant for name, constant in field.constants[:1])


def _labels(items: Sequence[Written]) -> list[str]:
    """What items of a list are called: by name, else by what tells them apart, else by number; never two alike."""
    labels: list[str] = []
    for index, item in enumerate(items):
        telling = next((str(item[key]).strip("[]") for key in _TELLING if item.get(key)), str(index))
        label, number = f"[{telling}]", 1
        while label in labels:
            number += 1
            label = f"[{telling} #{number}]"
        labels.append(label)
    return labels


def _listed(text: str) -> str:
    """A text among others: in quotes where it could be taken for several."""
    return json.dumps(text, ensure_ascii=False) if ", " in text or text.startswith('"') else text


def scalar_text(field: Field, value: Any) -> str:  # noqa: ANN401 - as the struct holds it
    """One value as YAML would show it."""
    if field.kind is Kind.DURATION:
        return duration_text(value)
    if field.kind is Kind.INSTANT:
        return instant_text(value)
    return str(value)


# The groups that a changed default reaches: those whose effective values would differ if this one value had not changed.
#
# The new policy is compared with itself, with the old value in that one place. A default that a nearer level overrides reaches no
# group. A default that is added to the values of nearer levels (startup taints, labels) reaches all groups.


def reached_groups(before: PolicySet, after: PolicySet, tier: str | None, path: str, now_seconds: int) -> tuple[str, ...]:
    """Names of the groups of `after` that the change of one default reaches, in their order.

    The default stands at `path` (`scaleDown.unneededTime`, `windows[0 7 * * *].size.min`) of the tier of that name, or of the
    policy's defaults (None). `now_seconds` (Unix time) says which holds have ended. Targets' own values are not known here.
    """
    field = _field_of(path)
    old, new = _defaults(before.policy, tier), _defaults(after.policy, tier)
    if old is None or new is None:
        return ()
    put_back = _with_value(new, attributes_of(field), old)
    reached = []
    for group in after.groups:
        rank = tier_rank(after.policy, group.tier, group.name, group.labels)
        own = None if rank is None else after.policy.tiers[rank].defaults
        own_before = put_back if rank is not None and after.policy.tiers[rank].name == tier else own
        levels = level_order(group, own, after.policy.defaults)
        earlier = level_order(group, own_before, put_back if tier is None else after.policy.defaults)
        if _effective(field, levels, after.policy, now_seconds) != _effective(field, earlier, after.policy, now_seconds):
            reached.append(group.name)
    return tuple(reached)


def _field_of(path: str) -> str:
    """The field that has a path, as levels are merged: `headroom` of `headroom.nodes`, and a scalar itself."""
    plain = path.partition("[")[0]
    return next((field for field in LEVEL_FIELDS if f"{plain}.".startswith(f"{field}.")), plain)


def _defaults(policy: NodeGroupPolicy, tier: str | None) -> GroupFields | None:
    if tier is None:
        return policy.defaults
    return next((one.defaults for one in policy.tiers if one.name == tier), None)


def _effective(field: str, levels: Sequence[GroupFields], policy: NodeGroupPolicy, now_seconds: int) -> object:
    """What the levels together say; equal for equal effects."""
    if field == "template.labels":
        return merged_labels(levels)
    if field == ARCHITECTURE.path:
        return [value for _, value in ARCHITECTURE.counting(levels, now_seconds)], merged_labels(levels)
    if field in LEVEL_FIELDS:
        rule = LEVEL_FIELDS[field]
        values = [value for _, value in rule.counting(levels, now_seconds)]
        return frozenset(item for value in values for item in value) if rule.rule is MergeRule.UNION else values
    if field == "mode":
        return effective_mode(next((level.mode for level in levels if level.mode is not None), None), policy.mode)
    value = group_value(field)
    return next((own for level in levels if (own := value.read(level)) is not None), value.built_in)


def _with_value(level: GroupFields, attributes: Sequence[str], source: GroupFields) -> GroupFields:
    """The level with one value of another one."""
    owners: list[msgspec.Struct] = [level]
    for name in attributes[:-1]:
        owners.append(getattr(owners[-1], name))
    part: object = reduce(getattr, attributes, source)
    for owner, name in zip(reversed(owners), reversed(attributes), strict=True):
        part = msgspec.structs.replace(owner, **{name: part})
    if not isinstance(part, GroupFields):
        raise TypeError(f"{'.'.join(attributes)} is not a field of a group")
    return part


_WHOLE = ("windows", "headroom", "hold")  # of these the strongest level counts as a whole, not key by key


_ORDER = " order"


class PolicyChange(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One value that differs. `path` is as in YAML without `spec.`, list items by name or number; empty: the whole document.

    `before` and `after` are texts as written, None where nothing is. A place is None where the value is a default.
    `reaches` names the groups whose effective value is taken from here, `discovery` the rules that may find more of them.
    """

    kind: str
    name: str
    path: str = ""
    before: str | None = None
    after: str | None = None
    place_before: Place | None = None
    place_after: Place | None = None
    reaches: tuple[str, ...] = ()
    discovery: tuple[str, ...] = ()

    @property
    def value_before(self) -> str:
        """The old value as readers see it: as written, or that it is unset and what then applies."""
        return _unset(self.kind, self.path) if self.before is None else self.before

    @property
    def value_after(self) -> str:
        """The new value, as `value_before` is the old one."""
        return _unset(self.kind, self.path) if self.after is None else self.after

    @property
    def ordered(self) -> str:
        """The list of which nothing but the order differs; else empty."""
        return self.path.removesuffix(_ORDER) if self.path.endswith(_ORDER) else ""

    def sentence(self) -> str:
        """`NodeGroup big: size.max 40 -> 60 (big.yaml:9:14 -> big.yaml:9:14)`, with the groups that a default reaches."""
        if self.ordered:
            what = f"the order of {self.ordered} changes: {self.value_before} -> {self.value_after}"
        elif self.path:
            what = f"{self.path} {self.value_before} -> {self.value_after}"
        elif self.before is None or self.after is None:
            what = "added" if self.before is None else "removed, its target keeps its size"
        else:
            what = f"renamed from {self.before}, the same target"
        text = f"{self.kind} {self.name}: {what}{_places(self.place_before, self.place_after)}"
        if self.reaches:
            text += f". It reaches {', '.join(self.reaches)}"
        if self.discovery:
            text += f"{' and' if self.reaches else '. It reaches'} what discovery {', '.join(self.discovery)} finds"
        return text


def compare_policies(before: PolicySet, after: PolicySet, now_seconds: int) -> tuple[PolicyChange, ...]:
    """What differs: the policy first, then groups by name, inside by path.

    Formatting, comments and the order of keys do not count. `now_seconds` (Unix time) says which holds have ended.
    """
    changes = list(_policy_changes(before, after, now_seconds))
    earlier, later = {group.name: group for group in before.groups}, {group.name: group for group in after.groups}
    gone = {group.target: group for name, group in earlier.items() if name not in later}
    for name in sorted({*earlier, *later}):
        old, new = earlier.get(name), later.get(name)
        if old is None and new is not None and (renamed := gone.pop(new.target, None)) is not None:
            changes.append(
                PolicyChange(
                    kind="NodeGroup",
                    name=name,
                    before=renamed.name,
                    after=name,
                    place_before=renamed.place,
                    place_after=new.place,
                )
            )
            changes += (change for change in _document_changes(renamed, new) if change.path != "metadata.name")
        elif old is None and new is not None:
            changes.append(PolicyChange(kind="NodeGroup", name=name, after=name, place_after=new.place))
        elif old is not None and new is not None:
            changes += _document_changes(old, new)
            changes += _moved(old, new, before.policy, after.policy)
    changes += [
        PolicyChange(kind="NodeGroup", name=group.name, before=group.name, place_before=group.place) for group in gone.values()
    ]
    return tuple(sorted(changes, key=lambda change: (change.kind != "NodeGroupPolicy", change.name, change.path)))


def _policy_changes(before: PolicySet, after: PolicySet, now_seconds: int) -> Iterator[PolicyChange]:
    for change in _document_changes(before.policy, after.policy):
        default = _default_of(change.path)
        if default is None:
            yield change
            continue
        tier, path = default
        reaches = reached_groups(before, after, tier, path, now_seconds)
        yield msgspec.structs.replace(change, reaches=reaches, discovery=_finders(after.policy, tier))
    for key, names in (("tiers", _tier_names), ("discovery", _discovery_names)):
        common = set(names(before.policy)) & set(names(after.policy))
        old, new = ([name for name in names(side.policy) if name in common] for side in (before, after))
        if old != new:
            yield PolicyChange(
                kind="NodeGroupPolicy",
                name=after.policy.name,
                path=f"{key}{_ORDER}",
                before=", ".join(old),
                after=", ".join(new),
                place_before=before.policy.places.get(f"spec.{key}"),
                place_after=after.policy.places.get(f"spec.{key}"),
            )


def _document_changes(before: NodeGroup | NodeGroupPolicy, after: NodeGroup | NodeGroupPolicy) -> Iterator[PolicyChange]:
    if _bare(before) == _bare(after):
        return
    old, new = WrittenDocument(before), WrittenDocument(after)
    for path, one, other in sorted(_differing(old.values, new.values, ()), key=lambda difference: _path_text(difference[0])):
        for below, was, is_now in _values(path, one, other):
            yield _change(below, _text(was), _text(is_now), before, after, old, new)


def _differing(old: Written, new: Written, path: Path) -> Iterator[tuple[Path, object, object]]:
    """Where two documents differ, as deep as both have mappings; None: not there. Lists are mappings by name, or texts."""
    for key in old.keys() | new.keys():
        was, is_now = old.get(key), new.get(key)
        if isinstance(was, dict) and isinstance(is_now, dict):
            yield from _differing(was, is_now, (*path, key))
        elif was != is_now:
            yield (*path, key), was, is_now


def _values(path: Path, was: object, is_now: object) -> Iterator[tuple[Path, object, object]]:
    """Defaults that came or went together are told value by value, since each has groups of its own that it reaches."""
    either = was if isinstance(was, dict) else is_now
    if "defaults" not in path or not isinstance(either, dict) or path[-1] in _WHOLE or any(key.startswith("[") for key in either):
        yield path, was, is_now
        return
    for key in sorted(either):
        parts = (side[key] if isinstance(side, dict) else None for side in (was, is_now))
        yield from _values((*path, key), *parts)


def _change(
    path: Path,
    was: str | None,
    is_now: str | None,
    before: NodeGroup | NodeGroupPolicy,
    after: NodeGroup | NodeGroupPolicy,
    old: WrittenDocument,
    new: WrittenDocument,
) -> PolicyChange:
    return PolicyChange(
        kind=type(after).__name__,
        name=after.name,
        path=_path_text(path),
        before=was,
        after=is_now,
        place_before=None if was is None else before.places.get(old.place_keys.get(path, "")),
        place_after=None if is_now is None else after.places.get(new.place_keys.get(path, "")),
    )


def _moved(old: NodeGroup, new: NodeGroup, before: NodeGroupPolicy, after: NodeGroupPolicy) -> Iterator[PolicyChange]:
    """A group that is in another tier although its own document names the same, or none."""
    if old.tier != new.tier:
        return
    was, is_now = (tier_rank(side, group.tier, group.name, group.labels) for group, side in ((old, before), (new, after)))
    name_before = None if was is None else before.tiers[was].name
    name_after = None if is_now is None else after.tiers[is_now].name
    if name_before != name_after:
        yield PolicyChange(
            kind="NodeGroup",
            name=new.name,
            path="tier (by match)",
            before=name_before,
            after=name_after,
            place_before=before.places.get(f"spec.tiers[{was}]"),
            place_after=after.places.get(f"spec.tiers[{is_now}]"),
        )


def _default_of(path: str) -> tuple[str | None, str] | None:
    """The tier that a default stands in (None: the policy's defaults) and the path below it; None for another path."""
    if path.startswith("defaults."):
        return None, path.removeprefix("defaults.")
    tier, inside, rest = path.removeprefix("tiers[").partition("].defaults.")
    return (tier, rest) if path.startswith("tiers[") and inside else None


def _finders(policy: NodeGroupPolicy, tier: str | None) -> tuple[str, ...]:
    """Discovery rules whose groups may take a default of the tier (None: of the policy): those of the tier, or without one."""
    return tuple(item.name for item in policy.discovery if tier is None or item.tier in (None, tier))


def _tier_names(policy: NodeGroupPolicy) -> tuple[str, ...]:
    return tuple(tier.name for tier in policy.tiers)


def _discovery_names(policy: NodeGroupPolicy) -> tuple[str, ...]:
    return tuple(item.name for item in policy.discovery)


def _bare(document: NodeGroup | NodeGroupPolicy) -> NodeGroup | NodeGroupPolicy:
    return msgspec.structs.replace(document, place=Place("", 1, 1), places={})


def _path_text(path: Path) -> str:
    joined = "".join(part if part.startswith("[") else f".{part}" for part in path)
    return joined.removeprefix(".").removeprefix("spec.")


def _text(value: object) -> str | None:
    """A text, a nested value in YAML's flow style; None for what is not there."""
    if isinstance(value, dict):
        items = ", ".join(_text(item) or "" if key.startswith("[") else f"{key}: {_text(item)}" for key, item in value.items())
        return f"[{items}]" if value and all(key.startswith("[") for key in value) else f"{{{items}}}"
    return value if isinstance(value, str) else None


UNSET = "unset"
_ITEM_NAME = re.compile(r"\[[^\]]*\]")


def _unset(kind: str, path: str) -> str:
    """`unset (default 10m)`; where another level gives the value, `unset (inherited)`."""
    default = _default_texts(kind).get(_ITEM_NAME.sub("", path))
    if default is None:
        return UNSET
    below = kind == "NodeGroup" or path.startswith("tiers[")
    return f"{UNSET} (inherited)" if below else f"{UNSET} (default {default})"


@cache
def _default_texts(kind: str) -> Mapping[str, str]:
    """Path below `spec`, items of lists left out -> the default of the field, as written in YAML."""
    document = document_kind(kind)
    fields = () if document is None else walk(document.root)
    return {
        field.path.removeprefix("spec.").replace("[]", ""): str(field.default)
        for field in fields
        if isinstance(field.default, int | str) and field.default != ""
    }


def _places(before: Place | None, after: Place | None) -> str:
    if before is not None and after is not None and before != after:
        return f" ({before} -> {after})"
    if after is not None:
        return f" ({after})"
    return "" if before is None else f" (was {before})"
