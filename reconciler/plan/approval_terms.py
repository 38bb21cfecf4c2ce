"""What a person writes behind the name of a trailer that approves: `policy=sha256:… until=2026-12-01T00:00:00Z nodes<=5`."""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from reconciler.plan.commit_trailers import trailers
from reconciler.values.instant import InstantError, parse_instant

_WORD = re.compile(r"(?P<name>[a-z]+)(?:=(?P<text>\S*)|<=(?P<most>[0-9]{1,6}))")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_DIGESTS = ("policy", "plan")
_SHOWN = 200
_Approval = TypeVar("_Approval")


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The words of one trailer by name: digests and names, and figures that may not be exceeded. It counts until an instant in
    Unix seconds."""

    named: Mapping[str, str]
    most: Mapping[str, int]
    until_seconds: int


def read_each(
    message: str, key: str, parts: tuple[str, ...], approval: Callable[[Terms], _Approval], advice: str = ""
) -> tuple[tuple[_Approval, ...], tuple[str, ...]]:
    """An approval for each trailer of this key that can be read, and a sentence for each that cannot: it approves nothing.

    `parts` are the words that there must be, as a person reads them (`policy=`, `nodes<=N`), `until=` among them; `advice` goes
    behind the sentence.
    """
    found = [(value, read_terms(value, parts)) for value in trailers(message, key)]
    approvals = tuple(approval(terms) for _, terms in found if isinstance(terms, Terms))
    problems = tuple(f"{key}: {value[:_SHOWN]!r}: {why}{advice}" for value, why in found if isinstance(why, str))
    return approvals, problems


def read_terms(value: str, parts: tuple[str, ...]) -> Terms | str:
    """The terms, or what is wrong with them."""
    named: dict[str, str] = {}
    most: dict[str, int] = {}
    for word in value.split():
        match = _WORD.fullmatch(word)
        if match is None or f"{match['name']}{'=' if match['most'] is None else '<=N'}" not in parts:
            return f"{word[:40]!r} is none of {', '.join(parts)}"
        if match["name"] in named or match["name"] in most:
            return f"{match['name']} is there twice"
        if match["most"] is None:
            named[match["name"]] = match["text"]
        else:
            most[match["name"]] = int(match["most"])
    missing = [part for part in parts if part.partition("=")[0].rstrip("<") not in {*named, *most}]
    if missing:
        return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    for name in _DIGESTS:
        if name in named and not _DIGEST.fullmatch(named[name]):
            return f"{name}={named[name][:80]} is no sha256: digest with 64 digits"
    try:
        return Terms(named=named, most=most, until_seconds=parse_instant(named["until"]))
    except InstantError as error:
        return f"until: {error}"
