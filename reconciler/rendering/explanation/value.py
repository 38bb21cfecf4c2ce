"""The chain of sources of one effective value."""

from reconciler.rendering.explanation.case import Case
from reconciler.rendering.text.paragraph import paragraph


def value_names(case: Case) -> list[str]:
    """Everything that may be asked for: `group/scaleDown.unneededTime`."""
    return [f"{group.name}/{path}" for group in case.groups for path in group.chains]


def explain_value(case: Case, name: str, width: int) -> list[str]:
    """Lines about one value, named as `value_names` does: all sources in order of precedence, the first one wins."""
    group_name, _, path = name.rpartition("/")
    group = next(group for group in case.groups if group.name == group_name)
    lines: list[str] = []
    for rank, origin in enumerate(group.chains[path]):
        if not rank:
            lines += paragraph(f"{path} of {group_name} is {origin.value}", width, 0)
        lines += paragraph(f"{origin.value} from {origin.source}{'' if rank else ', which wins'}", width, 2, f"{rank + 1}. ")
    return lines
