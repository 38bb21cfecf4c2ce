"""Comments out the groups of a first policy that the policy reader refuses, with the reason."""

from collections.abc import Sequence

from reconciler.policy.problems.problem import Severity
from reconciler.policy.tree import read_tree
from reconciler.rendering.manifests.policy_yaml import comment
from reconciler.values.clauses import clauses
from reconciler.values.whole_number import whole_number

Lines = list[str]


def usable(policy: str, groups: Sequence[Lines], now_seconds: int) -> list[Lines]:
    """The groups as they may be written next to the text of their policy. What the reader says is the reason."""
    written = list(groups)
    while True:
        refused = _refused(policy, written, now_seconds)
        if not refused:
            return written
        for number, why in refused.items():
            written[number] = commented_out(written[number], why)


def commented_out(group: Lines, why: str) -> Lines:
    """A group that is not in force, with what to do about it."""
    lines = comment(f"Not in force: {why}. Fix the target, or the lines below, and remove their '#'.")
    return [*lines, *(line if line.startswith("#") else f"# {line}" for line in group)]


def _refused(policy: str, groups: Sequence[Lines], now_seconds: int) -> dict[int, str]:
    texts = {f"{number}.yaml": "\n".join(lines) + "\n" for number, lines in enumerate(groups)}
    files = {"policy.yaml": policy.encode()} | {name: text.encode("utf-8", "replace") for name, text in texts.items()}
    reasons: dict[int, list[str]] = {}
    for problem in read_tree(files, now_seconds=now_seconds).problems:
        number = whole_number(problem.place.path.removesuffix(".yaml"))
        if problem.severity is Severity.ERROR and number is not None:
            reasons.setdefault(number, []).append(problem.message)
    return {number: clauses(messages) for number, messages in reasons.items()}
