"""The chain of sources of one effective value."""

from reconciler.policy.levels import LEVEL_FIELDS
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.explanation.groups import effective_value
from reconciler.rendering.printers.paragraphs import paragraph


def explain_value(case: Case, name: str, width: int) -> list[str]:
    """Lines about one value, named as `value_names` does: all sources in order of precedence, and which of them count."""
    group_name, _, path = name.rpartition("/")
    effective = effective_value(case.group(group_name), path)
    field = LEVEL_FIELDS.get(path)
    lines = paragraph(f"{path} of {group_name} is {effective.value}", width, 0)
    adds = field is not None and field.adds
    if field is not None and adds:
        lines += paragraph(f"of several levels, {field.rule.value}", width, 2)
    for rank, source in enumerate(effective.chain):
        wins = ", which wins" if not rank and not adds else ""
        lines += paragraph(f"{source.value} from {source.source}{wins}", width, 2, f"{rank + 1}. ")
    return lines
