"""What a policy lets our account do, in terms that the API server can hold without us: ranges, takeovers, evictions.

A range is what the group may have at any time: windows only narrow it, so they are left out. Holds that a person sets by
annotation are left out as well. The annotation is on the target, where the API server reads it.
"""

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.ownership.owner import CLIENT_SIDE_APPLY
from reconciler.decisions.reasons.sizes import NoMaxSize
from reconciler.policy.documents import GroupFields, Mode, NodeGroup, NodeGroupPolicy, PolicySet


class TargetBound(msgspec.Struct, frozen=True, kw_only=True):
    """Between how many replicas a target of the API server may have; `held`: its replicas may not change at all."""

    target: TargetRef
    lowest: int = 0
    highest: int = 0
    held: bool = False


class AdmissionBounds(msgspec.Struct, frozen=True, kw_only=True):
    """`targets` are sorted by reference. `adopt_from` are field managers whose claim may be taken over. Pods in
    `blocked_namespaces` must not be evicted. `unbounded` are groups without a known maximum, for which no range can be given."""

    policy: str
    targets: tuple[TargetBound, ...]
    adopt_from: tuple[str, ...]
    blocked_namespaces: tuple[str, ...]
    unbounded: tuple[EffectiveGroup, ...] = ()


def admission_bounds(world: World, policy: PolicySet, now_seconds: int) -> AdmissionBounds:
    """The bounds of one policy over what is there, at an instant that says which of its holds have ended."""
    bare = msgspec.structs.replace(world, targets=tuple(_without_mark(facts) for facts in world.targets))
    groups = [group for group in effective_groups(bare, _without_windows(policy), now_seconds) if group.target.namespace]
    unbounded = tuple(group for group in groups if not _held(group) and _has_no_maximum(group))
    bounds = (_bound(group) for group in groups if group not in unbounded)
    return AdmissionBounds(
        policy=policy.policy.name,
        targets=tuple(sorted(bounds, key=lambda bound: bound.target)),
        adopt_from=_managers(policy.policy.adopt_from),
        blocked_namespaces=tuple(sorted(policy.policy.drain.blocked_namespaces)),
        unbounded=unbounded,
    )


def _bound(group: EffectiveGroup) -> TargetBound:
    if _held(group):
        return TargetBound(target=group.target, held=True)
    return TargetBound(target=group.target, lowest=group.min_size, highest=group.max_size)


def _held(group: EffectiveGroup) -> bool:
    return bool(group.hold) or group.mode is Mode.OBSERVE


def _has_no_maximum(group: EffectiveGroup) -> bool:
    return any(reason.code == NoMaxSize.code for reason in group.reasons)


def _managers(adopt_from: tuple[str, ...]) -> tuple[str, ...]:
    """`kubectl` names what its client-side apply declared as well."""
    return tuple(sorted({*adopt_from, *((CLIENT_SIDE_APPLY,) if "kubectl" in adopt_from else ())}))


def _without_mark(facts: TargetFacts) -> TargetFacts:
    return msgspec.structs.replace(facts, owner=msgspec.structs.replace(facts.owner, hold=""))


def _without_windows(policy: PolicySet) -> PolicySet:
    own = policy.policy
    tiers = tuple(msgspec.structs.replace(tier, defaults=_closed(tier.defaults)) for tier in own.tiers)
    rules: NodeGroupPolicy = msgspec.structs.replace(own, tiers=tiers, defaults=_closed(own.defaults))
    groups: tuple[NodeGroup, ...] = tuple(msgspec.structs.replace(group, windows=()) for group in policy.groups)
    return msgspec.structs.replace(policy, policy=rules, groups=groups)


def _closed(fields: GroupFields) -> GroupFields:
    return msgspec.structs.replace(fields, windows=())
