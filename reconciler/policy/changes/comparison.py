"""Two versions of a policy side by side, in words, with the places of both."""

import re
from collections.abc import Iterator, Mapping
from functools import cache

import msgspec

from reconciler.policy.changes.reached_groups import reached_groups
from reconciler.policy.changes.written_document import Path, Written, WrittenDocument
from reconciler.policy.documents import NodeGroup, NodeGroupPolicy, PolicySet
from reconciler.policy.fields import document_kind, walk
from reconciler.policy.levels import tier_rank
from reconciler.policy.place import Place

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

    @property
    def what(self) -> str:
        """`size.max 40 -> 60`, or what becomes of the document."""
        if self.ordered:
            return f"the order of {self.ordered} changes: {self.value_before} -> {self.value_after}"
        if self.path:
            return f"{self.path} {self.value_before} -> {self.value_after}"
        if self.before is None or self.after is None:
            return "added" if self.before is None else "removed, its target keeps its size"
        return f"renamed from {self.before}, the same target"

    def sentence(self) -> str:
        """`NodeGroup big: size.max 40 -> 60 (big.yaml:9:14 -> big.yaml:9:14)`, with the groups that a default reaches."""
        text = f"{self.kind} {self.name}: {self.what}{_places(self.place_before, self.place_after)}"
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
