"""Two versions of a policy side by side, in words, with the places of both."""

from collections.abc import Iterator

import msgspec
from deepdiff import DeepDiff

from reconciler.policy.checks.levels import tier_index
from reconciler.policy.documents import NodeGroup, NodeGroupPolicy, PolicySet
from reconciler.policy.reach import reached_groups
from reconciler.policy.text.nodes import Place
from reconciler.policy.written import Path, WrittenDocument

_WHOLE = ("windows", "headroom", "hold")  # of these the strongest level counts as a whole, not key by key


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

    def sentence(self) -> str:
        """`NodeGroup big: size.max 40 -> 60 (big.yaml:9:14 -> big.yaml:9:14)`, with the groups that a default reaches."""
        if self.path:
            what = f"{self.path} {_shown(self.before)} -> {_shown(self.after)}"
        elif self.before is None or self.after is None:
            what = "added" if self.before is None else "removed, its target keeps its size"
        else:
            what = f"renamed from {self.before}, the same target"
        told = f"{self.kind} {self.name}: {what}{_places(self.place_before, self.place_after)}"
        if self.reaches:
            told += f"; reaches {', '.join(self.reaches)}"
        if self.discovery:
            told += f"{' and' if self.reaches else '; reaches'} what discovery {', '.join(self.discovery)} finds"
        return told


def compare_policies(before: PolicySet, after: PolicySet, now_seconds: int) -> tuple[PolicyChange, ...]:
    """What differs: the policy first, then groups by name, inside by path.

    Formatting, comments and order of keys are no difference. `now_seconds` (Unix time) says which holds have ended.
    """
    found = list(_policy_changes(before, after, now_seconds))
    earlier, later = {group.name: group for group in before.groups}, {group.name: group for group in after.groups}
    gone = {group.target: group for name, group in earlier.items() if name not in later}
    for name in sorted({*earlier, *later}):
        old, new = earlier.get(name), later.get(name)
        if old is None and new is not None and (renamed := gone.pop(new.target, None)) is not None:
            found.append(
                PolicyChange(
                    kind="NodeGroup",
                    name=name,
                    before=renamed.name,
                    after=name,
                    place_before=renamed.place,
                    place_after=new.place,
                )
            )
            found += (change for change in _document_changes(renamed, new) if change.path != "metadata.name")
        elif old is None and new is not None:
            found.append(PolicyChange(kind="NodeGroup", name=name, after=name, place_after=new.place))
        elif old is not None and new is not None:
            found += _document_changes(old, new)
            found += _moved(old, new, before.policy, after.policy)
    found += [
        PolicyChange(kind="NodeGroup", name=group.name, before=group.name, place_before=group.place) for group in gone.values()
    ]
    return tuple(sorted(found, key=lambda change: (change.kind != "NodeGroupPolicy", change.name, change.path)))


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
                path=f"{key} order",
                before=", ".join(old),
                after=", ".join(new),
                place_before=before.policy.places.get(f"spec.{key}"),
                place_after=after.policy.places.get(f"spec.{key}"),
            )


def _document_changes(before: NodeGroup | NodeGroupPolicy, after: NodeGroup | NodeGroupPolicy) -> Iterator[PolicyChange]:
    if _bare(before) == _bare(after):
        return
    old, new = WrittenDocument(before), WrittenDocument(after)
    tree = DeepDiff(old.values, new.values, view="tree", threshold_to_diff_deeper=0)
    levels = [level for kind in sorted(tree) for level in tree[kind]]
    for level in sorted(levels, key=lambda level: _path_text(tuple(level.path(output_format="list")))):
        for path, was, is_now in _values(tuple(level.path(output_format="list")), level.t1, level.t2):
            yield _change(path, _text(was), _text(is_now), before, after, old, new)


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
    was, is_now = tier_index(old, before), tier_index(new, after)
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


def _shown(value: str | None) -> str:
    return "(not set)" if value is None else value


def _places(before: Place | None, after: Place | None) -> str:
    if before is not None and after is not None:
        return f" ({before} -> {after})"
    if after is not None:
        return f" ({after})"
    return "" if before is None else f" (was {before})"
