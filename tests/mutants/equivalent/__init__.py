"""Changes that change nothing that anybody could see, by file: the change as it is printed, and why no test can be red."""

from tests.mutants.equivalent import control, decisions, gitops, kube, platforms, providers, scheduling

EQUIVALENT: dict[str, dict[str, str]] = {
    file: changes
    for area in (control, decisions, gitops, kube, platforms, providers, scheduling)
    for file, changes in area.EQUIVALENT.items()
}
