"""Effects within a day: when a window opens or a hold ends."""

from collections.abc import Iterator

from reconciler.plan.impact import Impact, left_over
from reconciler.plan.preview import Preview
from reconciler.rendering.documents.blocks import Foreign, Sentence, names_listed
from reconciler.rendering.documents.preview.consequences.consequence import Code, Consequence, Grade
from reconciler.rendering.words.alike import pod_labels
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.wording import count
from reconciler.values.plural import verb_for


def later_effects(preview: Preview) -> Iterator[Consequence]:
    """What happens only when a window opens or a hold ends: of nodes and pods, what is not told for now. New nodes are a note."""
    group_of = {line.node: line.group or "no group" for line in preview.plan.nodes}
    reported: set[tuple[object, ...]] = set()
    for later in preview.later:
        before, after = later.impact_before, later.impact_after
        goes = sorted({*after.nodes_gone} - {*before.nodes_gone} - {*preview.impact_after.nodes_gone})
        lost = left_over(left_over(after.waiting, before.waiting), preview.impact_after.waiting)
        come = max(
            0, _joins(later.impact_after, later.impact_before) - max(0, _joins(preview.impact_after, preview.impact_before))
        )
        evicted = max(0, len(after.evicted_settled) - len(before.evicted_settled))
        key = tuple(goes), tuple(lost), come
        if not any(key) or key in reported:
            continue
        reported.add(key)
        groups = tuple(sorted({group_of.get(node, "no group") for node in goes}))
        parts: list[tuple[str, Sentence]] = []
        if lost:
            words = f"{count(len(lost), 'more pod')} {verb_for(len(lost), 'has', 'have')} nowhere to run"
            parts.append((words, (": ", *names_listed(pod_labels(lost), NAMES_SHOWN))))
        if goes:
            words = f"{count(len(goes), 'more node')} {verb_for(len(goes), 'is', 'are')} removed"
            parts.append((words, (", of ", *names_listed(groups, NAMES_SHOWN), f", with {count(evicted, 'more eviction')}")))
        if come:
            parts.append((f"{count(come, 'more node')} {verb_for(come, 'is', 'are')} added", ()))
        sentence: list[str] = []
        for words, names in parts:
            sentence += [*((", ",) if sentence else ()), words, *names]
        yield Consequence(
            grade=Grade.CAUTION if goes or lost else Grade.NOTE,
            code=Code.LATER,
            sentence=("At ", Foreign(later.at), ", with the pods of now: ", *sentence, "."),
            short=f"within a day {parts[0][0]}",
            data={
                "at": later.at, "nodes": tuple(goes), "pods": tuple(pod_labels(lost)), "evictions": evicted, "groups": groups,
                "nodesAdded": come,
            },
        )  # fmt: skip


def _joins(after: Impact, before: Impact) -> int:
    return sum(after.nodes_joined.values()) - sum(before.nodes_joined.values())
