"""Words that several effects share."""

from collections.abc import Sequence

from reconciler.rendering.documents.blocks import Foreign, Sentence, names_listed
from reconciler.rendering.words.alike import owner_label
from reconciler.rendering.words.fold import NAMES_SHOWN


def reached_words(groups: Sequence[str], *, discovered: bool) -> Sentence:
    """The groups that something reaches: named ones, and those of discovery."""
    named = names_listed(groups, NAMES_SHOWN)
    if not discovered:
        return named
    return (*named, " and what discovery finds") if named else ("what discovery finds",)


def capitalized(sentence: Sentence) -> Sentence:
    """With a capital letter, unless it begins with a name."""
    if not sentence or isinstance(sentence[0], Foreign):
        return sentence
    return (sentence[0][:1].upper() + sentence[0][1:], *sentence[1:])


def pod_labels(pods: Sequence[str]) -> list[str]:
    """`shop/web-* (4)`, the largest lots first."""
    lots: dict[str, list[str]] = {}
    for pod in pods:
        lots.setdefault(owner_label(pod), []).append(pod)
    ordered = sorted(lots.items(), key=lambda item: (-len(item[1]), item[0]))
    return [f"{label} ({len(names)})" if len(names) > 1 else names[0] for label, names in ordered]


def verb_for(number: int, one: str, several: str) -> str:
    """The verb for one, or for several."""
    return one if number == 1 else several
