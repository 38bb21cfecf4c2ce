"""The summary of a policy tree: `3 files, 1 policy, 4 groups: no problems`."""

from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.problems.problem import Severity


def summary_line(tree: PolicyTree) -> str:
    """What was read, and how many problems there are. Documents of other API groups and files that are not policies are
    counted."""
    read = f"{_count(tree.files, 'file')}, {_count(tree.policies, 'policy', 'policies')}, {_count(tree.groups, 'group')}"
    others = sum(count for _, count in tree.skipped)
    files = len({one.path for one in tree.neighbours if one.code != "OtherKind"})
    skipped = [f"{_count(others, 'document')} of other kinds"] if others else []
    skipped += [f"{_count(files, 'file')} that {'is' if files == 1 else 'are'} no policy"] if files else []
    if skipped:
        read += f" ({' and '.join(skipped)} skipped)"
    errors = sum(problem.severity is Severity.ERROR for problem in tree.problems)
    warnings = len(tree.problems) - errors
    parts = [_count(amount, word) for amount, word in ((errors, "error"), (warnings, "warning")) if amount]
    return f"{read}: {', '.join(parts) or 'no problems'}"


def _count(amount: int, one: str, plural: str = "") -> str:
    return f"{amount} {one if amount == 1 else plural or one + 's'}"
