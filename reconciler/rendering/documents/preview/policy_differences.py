"""What differs of the policy itself: what becomes looser first, equal changes folded with a count."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import msgspec

from reconciler.policy.changes.comparison import PolicyChange
from reconciler.policy.changes.loosening import Loosened
from reconciler.rendering.documents.blocks import FEWER, MORE, OTHERWISE, Difference
from reconciler.rendering.documents.preview.consequences.looser_values import looser_order, value_family
from reconciler.rendering.words.fold import NAMES_SHOWN, Fold
from reconciler.rendering.words.plain import listed


def policy_differences(changes: Sequence[PolicyChange], loosened: Sequence[Loosened], fold: Fold) -> tuple[Difference, ...]:
    """The gravest first: values that become looser, whole documents, the rest. Equal changes are one line, and where they are
    still too many, those of one field."""
    loose = frozenset(part for one in loosened for part in _parents(one.path))
    ordered = gravest_changes(changes, loosened)
    lots: dict[tuple[object, ...], list[PolicyChange]] = {}
    for whole in (True, False):
        lots = {}
        for number, change in enumerate(ordered):
            key = _alike(change, whole=whole) if fold.rows and change.path else (number,)
            lots.setdefault((_gravity(change, loose)[0], *key), []).append(change)
        if not fold.rows or len(lots) <= fold.rows:
            break
    return tuple(_line(lot, fold) for lot in lots.values())


def gravest_changes(changes: Sequence[PolicyChange], loosened: Sequence[Loosened]) -> list[PolicyChange]:
    """Values that become looser first, then whole documents, then the rest."""
    loose = frozenset(part for one in loosened for part in _parents(one.path))
    return sorted(changes, key=lambda change: _gravity(change, loose))


_FACTS = {"size": "range", "tier": "tier", "tier (by match)": "tier", "pricePerHour": "price", "target": "target"}


def told_of_groups(changes: Sequence[PolicyChange]) -> frozenset[tuple[str, str]]:
    """What the changes say of groups, as the name of each and the fact in a plan's words."""
    return frozenset(
        (name, fact)
        for change in changes
        if (fact := _FACTS.get(_effective(change.path).partition(".")[0]))
        for name in (*((change.name,) if change.kind == "NodeGroup" else ()), *change.reaches)
    )


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
    number = len(lot)
    if number > 1:
        names = tuple(dict.fromkeys(change.name for change in lot))
        whose = listed(names, NAMES_SHOWN)
        alike = all((one.path, one.before, one.after) == (first.path, first.before, first.after) for one in lot)
        what = f"{number} alike ({whose})" if alike else f"{number} values of {value_family(first.path)} ({whose})"
        return Difference(change_mark(first), f"{what}, such as {_alone(first)}", number=number)
    return Difference(change_mark(first), change_sentence(first, fold))


def change_mark(change: PolicyChange) -> str:
    """More for a document that comes, fewer for one that goes."""
    if change.path:
        return OTHERWISE
    return MORE if change.before is None else FEWER if change.after is None else OTHERWISE


def change_sentence(change: PolicyChange, fold: Fold) -> str:
    """The whole change: values, places, and the groups that it reaches."""
    reached = reach_words(change, fold)
    return f"{_alone(change)}. It reaches {reached}" if reached else _alone(change)


def reach_sentence(change: PolicyChange, fold: Fold) -> str:
    """`scaleDown.unneededTime reaches auto and big`; empty for a value of one group."""
    reached = reach_words(change, fold)
    return f"{change.path} reaches {reached}" if reached else ""


def _alone(change: PolicyChange) -> str:
    return msgspec.structs.replace(change, reaches=(), discovery=()).sentence()


def reach_words(change: PolicyChange, fold: Fold) -> str:
    """The groups whose value is taken from here, and the discovery rules that may find more; empty for a value of one group."""
    parts = [listed(change.reaches, fold.names)] if change.reaches else []
    parts += [f"what discovery {listed(change.discovery, fold.names)} finds"] if change.discovery else []
    return " and ".join(parts)
