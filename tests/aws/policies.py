"""Policies from YAML text."""

from reconciler.policy.documents import PolicySet
from reconciler.policy.tree import read_tree


def policy_set(text: str) -> PolicySet:
    tree = read_tree({"policy.yaml": text.encode()}, now_seconds=0)
    assert tree.sets, tree.problems
    (found,) = tree.sets
    return found
