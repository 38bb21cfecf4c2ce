"""Which groups a policy asks AWS for, by account and region."""

import msgspec

from reconciler.policy.documents import PolicySet

Tags = tuple[tuple[str, str], ...]


class Wanted(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Of one region, asked as one role (empty: as the process itself): groups by name, and by tags (OR between sets of tags, AND
    inside one; an empty value takes any)."""

    region: str
    role: str = ""
    names: tuple[str, ...] = ()
    tags: tuple[Tags, ...] = ()


def wanted(policy: PolicySet | None) -> tuple[Wanted, ...]:
    """Everything that a policy names or discovers; nothing without a policy."""
    if policy is None:
        return ()
    named: dict[tuple[str, str], set[str]] = {}
    for group in policy.groups:
        if group.target.provider == "aws":
            named.setdefault((group.target.region, group.target.role_arn), set()).add(group.target.name)
    tagged: dict[tuple[str, str], set[Tags]] = {}
    for item in policy.policy.discovery:
        if item.provider == "aws" and item.region:
            tagged.setdefault((item.region, ""), set()).add(item.tags)
    return tuple(
        Wanted(
            region=place[0], role=place[1], names=tuple(sorted(named.get(place, ()))), tags=tuple(sorted(tagged.get(place, ())))
        )
        for place in sorted(named.keys() | tagged.keys())
    )


def role_of(policy: PolicySet | None, region: str, name: str) -> str:
    """As which role a group is asked; empty for one that a policy discovers."""
    groups = policy.groups if policy is not None else ()
    return next(
        (
            one.target.role_arn
            for one in groups
            if one.target.provider == "aws" and (one.target.region, one.target.name) == (region, name)
        ),
        "",
    )
