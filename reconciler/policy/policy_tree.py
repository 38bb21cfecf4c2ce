"""What a tree of policy texts holds, once it was read."""

import msgspec

from reconciler.policy.documents import PolicySet
from reconciler.policy.neighbours import Neighbour
from reconciler.policy.problems.problem import Problem


class PolicyTree(msgspec.Struct, frozen=True, kw_only=True):
    """A tree of texts read as a whole. `sets` is empty when any problem is an error (all or nothing).

    `skipped` counts documents of other API groups by `apiVersion/kind`; `policies` and `groups` count documents of ours,
    whether or not they could be used. `neighbours` are the files that were passed over, by path, with what each is.
    """

    sets: tuple[PolicySet, ...]
    problems: tuple[Problem, ...] = ()
    skipped: tuple[tuple[str, int], ...] = ()
    files: int = 0
    policies: int = 0
    groups: int = 0
    neighbours: tuple[Neighbour, ...] = ()
