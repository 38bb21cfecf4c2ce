"""Why a pod has no place. Reasons that many groups share are stated once."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from reconciler.plan.plan import (
    BufferLine,
    BufferState,
    RequestLine,
    RequestState,
)
from reconciler.plan.reason import Reason
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.one_sentence import one_sentence
from reconciler.rendering.words.wording import count

BUFFERS_LACKING = frozenset((BufferState.SHORT, BufferState.IGNORED))
"""Buffers of which some room is not there and not on its way."""


def buffer_words(line: BufferLine) -> str:
    """A CapacityBuffer and how much of its room there is: `shop/spare: room for 5 pods, 3 now, 2 later`."""
    if line.state is BufferState.IGNORED:
        return f"{line.buffer}: no room is kept"
    later = line.upcoming + line.requested
    parts = [f"room for {count(line.pods, 'pod')}", f"{line.fits} now", *([f"{later} later"] if later else [])]
    short = line.pods - line.fits - later
    return f"{line.buffer}: {', '.join([*parts, *([f'{short} lacking'] if short else [])])}"


class AskedRoom(msgspec.Struct, frozen=True):
    """Room that an object asks for, for any page: its line, and why not all of it is there. `lacking`: some is not even on its
    way."""

    words: str
    reasons: tuple[Reason, ...]
    lacking: bool


def rooms_of_buffers(lines: Iterable[BufferLine]) -> tuple[AskedRoom, ...]:
    """Of CapacityBuffers."""
    return tuple(AskedRoom(buffer_words(line), line.reasons, line.state in BUFFERS_LACKING) for line in lines)


def rooms_of_requests(lines: Iterable[RequestLine]) -> tuple[AskedRoom, ...]:
    """Of ProvisioningRequests that want something."""
    return tuple(AskedRoom(request_words(line), line.reasons, line.state in REQUESTS_LACKING) for line in lines)


REQUESTS_LACKING = frozenset((RequestState.SHORT, RequestState.FAILED, RequestState.IGNORED))
"""ProvisioningRequests that get no room."""
_OF_REQUESTS = {
    RequestState.PROVISIONED: "room is there",
    RequestState.WAITING: "room is on its way",
    RequestState.SHORT: "no room",
    RequestState.FAILED: "given up",
    RequestState.EXPIRED: "room is free again",
    RequestState.IGNORED: "no room is kept",
}


def request_words(line: RequestLine) -> str:
    """A ProvisioningRequest and whether its room is there: `ml/train: room is on its way for 5 pods, 3 now, 2 later`."""
    words = f"{line.request}: {_OF_REQUESTS[line.state]}"
    later = line.upcoming + line.requested
    match line.state:
        case RequestState.WAITING:
            return f"{words} for {count(line.pods - line.came, 'pod')}, {line.fits} now, {later} later"
        case RequestState.PROVISIONED | RequestState.SHORT:
            return f"{words} for {count(line.pods - line.came, 'pod')}"
        case _:
            return words


def folded_reasons(reasons: Sequence[Reason], fold: Fold) -> Iterator[str]:
    """The sentences as they are, if they are few. Otherwise, those of one code that differ only in their group and in figures
    become one; of the others, the first is shown."""
    if fold.shown(len(reasons), fold.reasons) == len(reasons):
        yield from (reason.message for reason in reasons)
        return
    lots: dict[tuple[str, str], list[str]] = {}
    for reason in reasons:
        lots.setdefault((reason.code, _shape(reason.message)), []).append(reason.message)
    sentences = [sentence for messages in lots.values() for sentence in _together(messages)]
    shown = fold.shown(len(sentences), fold.reasons)
    yield from sentences[:shown]
    if shown < len(sentences):
        yield f"and {count(len(sentences) - shown, 'reason')} more: `reconciler explain pod NAME`"


def _shape(message: str) -> str:
    """The words without figures behind the name that a sentence begins with."""
    return " ".join(word for word in _behind(message).split() if not any(map(str.isdigit, word)))


def _together(messages: Sequence[str]) -> Sequence[str]:
    if len(messages) == 1 or not all(": " in message for message in messages):
        return messages
    sentence = one_sentence([_behind(message) for message in messages])
    return messages if sentence is None else (f"each of {count(len(messages), 'group')}: {sentence}",)


def _behind(message: str) -> str:
    return message.partition(": ")[2] or message
