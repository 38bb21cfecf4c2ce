"""Merges sentences that differ only in names and figures. Figures become ranges."""

import re
from collections.abc import Sequence

_FIGURE = re.compile(r"(?P<before>[(]?[+-]?\$?)(?P<number>\d+(?:\.\d+)?)(?P<after>\D*)")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ[,.;)]?")
_EACH = "each"
# Verbs after a count, in the order of the alphabet: of one and of several.
_VERBS = {("fit", "fits"): "fit", ("has", "have"): "have", ("are", "is"): "are", ("leave", "leaves"): "leave"}


def one_sentence(sentences: Sequence[str], names: Sequence[str] = ()) -> str | None:
    """One sentence for all: `each has utilization 10.2%..48% (threshold 50%)`; None where they differ in more than figures,
    instants and their own name. `names[i]` is what the i-th sentence is about; it is told as `each`."""
    words = [sentence.split() for sentence in sentences]
    if len({len(parts) for parts in words}) != 1:
        return None
    own = [_Own(name) for name in names] or [_Own("")] * len(words)
    sentence_words = []
    for column in zip(*words, strict=True):
        word = _one_word(column, own)
        if word is None:
            return None
        sentence_words.append(word)
    return " ".join(sentence_words)


class _Own:
    """The name that a sentence is about, as a word of it, with what may stand behind a word."""

    def __init__(self, name: str) -> None:
        self._name = name

    def behind(self, word: str) -> str | None:
        """What stands behind the name in this word; None for another word."""
        rest = word[len(self._name) :] if self._name and word.startswith(self._name) else "?"
        return rest if rest in ("", ",", ".", ";", ":") else None


def _one_word(words: Sequence[str], own: Sequence[_Own]) -> str | None:
    rests = {name.behind(word) for name, word in zip(own, words, strict=True)}
    if len(rests) == 1 and (rest := next(iter(rests))) is not None:
        return _EACH + rest
    different = sorted(set(words))
    if len(different) == 1:
        return different[0]
    if all(_INSTANT.fullmatch(word) for word in different):
        return f"{different[0].rstrip(',.;)')}..{different[-1]}"
    figures = [_FIGURE.fullmatch(word) for word in different]
    known = [figure for figure in figures if figure is not None]
    if len(known) == len(figures) and len({(figure["before"], figure["after"]) for figure in known}) == 1:
        ordered = sorted(known, key=lambda figure: float(figure["number"]))
        low, high = ordered[0], ordered[-1]
        unit = low["after"].rstrip(",.;:)")
        return f"{low['before']}{low['number']}{unit}..{high['number']}{high['after']}"
    if len(different) == 2 and (several := _VERBS.get((different[0], different[1]))) is not None:
        return several
    plural = max(different, key=len)
    singular = {word for word in different if word != plural}
    stems = {plural.rstrip(",.;:").removesuffix("s"), *(word.rstrip(",.;:") for word in singular)}
    return plural if len(stems) == 1 else None
