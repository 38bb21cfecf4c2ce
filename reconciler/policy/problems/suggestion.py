"""Suggestions: the nearest of several words, and the place of a key that belongs elsewhere."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from reconciler.policy.field import MAPS
from reconciler.policy.fields import Field, document_kind, document_kinds, walk
from reconciler.values.later import Later

if TYPE_CHECKING:
    import difflib
else:
    difflib = Later("difflib")

_TAINT = re.compile(r"(?P<key>[\w./-]+)(?:=(?P<value>[\w.-]*))?:(?P<effect>NoSchedule|PreferNoSchedule|NoExecute)")
_WORD = re.compile(r"[\w.-]{1,63}")
_ELSEWHERE = {
    ("NodeGroupPolicy", "priority"): "the order of the tiers is the priority: the first tier comes first",
    ("NodeGroup", "priority"): "set tier to the name of a tier. The order of the tiers in the policy is their priority",
}


def near(word: str, candidates: Iterable[str], cutoff: float = 0.6) -> str:
    """The candidate most similar to `word`, ignoring case; empty if none is similar."""
    by_lower = {candidate.lower(): candidate for candidate in sorted(candidates, reverse=True)}
    matches = difflib.get_close_matches(word.lower()[:100], sorted(by_lower), n=1, cutoff=cutoff)
    return by_lower[matches[0]] if matches else ""


def choose(word: str, candidates: Iterable[str], limit: int = 12) -> str:
    """A hint for a word that is not in `candidates`: the nearest one, else all of them."""
    known = list(candidates)
    best = near(word, known)
    if best:
        return f"did you mean {best}?"
    if len(known) == 1:
        return f"the only one is {known[0]}"
    return "one of " + ", ".join(known[:limit]) + (", …" if len(known) > limit else "")


def key_hint(key: str, parent: Field, kind: str) -> str:
    """A hint for a key that `parent`, in a document of `kind`, does not have."""
    if parent.path.endswith("budgets[]") and key.lower().startswith("percent"):
        return 'write a share as nodes: "10%"'
    if hint := _ELSEWHERE.get((kind, key.lower())):
        return hint
    known = [child.yaml_key for child in parent.children if child.kind != "Opaque"]
    best = near(key, known, 0.75)
    if best:
        return f"did you mean {best}?"
    letters = _letters(key)
    for one in (kind, *(other.kind for other in document_kinds() if other.kind != kind)):
        of = "" if one == kind else f" of a {one}"
        parents = [path.rpartition(".")[0] or "the document" for path in _places_of_keys(one).get(key.lower(), ())]
        if parents:
            return f"this key belongs to {' or '.join(parents[:2])}{of}"
        foreign = _foreign_names(one).get(letters)
        if foreign:
            return f"the same setting is called {foreign}{of} here"
    best = near(key, known)
    if best:
        return f"did you mean {best}?"
    return f"the keys here are {', '.join(known)}" if known else ""


def mapping_hint(field: Field, text: str) -> str:
    """How to write a text where a mapping is required: `write {name: spot}`. A taint in kubectl form is split."""
    names = {child.yaml_key for child in field.children}
    taint = _TAINT.fullmatch(text)
    if {"key", "effect"} <= names and taint is not None:
        value = f", value: {taint['value']}" if taint["value"] else ""
        return f"write {{key: {taint['key']}{value}, effect: {taint['effect']}}}"
    if "name" in names and _WORD.fullmatch(text):
        return f"write {{name: {text}}}"
    return f"for example {example_of(field)}" if field.children and field.yaml_key else ""


def example_of(field: Field) -> str:
    """How a field is written, with what it needs: `policyRef: {name: prod}`."""
    return f"{field.yaml_key}: {_example_value(field)}"


def _example_value(field: Field) -> str:
    if field.examples:
        example = field.examples[0]
        if isinstance(example, tuple):
            return f"[{', '.join(example)}]"
        return f"{{{example}}}" if field.kind in MAPS else str(example)
    if field.item is not None:
        return f"[{_example_value(field.item)}]"
    needed = [child for child in field.children if child.required or child.yaml_key in field.exactly_one_of[:1]]
    return f"{{{', '.join(example_of(child) for child in needed or field.children[:1])}}}" if field.children else "…"


@cache
def _places_of_keys(kind: str) -> dict[str, tuple[str, ...]]:
    """Key in lower case -> the paths in documents of `kind` that have it; those in `defaults` repeat the NodeGroup's."""
    places: dict[str, dict[str, None]] = {}
    for field in _fields(kind):
        if field.yaml_key and field.kind != "Opaque":
            places.setdefault(field.yaml_key.lower(), {})[field.path] = None
    return {key: tuple(paths) for key, paths in places.items()}


@cache
def _foreign_names(kind: str) -> dict[str, str]:
    """The names of other autoscalers, letters only -> our path. The full name and its last part both count."""
    paths: dict[str, str] = {}
    for field in _fields(kind):
        for names in (field.cluster_autoscaler, *field.elsewhere.values()):
            for name in names.split(", "):
                whole = name.split("=")[0].split(" ")[-1]
                for part in (whole, re.split(r"[./]|autoscaling-options-", whole)[-1]):
                    if _letters(part):
                        paths.setdefault(_letters(part), field.path)
    return paths


def _fields(kind: str) -> Iterator[Field]:
    document = document_kind(kind)
    return (field for field in walk(document.root) if ".defaults" not in field.path) if document else iter(())


def _letters(text: str) -> str:
    return re.sub(r"[^a-z]", "", text.lower())
