"""Targets in a cloud that a policy names, when nobody has asked the cloud about them."""

from collections.abc import Iterator, Sequence

import msgspec

from reconciler.policy.documents import PolicySet
from reconciler.policy.platform.policy_keys import platform_keys

CODE = "TargetsNotRead"
HOW = "A snapshot must contain them, and a live command must be able to list them"
_NAMES_SHOWN = 3


class UnreadTargets(msgspec.Struct, frozen=True, kw_only=True):
    """A note about one policy and one platform: no problem of the policy, and none before somebody asks. `object` is the
    platform's key."""

    code: str
    object: str
    message: str


def unread_targets(sets: Sequence[PolicySet]) -> Iterator[UnreadTargets]:
    """One note for each policy and each cloud of which it names or discovers targets."""
    for keys in platform_keys():
        for one in sets if keys.in_cloud else ():
            named = [group.name for group in one.groups if group.target.provider == keys.provider]
            item_names = [item.name for item in one.policy.discovery if item.provider == keys.provider]
            who = [(what, names) for what, names in (("group", named), ("discovery item", item_names)) if names]
            if who:
                yield UnreadTargets(code=CODE, object=keys.provider, message=none_was_read(*who))


def none_was_read(*who: tuple[str, Sequence[str]]) -> str:
    """The sentence of plans as well; `who` are things of the policy, one of what they are with their names."""
    verb = "names" if sum(len(names) for _, names in who) == 1 else "name"
    return f"{' and '.join(_summary(*some) for some in who)} {verb} targets of which none was read. {HOW}"


def _summary(what: str, names: Sequence[str]) -> str:
    """How many, and the first of their names: `4 groups (a, b, c and 1 more)`."""
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"{len(names)} {what}{'' if len(names) == 1 else 's'} ({', '.join(names[:_NAMES_SHOWN])}{more})"
