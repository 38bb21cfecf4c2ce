"""Names for NodeGroups that are made of targets: valid, unique, and the same in every run.

The name of a target may be longer than a policy allows, have characters that it does not allow, or occur elsewhere as well.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

LONGEST_NAME = 50
_NO_NAME = re.compile(r"[^a-z0-9.-]+")
_DIGITS = 6


def policy_name(text: str) -> str:
    """A name for the policy of the cluster called `text`: what an object and a taint may be called."""
    return _valid(text)[:LONGEST_NAME].strip("-.") or "main"


def group_names(targets: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """One name for each target, given as its own name and one that tells it from all others (kind, place and name).

    Where several share their own name the other one stands for it. A name that is too long, or that two would still share, ends
    in a hash of the one that tells them apart.
    """
    shared = Counter(_valid(name) for name, _ in targets)
    chosen = [_valid(name) if shared[_valid(name)] == 1 else _valid(whole) for name, whole in targets]
    twice = Counter(chosen)
    return tuple(
        name if name and twice[name] == 1 and len(name) <= LONGEST_NAME else _hashed(name, whole)
        for name, (_, whole) in zip(chosen, targets, strict=True)
    )


def _valid(text: str) -> str:
    return _NO_NAME.sub("-", text.lower()).strip("-.")


def _hashed(name: str, whole: str) -> str:
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{name[: LONGEST_NAME - _DIGITS - 1].strip('-.')}-{digest}".lstrip("-")
