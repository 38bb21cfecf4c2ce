"""The content of a tree of policy files."""

import msgspec

from reconciler.policy.documents import PolicySet
from reconciler.policy.neighbours import Neighbour
from reconciler.policy.problems.problem import Problem, Severity


class PolicyTree(msgspec.Struct, frozen=True, kw_only=True):
    """A tree of texts read as a whole. `sets` is empty when any problem is an error (all or nothing).

    `skipped` counts documents of other API groups by `apiVersion/kind`; `policies` and `groups` count documents of ours,
    whether or not they could be used. `neighbours` are the files that were passed over, by path, with what each is.
    `for_many`: documents name clusters. Then `sets` are those of the cluster that was asked about, and empty without one.
    `elsewhere` are the other documents then: the name of a cluster, or its labels, and a digest of one document.
    """

    sets: tuple[PolicySet, ...]
    problems: tuple[Problem, ...] = ()
    skipped: tuple[tuple[str, int], ...] = ()
    files: int = 0
    policies: int = 0
    groups: int = 0
    neighbours: tuple[Neighbour, ...] = ()
    for_many: bool = False
    elsewhere: frozenset[tuple[str, str]] = frozenset()

    @property
    def failed(self) -> bool:
        """Whether any problem is an error."""
        return any(problem.severity is Severity.ERROR for problem in self.problems)
