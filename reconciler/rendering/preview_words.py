"""The words of a preview that are the same on a terminal and in a pull request."""

from reconciler.plan.preview import Preview, PreviewSide
from reconciler.rendering.differences import Section
from reconciler.rendering.fold import Fold
from reconciler.rendering.impact import impact_sections
from reconciler.rendering.wording import count, header_words

NOT_COMPARED = "Nothing to compare with"


def head_words(preview: Preview) -> tuple[tuple[str, str], ...]:
    """Names and values for the head: cluster, policy, mode, now."""
    return tuple((name, value) for name, value in header_words(preview.plan) if name != "revision")


def side_words(side: PreviewSide) -> str:
    """`main at 3f2a01c9be77, where the branches went apart`."""
    told = side.source
    if side.revision is not None and side.revision != side.source:
        told += f" at {side.revision[:12]}"
    return told + (", where the branches went apart" if side.merge_base else "")


def further_sections(preview: Preview, fold: Fold) -> tuple[Section, ...]:
    """What the change does to nodes and pods."""
    return impact_sections(preview.impact_before, preview.impact_after, preview.plan.nodes, preview.plan.groups, fold)


def untouched_words(preview: Preview) -> str:
    """`4 groups untouched`; empty without any."""
    return f"{count(len(preview.untouched), 'group')} untouched" if preview.untouched else ""


def warnings_words(preview: Preview) -> tuple[str, ...]:
    """Problems of the head's files that are no errors, a sentence each."""
    return tuple(f"{problem.place}: {problem.message} [{problem.code}]" for problem in preview.warnings)
