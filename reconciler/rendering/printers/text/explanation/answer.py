"""The answer to a question about a decision, as lines."""

from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.explanation.subjects import asked_group, chosen_name, chosen_node, chosen_pods, value_names
from reconciler.rendering.printers.text.explanation.group import explain_group
from reconciler.rendering.printers.text.explanation.node import explain_node
from reconciler.rendering.printers.text.explanation.pod import explain_pods
from reconciler.rendering.printers.text.explanation.value import explain_value


def explained_lines(case: Case, what: str, subject: str, width: int) -> list[str]:
    """The answer as lines of at most `width` characters (0: as long as they are). Raises `UnknownSubjectError`."""
    if what == "pod":
        return explain_pods(case, subject, chosen_pods(case, subject), width)
    if what == "node":
        return explain_node(case, chosen_node(case, subject), width)
    if what == "group":
        return explain_group(case, asked_group(case, subject), width)
    return explain_value(case, chosen_name(what, subject, value_names(case)), width)
