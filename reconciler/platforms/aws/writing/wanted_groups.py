"""Which groups a policy needs from AWS, by account and region."""

import msgspec

from reconciler.policy.documents import PolicySet

Tags = tuple[tuple[str, str], ...]


class Wanted(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """What to ask in one region with one role (empty: the process's own identity): groups by name, and groups by tags. Sets of
    tags are OR-ed; tags inside one are AND-ed; an empty value takes any."""

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
            tagged.setdefault((item.region, item.role_arn), set()).add(item.tags)
    return tuple(
        Wanted(
            region=place[0], role=place[1], names=tuple(sorted(named.get(place, ()))), tags=tuple(sorted(tagged.get(place, ())))
        )
        for place in sorted(named.keys() | tagged.keys())
    )


def role_of(policy: PolicySet | None, region: str, name: str) -> str:
    """The role for a group: that of its NodeGroup, else that of discovery in its region. Discovery asks for one account in each
    region (`OneAccountInRegion`): a group is known by its region and name."""
    if policy is None:
        return ""
    named = (one.target for one in policy.groups if one.target.provider == "aws")
    items = (one for one in policy.policy.discovery if one.provider == "aws")
    roles = (
        *(one.role_arn for one in named if (one.region, one.name) == (region, name)),
        *(one.role_arn for one in items if one.region == region),
    )
    return next(iter(roles), "")
