"""Changes that change nothing that anybody could see, by file: the change as it is printed, and why no test can be red.

A change that a file could have in several places (`0 -> 1`) is told with its line as it stands there, without the space around:
`0 -> 1 in: return 0`.
"""

from tests.mutants.equivalent import control, decisions, gitops, kube, platforms, providers, scheduling
from tests.mutants.mutant import Mutant

EQUIVALENT: dict[str, dict[str, str]] = {
    file: changes
    for area in (control, decisions, gitops, kube, platforms, providers, scheduling)
    for file, changes in area.EQUIVALENT.items()
}


def names_of(mutant: Mutant, text: str) -> tuple[str, str]:
    """What the list may call a change of a file with this text: without and with its line."""
    change = mutant.what.partition(": ")[2]
    return change, f"{change} in: {text.splitlines()[mutant.line - 1].strip()}"


def is_listed(mutant: Mutant, text: str) -> bool:
    """Whether somebody found that it changes nothing."""
    listed = EQUIVALENT.get(mutant.file, {})
    return any(name in listed for name in names_of(mutant, text))
