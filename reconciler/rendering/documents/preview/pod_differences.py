"""What differs of pods: who has no node in the steady state, who is evicted, where pending pods go."""

from collections.abc import Iterator, Sequence

from reconciler.plan.comparison import Pair
from reconciler.plan.impact import Impact, left_over
from reconciler.plan.plan import PodLine, PodOutcome
from reconciler.rendering.documents.blocks import FEWER, MORE, OTHERWISE, Difference, Meaning, cut, from_to
from reconciler.rendering.words.alike import owner_label
from reconciler.rendering.words.fold import NAMES_SHOWN, Fold
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import count, outcome_words

_FEW_ALIKE = 2
"""From so many pods on, those that only have other reasons are one line."""
_NOWHERE = (PodOutcome.UNPLACEABLE, PodOutcome.NOT_MODELLED)


def pod_differences(
    before: Impact, after: Impact, pairs: Sequence[Pair[PodLine]], fold: Fold
) -> tuple[int, tuple[Difference, ...]]:
    """How many pods differ, and sentences about them: first those without a node, then evictions, then pending pods."""
    lost, placed = left_over(after.waiting, before.waiting), left_over(before.waiting, after.waiting)
    pods = {pair.either.pod for pair in pairs} | {*lost, *placed}
    for old, new in ((before.evicted_now, after.evicted_now), (before.evicted_settled, after.evicted_settled)):
        pods |= {*left_over(new, old), *left_over(old, new)}
    lines = (
        *_places(lost, "has no node in steady state", "have no node in steady state", FEWER, Meaning.DANGER, fold),
        *_evictions(before, after),
        *_pending([pair for pair in pairs if pair.either.pod not in {*lost, *placed}], fold),
        *_places(placed, "has a node in steady state", "have a node in steady state", MORE, Meaning.NEUTRAL, fold),
    )
    return len(pods), lines


def _evictions(before: Impact, after: Impact) -> Iterator[Difference]:
    for name, old, new in (
        ("evictions now", before.evicted_now, after.evicted_now),
        ("evictions until the steady state", before.evicted_settled, after.evicted_settled),
    ):
        if old == new:
            continue
        mark = MORE if len(new) > len(old) else FEWER if len(new) < len(old) else OTHERWISE
        counts = f"{name}: {len(old)} -> {len(new)}"
        parts = [
            f"{word} {_labelled(pods)}"
            for word, pods in (("evicted:", left_over(new, old)), ("no longer:", left_over(old, new)))
            if pods
        ]
        meaning = Meaning.DANGER if len(new) > len(old) else Meaning.NEUTRAL
        yield Difference(mark, ", ".join([counts, *parts]), meaning)


def _places(pods: Sequence[str], one: str, several: str, mark: str, meaning: Meaning, fold: Fold) -> tuple[Difference, ...]:
    lots = sorted(_lots(pods), key=lambda lot: (-lot[1], lot[0]))
    lines = [
        Difference(mark, f"{label}: {count(number, 'pod')} {several}" if number > 1 else f"{label}: {one}", meaning, number)
        for label, number in lots
    ]
    return cut(lines, fold.shown(len(lots), fold.lots), "pod")


def _pending(pairs: Sequence[Pair[PodLine]], fold: Fold) -> tuple[Difference, ...]:
    lots: dict[tuple[bool, str, str, str], list[str]] = {}
    alike = [pair for pair in pairs if fold.names and _placed(pair.before) == _placed(pair.after)]
    for pair in pairs if len(alike) < _FEW_ALIKE else [pair for pair in pairs if pair not in alike]:
        stuck = pair.after is not None and pair.after.outcome in _NOWHERE and not _nowhere(pair.before)
        lots.setdefault((not stuck, owner_label(pair.either.pod), _placed(pair.before), _placed(pair.after)), []).append(
            pair.either.pod
        )
    order = sorted(lots.items(), key=lambda item: (item[0][0], -len(item[1])))
    lines = [
        Difference(
            OTHERWISE,
            f"{f'{label}: {len(pods)} pods, ' if len(pods) > 1 else f'{pods[0]}: '}{from_to(old, new)}",
            Meaning.NEUTRAL if calm else Meaning.DANGER,
            len(pods),
        )
        for (calm, label, old, new), pods in order
    ]
    if len(alike) >= _FEW_ALIKE:
        lines.append(Difference(OTHERWISE, f"{len(alike)} pods differ in their reasons alone", number=len(alike)))
    return cut(lines, fold.shown(len(lines), fold.lots), "pod")


def _nowhere(line: PodLine | None) -> bool:
    return line is not None and line.outcome in _NOWHERE


def _placed(line: PodLine | None) -> str:
    if line is None:
        return "not pending"
    where = line.node or line.group
    return outcome_words(line.outcome) + (f" ({where})" if where else "")


def _lots(pods: Sequence[str]) -> list[tuple[str, int]]:
    lots: dict[str, list[str]] = {}
    for pod in pods:
        lots.setdefault(owner_label(pod), []).append(pod)
    return [(label if len(names) > 1 else names[0], len(names)) for label, names in sorted(lots.items())]


def _labelled(pods: Sequence[str]) -> str:
    lots = sorted(_lots(pods), key=lambda lot: (-lot[1], lot[0]))
    return listed(tuple(f"{label} ({number})" if number > 1 else label for label, number in lots), NAMES_SHOWN)
