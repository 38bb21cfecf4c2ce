"""Check of pod weights: whether anything multiplies them."""

from collections.abc import Iterator, Sequence

from reconciler.policy.checks.levels import Level, own_levels
from reconciler.policy.documents import Consolidation, Disruption, NodeGroup, NodeGroupPolicy
from reconciler.policy.problems.findings import Findings
from reconciler.policy.reading.draft import AnyDraft, Draft
from reconciler.values.money import parse_money


def check_pod_weights(policy: Draft[NodeGroupPolicy], groups: Sequence[Draft[NodeGroup]], findings: Findings) -> None:
    """A warning for weights where moved pods weigh nothing in the whole policy."""
    drafts: tuple[AnyDraft, ...] = (policy, *groups)
    written = [one for draft in drafts for level in own_levels(draft) for one in _written(level)]
    if any(_weighs(consolidation) for _, _, consolidation in written):
        return
    message = "podWeights has no effect while moved pods weigh nothing"
    hint = "add disruption: Balanced or minSavingPerMovedPod, or remove it"
    for level, path, consolidation in written:
        if consolidation.pod_weights:
            level.draft.warn(findings, "WeightsWithoutEffect", level.path(f"{path}.podWeights"), message, hint)


def _written(level: Level) -> Iterator[tuple[Level, str, Consolidation[None]]]:
    """What a level and its windows say, with the path."""
    yield level, "scaleDown.consolidation", level.fields.scale_down.consolidation
    for index, window in enumerate(level.fields.windows):
        yield level, f"windows[{index}].scaleDown.consolidation", window.scale_down.consolidation


def _weighs(consolidation: Consolidation[None]) -> bool:
    return consolidation.disruption is Disruption.BALANCED or parse_money(consolidation.min_saving_per_moved_pod or "0") > 0
