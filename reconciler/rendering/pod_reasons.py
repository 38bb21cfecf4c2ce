"""Why a pod has no place, with what many groups have in common told once."""

from collections.abc import Iterator, Sequence

from reconciler.plan.reason import Reason
from reconciler.rendering.fold import Fold
from reconciler.rendering.one_sentence import one_sentence
from reconciler.rendering.wording import count


def folded_reasons(reasons: Sequence[Reason], fold: Fold) -> Iterator[str]:
    """The sentences as they are where they are few. Else those of one code as one, where they differ in the group that they begin
    with and in figures; and the first of the others."""
    if fold.shown(len(reasons), fold.reasons) == len(reasons):
        yield from (reason.message for reason in reasons)
        return
    lots: dict[tuple[str, str], list[str]] = {}
    for reason in reasons:
        lots.setdefault((reason.code, _shape(reason.message)), []).append(reason.message)
    told = [sentence for messages in lots.values() for sentence in _together(messages)]
    shown = fold.shown(len(told), fold.reasons)
    yield from told[:shown]
    if shown < len(told):
        yield f"and {count(len(told) - shown, 'reason')} more: `reconciler explain pod NAME`"


def _shape(message: str) -> str:
    """The words without figures behind the name that a sentence begins with."""
    return " ".join(word for word in _behind(message).split() if not any(map(str.isdigit, word)))


def _together(messages: Sequence[str]) -> Sequence[str]:
    if len(messages) == 1 or not all(": " in message for message in messages):
        return messages
    told = one_sentence([_behind(message) for message in messages])
    return messages if told is None else (f"each of {count(len(messages), 'group')}: {told}",)


def _behind(message: str) -> str:
    return message.partition(": ")[2] or message
