"""The groups that a changed default reaches: those whose effective values would differ if this one value had not changed.

The new policy is compared with itself, with the old value in that one place. A default that a nearer level overrides reaches no
group. A default that is added to the values of nearer levels (startup taints, labels) reaches all groups.
"""

from collections.abc import Sequence
from functools import reduce

import msgspec

from reconciler.policy.documents import GroupFields, NodeGroupPolicy, PolicySet
from reconciler.policy.field import MergeRule
from reconciler.policy.group_value import attributes_of, group_value
from reconciler.policy.levels import ARCHITECTURE, LEVEL_FIELDS, effective_mode, level_order, merged_labels, tier_rank


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
