"""Fragments of other autoscalers' objects put into a policy. What the policy reader refuses is named, and so is what was left."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from reconciler.importers.conversion import Conversion, Note
from reconciler.importers.other_objects import OtherObject, ReadObject, read_objects
from reconciler.importers.settings import Setting
from reconciler.policy.documents import API_VERSION
from reconciler.policy.import_fragment import Piece, TargetlessGroup
from reconciler.policy.platform_parts import platform_keys
from reconciler.policy.problems.findings import Severity
from reconciler.policy.tree import read_tree
from reconciler.rendering.manifests.policy_yaml import Value
from reconciler.values.shown_text import cut
from reconciler.values.two_sentences import two_sentences

# Parts of a policy are combined: mappings by key, limits and tiers by name, other lists one after the other.

_BY_NAME = ("limits", "tiers")


def merge(spec: dict[str, Any], addition: Mapping[str, Any]) -> None:
    """Put `addition` into `spec`, which keeps its other values."""
    for key, value in addition.items():
        there = spec.get(key)
        if isinstance(there, dict) and isinstance(value, Mapping):
            merge(there, value)
        elif isinstance(there, list) and isinstance(value, list):
            for item in value:
                _add(there, item, by_name=key in _BY_NAME)
        else:
            spec[key] = _copy(value)


def _add(items: list[Any], item: Any, *, by_name: bool) -> None:  # noqa: ANN401 - an item of any list
    if item in items:
        return
    name = item.get("name") if isinstance(item, Mapping) else None
    same = next((one for one in items if name is not None and isinstance(one, dict) and one.get("name") == name), None)
    if same is None:
        items.append(_copy(item))
    elif by_name:
        merge(same, item)
    else:
        names = {one.get("name") for one in items if isinstance(one, dict)}
        free = next(number for number in range(2, len(items) + 3) if f"{name}-{number}" not in names)
        items.append({**_copy(item), "name": f"{name}-{free}"})


def _copy(value: Any) -> Any:  # noqa: ANN401 - JSON of any form
    if isinstance(value, Mapping):
        return {key: _copy(part) for key, part in value.items()}
    return [_copy(part) for part in value] if isinstance(value, list) else value


# A value of another autoscaler's object on one line of a comment: every key of it, long texts cut.


def shown_value(value: Any) -> str:  # noqa: ANN401 - JSON of any form
    """A text as it stands, everything else as JSON."""
    shorter = _shorter(value)
    return shorter if isinstance(shorter, str) else json.dumps(shorter, ensure_ascii=False)


def _shorter(value: Any) -> Any:  # noqa: ANN401 - JSON of any form
    if isinstance(value, dict):
        return {key: _shorter(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_shorter(part) for part in value]
    return cut(value) if isinstance(value, str) else value


# Whether a part of a policy is valid on its own: the policy reader is the judge.


def fault_of(spec: Mapping[str, Any]) -> str:
    """Why the reader refuses a policy with this `spec`; empty if it does not."""
    document = {"apiVersion": API_VERSION, "kind": "NodeGroupPolicy", "metadata": {"name": "imported"}, "spec": spec}
    problems = read_tree({"policy.json": json.dumps(document).encode()}, now_seconds=0).problems
    errors = (two_sentences(one.message, one.hint) for one in problems if one.severity is Severity.ERROR)
    return "; ".join(dict.fromkeys(errors))


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
