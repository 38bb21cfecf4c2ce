"""Effects on pods: a place lost or found, evictions, data that goes with a node."""

from collections.abc import Iterator

from reconciler.plan.impact import left_over
from reconciler.plan.preview import Preview
from reconciler.plan.reason import Scalar
from reconciler.rendering.documents.blocks import names_listed
from reconciler.rendering.documents.preview.consequences.consequence import Code, Consequence, Grade
from reconciler.rendering.words.alike import pod_labels
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.wording import count
from reconciler.values.plural import verb_for


def pod_places(preview: Preview) -> Iterator[Consequence]:
    """Pods that lose their place in the steady state, or that get one."""
    before, after = preview.impact_before.waiting, preview.impact_after.waiting
    lost, placed = left_over(after, before), left_over(before, after)
    data: dict[str, Scalar] = {
        "today": len(before), "after": len(after), "lose": len(lost), "get": len(placed),
        "pods": tuple(pod_labels(lost or placed)),
    }  # fmt: skip
    if lost:
        more = len(lost) - len(placed)
        short = f"{count(more, 'more pod')} {verb_for(more, 'has', 'have')} nowhere to run"
        if more <= 0:
            short = f"{count(len(lost), 'pod')} {verb_for(len(lost), 'loses its', 'lose their')} place, {len(placed)} get one"
        sentence = (f"{short} ({len(before)} -> {len(after)}): ", *names_listed(pod_labels(lost), NAMES_SHOWN), ".")
        detail = ("Without a node: ", *names_listed(pod_labels(lost), NAMES_SHOWN), ".")
        yield Consequence(
            grade=Grade.CAUTION, code=Code.PODS_WITHOUT_NODE, sentence=sentence, short=short, detail=detail, data=data
        )
    elif placed:
        short = f"{count(len(placed), 'more pod')} {verb_for(len(placed), 'gets', 'get')} a node"
        sentence = (f"{short} ({len(before)} -> {len(after)}): ", *names_listed(pod_labels(placed), NAMES_SHOWN), ".")
        yield Consequence(grade=Grade.NOTE, code=Code.PODS_PLACED, sentence=sentence, short=short, data=data)


def evictions(preview: Preview) -> Iterator[Consequence]:
    """Pods that are evicted until the steady state, where these are more."""
    before, after = preview.impact_before.evicted_settled, preview.impact_after.evicted_settled
    more = len(after) - len(before)
    if more <= 0:
        return
    labels = pod_labels(left_over(after, before))
    yield Consequence(
        grade=Grade.CAUTION,
        code=Code.EVICTIONS,
        sentence=(f"{count(more, 'more eviction')} ({len(before)} -> {len(after)}): ", *names_listed(labels, NAMES_SHOWN), "."),
        short=count(more, "more eviction"),
        detail=("Evicted: ", *names_listed(labels, NAMES_SHOWN), "."),
        data={"today": len(before), "after": len(after), "pods": tuple(labels)},
    )


def data_lost(preview: Preview) -> Iterator[Consequence]:
    """Pods that lose data because their node leaves."""
    before, after = preview.impact_before.data_lost, preview.impact_after.data_lost
    more = left_over(after, before)
    if not more:
        return
    labels = pod_labels(more)
    where = verb_for(len(more), "loses data on its node", "lose data on their nodes")
    short = f"{count(len(more), 'more pod')} {where}"
    yield Consequence(
        grade=Grade.CAUTION,
        code=Code.DATA_LOST,
        sentence=(f"{short} (emptyDir, hostPath): ", *names_listed(labels, NAMES_SHOWN), "."),
        short=short,
        data={"today": len(before), "after": len(after), "pods": tuple(labels)},
    )
