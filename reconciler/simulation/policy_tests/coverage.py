"""Which rules of a policy no test touches: those without which every plan of the tests would be the same."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide_counted
from reconciler.decisions.memory import Memory
from reconciler.decisions.work import Work
from reconciler.plan.plan import Plan
from reconciler.policy.documents import PolicySet, Tier

_IDENTITY = ("name", "namespace", "labels", "policy_ref", "target", "nodes", "tier", "place", "places", "currency", "tiers")
_UNITS = ("_seconds", "_milli", "_bytes")


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """A plan of a test (without `settled` columns and `wanted`), and what it was decided for."""

    world: World
    policy: PolicySet
    now_seconds: int
    plan: Plan


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One value that the policy's documents write, and the policy without it. `name` is its path, behind the name of a group."""

    name: str
    without: PolicySet


def _plan(one: Decided, policy: PolicySet, work_budget: int) -> Plan:
    return decide_counted(one.world, policy, Memory(), one.now_seconds, Work(work_budget), with_wanted=False)[0]


def untouched_rules(decided: Sequence[Decided], work_budget: int) -> tuple[str, ...]:
    """Names of rules without which every plan would be the same. All plans are of one policy.

    Each rule is taken away, and the decisions are made again until one differs: as many as rules times plans at most. A rule that
    shows in the steady state alone counts as untouched.
    """
    return tuple(
        rule.name
        for rule in rules(decided[0].policy)
        if all(_plan(one, rule.without, work_budget) == one.plan for one in decided)
    )


def rules(policy: PolicySet) -> Iterator[Rule]:
    """Every value of the documents that is not the built-in one, in their order."""
    for name, changed in _values(policy.policy, "spec"):
        yield Rule(name=name, without=msgspec.structs.replace(policy, policy=changed))
    for index, tier in enumerate(policy.policy.tiers):
        for name, defaults in _values(tier.defaults, f"spec.tiers[{index}].defaults"):
            yield Rule(name=name, without=_with_tier(policy, index, msgspec.structs.replace(tier, defaults=defaults)))
    for index, group in enumerate(policy.groups):
        for name, fields in _values(group, "spec"):
            groups = (*policy.groups[:index], fields, *policy.groups[index + 1 :])
            yield Rule(name=f"{group.name} {name}", without=msgspec.structs.replace(policy, groups=groups))


def _with_tier(policy: PolicySet, index: int, tier: Tier) -> PolicySet:
    tiers = policy.policy.tiers
    changed = msgspec.structs.replace(policy.policy, tiers=(*tiers[:index], tier, *tiers[index + 1 :]))
    return msgspec.structs.replace(policy, policy=changed)


P = TypeVar("P", bound=msgspec.Struct)


def _values(part: P, path: str) -> Iterator[tuple[str, P]]:
    """Paths of values that are not the default, with the part without each. Items of lists go one by one."""
    for field in msgspec.structs.fields(part):
        value = getattr(part, field.name)
        if field.name in _IDENTITY or field.default is msgspec.NODEFAULT or value == field.default:
            continue
        name = f"{path}.{_key(field.encode_name)}"
        if isinstance(value, msgspec.Struct) and isinstance(field.default, msgspec.Struct):
            for inner, changed in _values(value, name):
                yield inner, msgspec.structs.replace(part, **{field.name: changed})
        elif isinstance(value, tuple) and value and isinstance(value[0], msgspec.Struct):
            for index, item in enumerate(value):
                called = getattr(item, "name", "")
                rest = (*value[:index], *value[index + 1 :])
                label = f"{name}[{index}]" + (f" ({called})" if called else "")
                yield label, msgspec.structs.replace(part, **{field.name: rest})
        else:
            yield name, msgspec.structs.replace(part, **{field.name: field.default})


def _key(name: str) -> str:
    """A field as documents write it: without its unit, in camelCase."""
    for unit in _UNITS:
        name = name.removesuffix(unit)
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
