"""Nodes that leave."""

from collections.abc import Iterator

from reconciler.plan.preview import Preview
from reconciler.rendering.documents.blocks import names_listed
from reconciler.rendering.documents.preview.consequences.consequence import Code, Consequence, Grade
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.wording import count
from reconciler.values.plural import verb_for


def nodes_removed(preview: Preview) -> Iterator[Consequence]:
    """Nodes that leave under this change only."""
    before, after = preview.impact_before.nodes_gone, preview.impact_after.nodes_gone
    goes, stays = sorted({*after} - {*before}), {*before} - {*after}
    if not goes:
        return
    more = len(goes) - len(stays)
    group_of = {line.node: line.group or "" for line in preview.plan.nodes}
    counts: dict[str, int] = {}
    for node in goes:
        counts[group_of.get(node, "")] = counts.get(group_of.get(node, ""), 0) + 1
    groups = tuple(sorted(counts, key=lambda name: (-counts[name], name)))
    labels = [f"{name or 'no group'} ({counts[name]})" for name in groups]
    if more > 0:
        short = f"{count(more, 'more node')} {verb_for(more, 'is', 'are')} removed"
    else:
        short = f"{count(len(goes), 'other node')} {verb_for(len(goes), 'is', 'are')} removed"
    yield Consequence(
        grade=Grade.CAUTION if more > 0 else Grade.WARNING,
        code=Code.NODES_REMOVED if more > 0 else Code.OTHER_NODES_REMOVED,
        sentence=(f"{short} ({len(before)} -> {len(after)}): ", *names_listed(labels, NAMES_SHOWN), "."),
        short=short,
        detail=("Removed nodes: ", *names_listed(labels, NAMES_SHOWN), "."),
        data={"today": len(before), "after": len(after), "nodes": tuple(goes), "groups": groups},
    )
