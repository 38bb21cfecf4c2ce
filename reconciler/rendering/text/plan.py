"""A whole plan as text."""

from reconciler.plan.plan import Plan
from reconciler.rendering.fold import EVERYTHING, Fold
from reconciler.rendering.text.page import Page
from reconciler.rendering.text.style import Style

WIDTH = 100


def plan_text(plan: Plan, *, colour: bool = False, wide: bool = False, width: int = WIDTH) -> str:
    """The plan for a terminal of `width` columns, all names and no breaks if `wide`; ends with the summary, the digest and a
    newline."""
    page = Page(plan, Style(colour=colour), 0 if wide else width, EVERYTHING if wide else Fold())
    sections = (
        page.head(),
        page.groups(),
        page.actions(),
        page.notes(),
        page.pods(),
        page.nodes(),
        page.held(),
        page.cost(),
        page.warnings(),
        page.foot(),
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"
