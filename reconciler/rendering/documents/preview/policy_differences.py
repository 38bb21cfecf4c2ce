"""What differs of the policy itself: what becomes looser first, equal changes folded with a count."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import msgspec

from reconciler.policy.comparison import PolicyChange
from reconciler.policy.loosening import Loosened
from reconciler.rendering.documents.blocks import FEWER, MORE, OTHERWISE, Difference
from reconciler.rendering.documents.preview.consequences.looser_values import looser_order, value_family
from reconciler.rendering.words.fold import NAMES_SHOWN, Fold
from reconciler.rendering.words.plain import listed


def policy_differences(changes: Sequence[PolicyChange], loosened: Sequence[Loosened], fold: Fold) -> tuple[Difference, ...]:
    """The gravest first: values that become looser, whole documents, the rest. Equal changes are one line, and where they are
    still too many, those of one field."""
    loose = frozenset(part for one in loosened for part in _parents(one.path))
    ordered = sorted(changes, key=lambda change: _gravity(change, loose))
    lots: dict[tuple[object, ...], list[PolicyChange]] = {}
    for whole in (True, False):
        lots = {}
        for number, change in enumerate(ordered):
            key = _alike(change, whole=whole) if fold.rows and change.path else (number,)
            lots.setdefault((_gravity(change, loose)[0], *key), []).append(change)
        if not fold.rows or len(lots) <= fold.rows:
            break
    return tuple(_line(lot, fold) for lot in lots.values())


def _gravity(change: PolicyChange, loose: frozenset[str]) -> tuple[int | Fraction, ...]:
    """Whether it becomes looser, how grave that is, and how far it goes; then documents that come or go."""
    if not change.path:
        return (1,)
    path = _effective(change.path)
    looser = path in loose or _item(path) in loose
    return (0, *looser_order(path, change.before or "", change.after or "")) if looser else (2,)


def _parents(path: str) -> Iterator[str]:
    """`limits[cluster].max`, `limits[cluster]`, `limits`: a change of any of them is that of the value."""
    while path:
        yield path
        at = max(path.rfind("."), path.rfind("["))
        path = path[:at] if at > 0 else ""


def _effective(path: str) -> str:
    """The path of the value that counts for a group: `scaleDown.mode` of `tiers[spot].defaults.scaleDown.mode`."""
    head, separator, rest = path.partition("defaults.")
    return rest if separator and (not head or head.startswith("tiers[")) else path


def _item(path: str) -> str:
    """`limits[cluster]` of `limits[cluster].max.cpu`: an item that comes or goes is one looser value."""
    head, bracket, rest = path.partition("[")
    return f"{head}[{rest.partition(']')[0]}]" if bracket else path


def _alike(change: PolicyChange, *, whole: bool) -> tuple[object, ...]:
    if whole:
        return change.kind, change.path, change.before, change.after
    return change.kind, value_family(change.path)


def _line(lot: Sequence[PolicyChange], fold: Fold) -> Difference:
    first = lot[0]
    mark = MORE if not first.path and first.before is None else FEWER if not first.path and first.after is None else OTHERWISE
    sentence = msgspec.structs.replace(first, reaches=(), discovery=()).sentence()
    number = len(lot)
    if number > 1:
        names = tuple(dict.fromkeys(change.name for change in lot))
        whose = listed(names, NAMES_SHOWN)
        alike = all((one.path, one.before, one.after) == (first.path, first.before, first.after) for one in lot)
        what = f"{number} alike ({whose})" if alike else f"{number} values of {value_family(first.path)} ({whose})"
        return Difference(mark, f"{what}, such as {sentence}", number=number)
    reached = listed(first.reaches, fold.names)
    sentence += f". It reaches {reached}" if reached else ""
    if first.discovery:
        sentence += f"{' and' if reached else '. It reaches'} what discovery {listed(first.discovery, fold.names)} finds"
    return Difference(mark, sentence)
