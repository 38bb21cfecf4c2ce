"""Fragments of other autoscalers' objects put into a policy. What the policy reader refuses is named, and so is what was left."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from reconciler.importers.conversion import Conversion, Note
from reconciler.importers.merging import merge
from reconciler.importers.other_objects import OtherObject, ReadObject, read_objects
from reconciler.importers.part_faults import fault_of
from reconciler.importers.settings import Setting
from reconciler.importers.shown_value import shown_value
from reconciler.policy.import_fragment import Piece, TargetlessGroup
from reconciler.policy.platform.policy_keys import platform_keys
from reconciler.rendering.manifests.policy_yaml import Value


class PlannedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group that waits for its target: the valid fields, and their origins."""

    group: TargetlessGroup
    origin: str
    fields: dict[str, Value]


class Assembly(msgspec.Struct, frozen=True, kw_only=True):
    """Groups without a target, and remarks for the reader of the policy."""

    groups: tuple[PlannedGroup, ...] = ()
    remarks: tuple[str, ...] = ()


def assemble(objects: Sequence[OtherObject], conversion: Conversion, place: Callable[[], str]) -> Assembly:
    """Put the objects' settings into the policy of `conversion`, and those without an equivalent into its notes. Raises
    `PlaceNeededError`."""
    groups: list[PlannedGroup] = []
    budgets: list[tuple[str, Note]] = []
    remarks: dict[str, None] = {}
    files: dict[str, str] = {}
    for read in read_objects(objects, place):
        fragment = read.fragment
        if fragment.title in files:
            again = Setting(name=fragment.title, value="", file=read.file)
            conversion.notes.append(Note(setting=again, why=f"it is also in {files[fragment.title]}, which was read"))
            continue
        files[fragment.title] = read.file
        for piece in _sound(fragment.pieces, read, conversion, lambda tree: tree):
            merge(conversion.spec, piece.tree)
            if "budgets" in piece.tree:
                budgets.append((fragment.title, Note(setting=_setting(read, piece), why="")))
            for key in piece.tree:
                conversion.taken.setdefault(f"spec.{key}", []).append(_origin(read, piece))
        groups += [_planned(group, read, conversion) for group in fragment.groups]
        for leftover in fragment.leftovers:
            setting = Setting(name=f"{fragment.title} {leftover.path}", value=shown_value(leftover.value), file=read.file)
            conversion.notes.append(Note(setting=setting, why=leftover.why))
        remarks |= dict.fromkeys(fragment.remarks)
    conversion.notes += _mixed(budgets)
    return Assembly(groups=tuple(groups), remarks=tuple(remarks))


def _mixed(budgets: Sequence[tuple[str, Note]]) -> Iterable[Note]:
    """Settings of several objects about their own nodes, in a policy for all nodes."""
    titles = list(dict.fromkeys(title for title, _ in budgets))
    why = f"it is written for all groups, since there are budgets of {', '.join(titles)}: there, each counts only its own nodes"
    return [msgspec.structs.replace(note, why=why) for _, note in budgets] if len(titles) > 1 else []


def _setting(read: ReadObject, piece: Piece) -> Setting:
    return Setting(name=f"{read.fragment.title} {piece.path}", value=shown_value(piece.value), file=read.file)


def to_write(group: TargetlessGroup) -> str:
    """The keys that its target lacks."""
    if not group.target:
        return f"one of {', '.join(keys.provider for keys in platform_keys())}"
    (provider, known), *_ = group.target.items()
    children = (child for keys in platform_keys() if keys.provider == provider for child in keys.target.children)
    return f"also write {', '.join(child.yaml_key for child in children if child.required and child.yaml_key not in known)}"


def _planned(group: TargetlessGroup, read: ReadObject, conversion: Conversion) -> PlannedGroup:
    fields: dict[str, Any] = {}
    sources = []
    for piece in _sound(group.pieces, read, conversion, lambda tree: {"defaults": tree}):
        merge(fields, piece.tree)
        sources.append(_origin(read, piece))
    origin = f"from {', '.join(sources) or read.fragment.title} ({read.file})"
    return PlannedGroup(group=group, origin=origin, fields=fields)


def _sound(
    pieces: Sequence[Piece], read: ReadObject, conversion: Conversion, placed: Callable[[Any], dict[str, Any]]
) -> Iterable[Piece]:
    """The pieces that are valid together; the others become notes. `placed` is where in a policy a piece goes."""
    if not _fault(pieces, placed):
        # If nothing is wrong, which is nearly always so, one check is enough.
        return pieces
    faults = [_fault([piece], placed) for piece in pieces]
    sound = [number for number, fault in enumerate(faults) if not fault]
    if _fault((pieces[number] for number in sound), placed):
        together: list[Piece] = []
        for number in sound:
            faults[number] = _fault([*together, pieces[number]], placed)
            together += [] if faults[number] else [pieces[number]]
    for piece, fault in zip(pieces, faults, strict=True):
        if fault:
            conversion.notes.append(Note(setting=_setting(read, piece), why=fault))
    return [piece for piece, fault in zip(pieces, faults, strict=True) if not fault]


def _fault(pieces: Iterable[Piece], placed: Callable[[Any], dict[str, Any]]) -> str:
    together: dict[str, Any] = {}
    for piece in pieces:
        merge(together, piece.tree)
    return fault_of(placed(together)) if together else ""


def _origin(read: ReadObject, piece: Piece) -> str:
    return f"{read.fragment.title} {piece.path}={shown_value(piece.value)}"
