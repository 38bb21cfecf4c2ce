"""Pending pods with every reason: those that stay pending first, alike ones told once."""

from collections.abc import Mapping, Sequence

from reconciler.plan.plan import Plan
from reconciler.rendering.printers.html.element import NOTHING, Html, joined, tag
from reconciler.rendering.printers.html.page import CLASSES, Section, counted, fold, mark
from reconciler.rendering.words.alike import AlikePods, alike_pods
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.lacking_room import folded_reasons
from reconciler.rendering.words.next_step import all_placed_words
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import GROWS, HELD, STAY_PENDING, outcome_words

MOST_LOTS = 250
_MOST_REASONS = 40
_MOST_NAMES = 40


def pod_section(plan: Plan, groups: Mapping[str, str]) -> Section:
    """One fold per lot; more than `MOST_LOTS` are counted. The filter for what changes keeps all: people who look for changes
    also look for pods that get no place."""
    if not plan.pods:
        return Section("pods", "Pending pods", tag("p", "No pod is pending."), "0")
    lots = sorted(alike_pods(plan.pods), key=lambda lot: lot.outcome not in STAY_PENDING)
    staying = sum(pod.outcome in STAY_PENDING for pod in plan.pods)
    shown = Fold().shown(len(lots), Fold().lots)
    folds = joined(_lot(lot, groups, opened=number < Fold().reasoned) for number, lot in enumerate(lots[:shown]))
    more = NOTHING
    if rest := lots[shown:MOST_LOTS]:
        heading = f"{counted(sum(len(lot.pods) for lot in rest), 'pod')} more, of {counted(len(rest), 'further kind')}"
        more = fold(heading, joined(_lot(lot, groups, opened=False) for lot in rest))
    left = sum(len(lot.pods) for lot in lots[MOST_LOTS:])
    note = tag("p", f"{counted(left, 'pod')} left out. All are in -o json.", class_="soft") if left else None
    count = (
        f"{len(plan.pods):,}, of which {staying:,} stay pending" if staying else f"{len(plan.pods):,}, {all_placed_words(plan)}"
    )
    return Section("pods", "Pending pods", joined((tag("div", folds, more, class_="sheet"), note)), count)


def _sentences(sentences: Sequence[str]) -> Html:
    return tag("ul", joined(tag("li", reason) for reason in sentences))


def _lot(lot: AlikePods, groups: Mapping[str, str], *, opened: bool) -> Html:
    stays = lot.outcome in STAY_PENDING
    sign = HELD if stays else GROWS
    outcome = outcome_words(lot.outcome) + (f" ({lot.group})" if lot.group else "")
    number = counted(len(lot.pods), "pod") if len(lot.pods) > 1 else None
    head = tag(
        "summary",
        mark(sign),
        tag("b", lot.label),
        tag("span", number, class_="soft") if number else None,
        tag("span", outcome, class_="end"),
    )
    inner = []
    if lot.reasons:
        folded = tuple(folded_reasons(lot.reasons, Fold()))
        inner.append(_sentences(folded))
        if len(folded) < len(lot.reasons):
            every = _bounded(tuple(reason.message for reason in lot.reasons), _MOST_REASONS)
            inner.append(fold(f"All {len(lot.reasons)} reasons", _sentences(every)))
    if len(lot.pods) > 1:
        inner.append(tag("div", listed(lot.pods, _MOST_NAMES), class_="names"))
    if not inner:
        inner.append(tag("p", outcome))
    return tag(
        "details", head, tag("div", joined(inner)), class_=CLASSES[sign], open=opened and stays and len(lot.reasons) > 0,
        data_key=lot.label,
        data_item=True, data_counted=True, data_moves=True, data_groups=groups.get(lot.group or ""),
    )  # fmt: skip


def _bounded(sentences: Sequence[str], most: int) -> Sequence[str]:
    left = len(sentences) - most
    return sentences if left <= 0 else (*sentences[:most], f"and {counted(left, 'reason')} more")
