"""Two policies and their two plans side by side, as markdown for a pull request."""

from collections.abc import Sequence

from reconciler.plan.comparison import PlanComparison
from reconciler.policy.comparison import PolicyChange
from reconciler.rendering.differences import Section, difference_sections, with_further
from reconciler.rendering.fold import Fold
from reconciler.rendering.markdown.length import GITHUB_LIMIT, length
from reconciler.rendering.markdown_code import code, fenced, folded
from reconciler.rendering.plain import plain
from reconciler.rendering.wording import count

_OPEN = ("Policy", "Groups", "Cost", "Evictions")  # what a reviewer reads first is not folded
_LEAST = 10
_NOTES = ""


def comparison_markdown(
    changes: Sequence[PolicyChange],
    comparison: PlanComparison,
    *,
    further: Sequence[Section] = (),
    lead: str = "",
    notes: Sequence[Sequence[str]] = (),
    limit: int = GITHUB_LIMIT,
) -> str:
    """What differs, in at most `limit` UTF-16 units. `further` sections come behind the cost; `lead` and `notes` are
    markdown already and come behind the title and at the end.

    What does not fit is cut in this order, each section from its end and with a count of what is missing: nodes, pods,
    actions, problems, further sections from the last on, notes, groups, the policy.
    """
    sections = with_further(difference_sections(changes, comparison, Fold()), further)
    most = {section.heading: len(section.differences) for section in sections}
    kept: Sequence[Sequence[str]] = notes
    first = ("Nodes", "Pending pods", "Actions", "Problems", *(section.heading for section in reversed(further)))
    for heading in (*first, _NOTES, "Groups", "Policy"):
        if heading == _NOTES and length(_assembled(sections, changes, comparison, most, lead, kept)) > limit:
            kept = ()
        while most.get(heading, 0) and length(_assembled(sections, changes, comparison, most, lead, kept)) > limit:
            most[heading] = 0 if most[heading] <= _LEAST else most[heading] // 2
    return _assembled(sections, changes, comparison, most, lead, kept)


def _assembled(
    sections: Sequence[Section],
    changes: Sequence[PolicyChange],
    comparison: PlanComparison,
    most: dict[str, int],
    lead: str,
    notes: Sequence[Sequence[str]],
) -> str:
    blocks: list[Sequence[str]] = [["## What this change does to the node groups"]]
    blocks += [[lead]] if lead else []
    blocks.append([f"before: {code(comparison.summary_before)}", "", f"after: **{code(comparison.summary_after)}**"])
    if not changes:
        blocks.append(["The policy does not differ."])
    if comparison.empty and all(section.heading == "Policy" for section in sections):
        blocks.append(["The decision does not differ."])
    for section in sections:
        shown = section.differences[: most[section.heading]]
        lines = [f"{difference.mark} {plain(difference.sentence)}" for difference in shown]
        left = len(section.differences) - len(shown)
        body = fenced(lines, "diff") if lines else []
        body += ["", f"and {count(left, 'line')} more that did not fit; `-o json` has everything."] if left else []
        title = f"{section.heading} ({len(section.differences)})"
        blocks.append([f"### {title}", "", *body] if section.heading in _OPEN else folded(title, body))
    blocks += notes
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"
