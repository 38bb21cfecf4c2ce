"""What a person writes after the name of an approving trailer: `policy=sha256:… until=2026-12-01T00:00:00Z nodes<=5`."""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from reconciler.plan.approvals.trailers import trailers
from reconciler.values.instant import InstantError, parse_instant

_WORD = re.compile(r"(?P<name>[a-z]+)(?:=(?P<text>\S*)|<=(?P<most>[0-9]{1,6}))")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_DIGESTS = ("policy", "plan")
_SHOWN = 200
_Approval = TypeVar("_Approval")


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The words of one trailer by name: digests and names, and upper bounds. It is valid until an instant in Unix seconds."""

    named: Mapping[str, str]
    most: Mapping[str, int]
    until_seconds: int


def read_each(
    message: str, key: str, parts: tuple[str, ...], approval: Callable[[Terms], _Approval], advice: str = ""
) -> tuple[tuple[_Approval, ...], tuple[str, ...]]:
    """An approval for each readable trailer of this key, and a sentence for each other one, which approves nothing.

    `parts` are the required words, as a person reads them (`policy=`, `nodes<=N`), with `until=`. `advice` follows the sentence.
    """
    readings = [(value, read_terms(value, parts)) for value in trailers(message, key)]
    approvals = tuple(approval(terms) for _, terms in readings if isinstance(terms, Terms))
    problems = tuple(f"{key}: {value[:_SHOWN]!r}: {why}{advice}" for value, why in readings if isinstance(why, str))
    return approvals, problems


def read_terms(value: str, parts: tuple[str, ...]) -> Terms | str:
    """The terms, or what is wrong with them."""
    named: dict[str, str] = {}
    most: dict[str, int] = {}
    for word in value.split():
        match = _WORD.fullmatch(word)
        if match is None or f"{match['name']}{'=' if match['most'] is None else '<=N'}" not in parts:
            return f"unknown word {word[:40]!r}. Write {', '.join(parts)}"
        if match["name"] in named or match["name"] in most:
            return f"{match['name']} appears twice"
        if match["most"] is None:
            named[match["name"]] = match["text"]
        else:
            most[match["name"]] = int(match["most"])
    missing = [part for part in parts if part.partition("=")[0].rstrip("<") not in {*named, *most}]
    if missing:
        return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    for name in _DIGESTS:
        if name in named and not _DIGEST.fullmatch(named[name]):
            return f"invalid digest {name}={named[name][:80]}. Write sha256: and 64 hexadecimal digits"
    try:
        return Terms(named=named, most=most, until_seconds=parse_instant(named["until"]))
    except InstantError as error:
        return f"until: {error}"
