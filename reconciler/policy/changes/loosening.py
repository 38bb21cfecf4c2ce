"""Which values of a policy become looser: more may be written, removed or evicted than before.

The comparison uses the effective values of each group, after the levels are merged. The keys state which changes of each
field are known to be harmless or tighter. Any other change may loosen and is reported, so a field that is added later needs no
line here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache

import msgspec

from reconciler.policy.changes.comparison import UNSET
from reconciler.policy.changes.written_document import WrittenDocument
from reconciler.policy.documents import GroupFields, Hold, NodeGroup, NodeGroupPolicy, PolicySet, Tier
from reconciler.policy.documents.group_fields import GROUP_FIELDS
from reconciler.policy.field import Loosens, MergeRule, words_from_tightest
from reconciler.policy.fields import document_kinds, walk
from reconciler.policy.group_value import GroupValue, group_value
from reconciler.policy.levels import HOLD, LEVEL_FIELDS, effective_mode, level_order, tier_rank
from reconciler.policy.place import Place
from reconciler.values.duration import DurationError, duration_text, exact_seconds
from reconciler.values.instant import InstantError, parse_instant
from reconciler.values.quantity import QuantityFormError, parse_quantity


@cache
def directions() -> Mapping[str, str]:
    """Path below `spec`, items of lists left out -> which change loosens (`Field.loosens`), as the keys state it."""
    by_path: dict[str, str] = {}
    for kind in document_kinds():
        for field in walk(kind.root):
            path = field.path.removeprefix("spec.").replace("[]", "")
            if field.loosens and not path.startswith(("defaults.", "tiers.defaults.")):
                by_path[path] = field.loosens
    return by_path


_BOUNDS = ("limits", "budgets")
"""Lists of bounds: an item more tightens, an item less loosens."""
_OPENINGS = ("discovery", "groupNamespaces")
"""Lists of what a policy takes: an item more loosens, an item less does not."""
_WITH_DEFAULT = ("budgets", "groupNamespaces")
"""Without these lists something else holds (a built-in budget, all namespaces): the first item replaces it."""
ADDED, REMOVED = "added", "removed"
_CAME, _GONE = ("absent", ADDED), ("present", REMOVED)
"""The old and the new value of a list item that comes, and of one that goes."""
_UNTIL = ", until "
_NEVER = "Never"


class Loosened(msgspec.Struct, frozen=True, order=True, kw_only=True, rename="camel"):
    """One value. `certain` false: nobody knows which of both is looser. `groups` are those that it is effective for, empty where
    it is the policy's own; `discovered`: also for groups that discovery finds."""

    path: str
    before: str
    after: str
    certain: bool
    groups: tuple[str, ...] = ()
    discovered: bool = False


class ClusterGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group that discovery finds under at least one policy, and whose document or tier differs under the other one. `before`
    and `after` are its NodeGroup, or its tier if it has none (None: no tier). `size` are the bounds of its target under
    either."""

    name: str
    before: NodeGroup | str | None
    after: NodeGroup | str | None
    size: tuple[Mapping[str, int], Mapping[str, int]] = ({}, {})


def loosened(
    before: PolicySet, after: PolicySet, now_seconds: int, cluster_groups: Sequence[ClusterGroup] = ()
) -> tuple[Loosened, ...]:
    """What becomes looser, the certain ones first, then by path. `now_seconds` (Unix time) says which holds have ended.
    `cluster_groups` are those of the cluster whose documents or tiers differ; without them a cluster is not known."""
    tiers = {tier.name for side in (before, after) for tier in side.policy.tiers if _bounds_nodes(tier)}
    own = tuple(_judged(*(_policy_values(side.policy) | _tier_values(side.policy, tiers) for side in (before, after))))
    values = [Loosened(path=path, before=old, after=new, certain=sure) for path, old, new, sure in own]
    together: dict[tuple[str, str, str, bool], list[str]] = {}
    for name, old_group, new_group in [*_pairs(before, after), *_discovered(before.policy, after.policy)]:
        sides = (
            _group_values(before.policy, old_group, now_seconds), _group_values(after.policy, new_group, now_seconds)
        )  # fmt: skip
        for change in _judged(*sides):
            together.setdefault(change, []).append(name)
    for one in cluster_groups:
        for change in _judged(
            _cluster_values(before.policy, one, 0, now_seconds), _cluster_values(after.policy, one, 1, now_seconds)
        ):
            names = together.setdefault(change, [])
            names += [] if one.name in names else [one.name]
    # Groups that take a value of the policy loosen with it.
    for (path, old, new, sure), names in ((change, names) for change, names in together.items() if change not in own):
        known = tuple(name for name in names if name)
        values.append(Loosened(path=path, before=old, after=new, certain=sure, groups=known, discovered=len(known) < len(names)))
    return tuple(sorted(values, key=lambda one: (not one.certain, one)))


def _pairs(before: PolicySet, after: PolicySet) -> Iterator[tuple[str, NodeGroup, NodeGroup | None]]:
    """Groups of both by name, else by target: one that is renamed keeps it. One whose document goes, while discovery may find its
    target, gets what discovery gives a group without a tier."""
    names, targets = {group.name: group for group in after.groups}, {group.target: group for group in after.groups}
    for group in before.groups:
        same = names.get(group.name) or targets.get(group.target)
        if same is not None:
            yield same.name, group, same
        elif after.policy.discovery:
            yield group.name, group, None


def _discovered(before: NodeGroupPolicy, after: NodeGroupPolicy) -> Iterator[tuple[str, str | None, str | None]]:
    """Groups without a document: one for each tier that both policies have, and another without a tier."""
    if before.discovery and after.discovery:
        common = {tier.name for tier in before.tiers} & {tier.name for tier in after.tiers}
        yield from (("", name, name) for name in (None, *sorted(common)))


def _policy_values(policy: NodeGroupPolicy) -> dict[str, str]:
    """Every value of the policy itself, by path, items of lists in brackets. The values of its groups show the defaults of tiers
    and of the policy."""
    spec = WrittenDocument(policy).values.get("spec", {})
    return dict(_leaves({key: value for key, value in spec.items() if key not in ("defaults", "tiers")}, ""))


def _bounds_nodes(tier: Tier) -> bool:
    """Whether a tier has a value of its own that moves or keeps nodes."""
    return tier.return_after_seconds is not None or tier.share_percent > 0


def _tier_values(policy: NodeGroupPolicy, tiers: Iterable[str]) -> dict[str, str]:
    """`returnAfter` and `share` of the tiers of these names. A tier that is not there takes no nodes back and has no share."""
    by_name = {tier.name: tier for tier in policy.tiers}
    values: dict[str, str] = {}
    for name in tiers:
        tier = by_name.get(name, Tier(name=name))
        seconds = tier.return_after_seconds
        values[f"tiers[{name}].name"] = name
        values[f"tiers[{name}].returnAfter"] = _NEVER if seconds is None else duration_text(seconds)
        values[f"tiers[{name}].share"] = str(tier.share_percent)
    return values


def _group_values(policy: NodeGroupPolicy, group: NodeGroup | str | None, now_seconds: int) -> dict[str, str]:
    """The effective values of a group, or of one that discovery finds in a tier of that name, as the policy alone gives them."""
    document = group if isinstance(group, NodeGroup) else None
    rank = (
        tier_rank(policy, group.tier, group.name, group.labels)
        if isinstance(group, NodeGroup)
        else next((rank for rank, tier in enumerate(policy.tiers) if tier.name == group), None)
    )
    levels = level_order(document, None if rank is None else policy.tiers[rank].defaults, policy.defaults)
    values: dict[str, str] = {}
    for level in reversed(levels):
        written = _level_values(level)
        for path, rule in LEVEL_FIELDS.items():
            # What counts as a whole replaces all of it.
            if rule.rule is MergeRule.NEAREST and any(_within(key, path) for key in written):
                values = {key: value for key, value in values.items() if not _within(key, path)}
        values |= written
    if document is not None:
        values |= _own_values(document)
    values = {key: value for key, value in values.items() if not _within(key, "hold")}
    hold = HOLD.nearest(levels, now_seconds)
    if hold is not None:
        values["hold"] = _hold_text(hold[1])
    written_mode = next((level.mode for level in levels if level.mode is not None), None)
    values["mode"] = str(effective_mode(written_mode, policy.mode))
    values.setdefault("humanHoldTime", duration_text(policy.human_hold_time_seconds))
    for path, value in _scalars().items():
        if value.built_in is not None:
            values.setdefault(path, value.text(value.built_in).removesuffix("%"))
    return values


def _cluster_values(policy: NodeGroupPolicy, group: ClusterGroup, side: int, now_seconds: int) -> dict[str, str]:
    """Both sides have the same target, whether a document names it or not, and its bounds count before those of defaults."""
    document = (group.before, group.after)[side]
    values = _group_values(policy, document, now_seconds)
    own = _level_values(document) if isinstance(document, NodeGroup) else {}
    values |= {path: str(nodes) for path, nodes in group.size[side].items() if path not in own}
    return {path: value for path, value in values.items() if not _within(path, "target")}


def _hold_text(hold: Hold) -> str:
    """Its end is told by the text alone, whatever the reason says."""
    text = HOLD.text(hold)
    return text if hold.until_seconds is not None or _UNTIL not in text else f"{text}, without end"


def _level_values(level: GroupFields) -> dict[str, str]:
    """What one level says, by path below `spec` of a NodeGroup."""
    return _written(GroupFields(**{name: getattr(level, name) for name in GroupFields.__struct_fields__}))


def _own_values(document: NodeGroup) -> dict[str, str]:
    """What a NodeGroup says that no default can: its target, its nodes, its labels, by which limits and tiers select it."""
    written = WrittenDocument(document).values
    merged = {field.yaml_key for field in GROUP_FIELDS}
    own = {key: value for key, value in written.get("spec", {}).items() if key not in merged}
    labels = written.get("metadata", {}).get("labels", {})
    return dict(_leaves({**own, **({"labels": labels} if labels else {})}, ""))


@lru_cache(maxsize=512)
def _written(fields: GroupFields) -> dict[str, str]:
    """Many groups share the levels of a policy."""
    document = NodeGroupPolicy(name="", defaults=fields, place=Place("", 1, 1))
    return dict(_leaves(WrittenDocument(document).values.get("spec", {}).get("defaults", {}), ""))


@cache
def _scalars() -> dict[str, GroupValue]:
    """Every field of a group that is one scalar, by path."""
    scalars: dict[str, GroupValue] = {}
    rows = [(field, field.yaml_key) for field in GROUP_FIELDS]
    while rows:
        field, path = rows.pop()
        rows += [(child, f"{path}.{child.yaml_key}") for child in field.children]
        if not field.children and field.attribute and path not in LEVEL_FIELDS and not isinstance(field.default, tuple):
            scalars[path] = group_value(path)
    return scalars


def _within(key: str, path: str) -> bool:
    return key == path or key.startswith((f"{path}.", f"{path}["))


def _leaves(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and (value or not path):
        for key, part in value.items():
            yield from _leaves(part, f"{path}{key}" if key.startswith("[") else f"{path}.{key}" if path else key)
    else:
        yield path, "{}" if isinstance(value, Mapping) else str(value)


def _judged(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, str, str, bool]]:
    """(path, before, after, certain) of what loosens or may. An item of a list that comes or goes is one change."""
    after = _aligned(before, after)
    items_before, items_after = _items(before), _items(after)
    items: set[str] = set()
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        item = _item_of(path)
        if item and (item in items_before) is not (item in items_after):
            if item in items:
                continue
            items.add(item)
            gone = item in items_before
            name = item.partition("[")[0]
            first_or_last = not any(other.startswith(f"{name}[") for other in (items_after if gone else items_before))
            verdict = False if name in _WITH_DEFAULT and first_or_last else _of_item(name, gone=gone)
            if verdict is not None:
                yield item, *(_GONE if gone else _CAME), verdict
            continue
        verdict = (
            None
            if _only_holds(path, before if new is None else after, after if new is None else before)
            else _verdict(path, old, new)
        )
        if verdict is not None:
            yield path, UNSET if old is None else old, UNSET if new is None else new, verdict


def _only_holds(path: str, there: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether an empty mapping at `path` still stands on the other side, with keys below it that are judged themselves."""
    return there.get(path) == "{}" and any(_within(key, path) for key in other)


def _aligned(before: Mapping[str, str], after: Mapping[str, str]) -> Mapping[str, str]:
    """`after`, with the names of `before` for equal list items: another name or position does not count as a change."""
    old, new = _contents(before), _contents(after)
    same = {item for item, content in new.items() if old.get(item) == content}
    free: dict[tuple[str, frozenset[tuple[str, str]]], list[str]] = {}
    for item, content in old.items():
        if item not in same:
            free.setdefault((item.partition("[")[0], content), []).append(item)
    called = {item: item for item in same}
    for item, content in new.items():
        if item not in same and (names := free.get((item.partition("[")[0], content))):
            called[item] = names.pop(0)
    taken = {*called.values()}
    for item in new:
        if item not in called:
            name = item
            while name in taken:
                name = f"{name.removesuffix(']')}']"
            called[item] = name
            taken.add(name)
    if all(item == name for item, name in called.items()):
        return after
    return {called.get(item := _item_of(path), item) + path[len(item) :]: value for path, value in after.items()}


def _contents(values: Mapping[str, str]) -> dict[str, frozenset[tuple[str, str]]]:
    """What each item of a list says, without a name that only calls it."""
    contents: dict[str, set[tuple[str, str]]] = {}
    for path, value in values.items():
        item = _item_of(path)
        if item:
            rest = path[len(item) :]
            content = contents.setdefault(item, set())
            if not (rest == ".name" and _direction(_plain(path)) == Loosens.SAFE):
                content.add((rest, value))
    return {item: frozenset(content) for item, content in contents.items()}


def _items(values: Mapping[str, str]) -> set[str]:
    return {item for path in values if (item := _item_of(path))}


def _item_of(path: str) -> str:
    """`limits[cluster]` of `limits[cluster].max.cpu`; empty for a path of no item."""
    head, bracket, rest = path.partition("[")
    return f"{head}[{rest.partition(']')[0]}]" if bracket else ""


def _of_item(name: str, *, gone: bool) -> bool | None:
    """The verdict on an item that comes or goes: True loosens, None does not, False nobody knows."""
    if name in _BOUNDS:
        return True if gone else None
    if name in _OPENINGS:
        return None if gone else True
    direction = _direction(name)
    if direction == Loosens.DOWN:
        return True if gone else None
    return None if direction == Loosens.SAFE else False


def _verdict(path: str, old: str | None, new: str | None) -> bool | None:
    """Whether a change loosens: True, not at all: None, nobody knows: False."""
    if path == "hold":
        return _hold_verdict(old, new)
    direction = _direction(_plain(path))
    if direction == Loosens.SAFE:
        return None
    if direction in (Loosens.FEWER, Loosens.MORE):
        lost, gained = _names(old) - _names(new), _names(new) - _names(old)
        return True if (lost if direction == Loosens.FEWER else gained) else None
    if direction in (Loosens.UP, Loosens.DOWN, Loosens.UP_FROM_NOTHING):
        return _number_verdict(direction, old, new)
    if not direction:
        return False
    order = words_from_tightest(direction)
    if old in order and new in order:
        return True if order.index(new) > order.index(old) else None
    return True if new == order[-1] else None


def _hold_verdict(old: str | None, new: str | None) -> bool | None:
    if old is None or new is None:
        return None if old is None else True
    ends = [_end(text) for text in (old, new)]
    if ends[1] is None:
        return None
    return True if ends[0] is None or ends[1] < ends[0] else None


def _number_verdict(direction: str, old: str | None, new: str | None) -> bool | None:
    if new in (None, _NEVER) or old in (None, _NEVER):
        from_nothing = old in (None, _NEVER)
        loosest_is_nothing = direction == Loosens.UP or (direction == Loosens.DOWN and _NEVER not in (old, new))
        return True if from_nothing is not loosest_is_nothing else None
    numbers = _numbers(old or "", new or "")
    if numbers is None:
        return False
    return True if (numbers[1] > numbers[0]) is (direction != Loosens.DOWN) else None


def _numbers(old: str, new: str) -> tuple[Fraction, Fraction] | None:
    """Both as numbers of one unit. None if they are not numbers, or have two units."""
    for parse in (_percent, _seconds, _amount):
        low, high = parse(old), parse(new)
        if low is not None and high is not None:
            return low, high
    return None


def ratio(old: str, new: str) -> Fraction | None:
    """How many times the smaller of two values fits into the larger one. None where no number says so (from or to nothing, a
    word, two units): that is further than any number."""
    numbers = _numbers(old, new)
    if numbers is None or min(numbers) <= 0:
        return None
    return max(numbers) / min(numbers)


def _percent(text: str) -> Fraction | None:
    return _amount(text[:-1]) if text.endswith("%") else None


def _seconds(text: str) -> Fraction | None:
    try:
        return exact_seconds(text)
    except DurationError:
        return None


def _amount(text: str) -> Fraction | None:
    try:
        quantity = parse_quantity(text)
    except QuantityFormError:
        return None
    return Fraction(quantity.integer) * Fraction(10) ** quantity.power_of_ten


def _end(text: str) -> int | None:
    """When a hold with this text ends; None: it has no end."""
    try:
        return parse_instant(text.rpartition(_UNTIL)[2])
    except InstantError:
        return None


def _names(text: str | None) -> set[str]:
    return {name for name in (text or "[]")[1:-1].split(", ") if name}


def _plain(path: str) -> str:
    """The path without its items: `limits.max.cpu` of `limits[cluster].max.cpu`."""
    head, bracket, rest = path.partition("[")
    return head + _plain(rest.partition("]")[2]) if bracket else head


def _direction(path: str) -> str:
    """The direction of the nearest field at or above the path; empty: nobody said."""
    while path:
        if path in directions():
            return directions()[path]
        path = path.rpartition(".")[0]
    return ""
