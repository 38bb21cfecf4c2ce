"""Did you mean: the nearest of several words, and where a word that is right elsewhere belongs."""

import difflib
import re
from collections.abc import Iterable
from functools import cache

from reconciler.policy.fields import Field, document_kinds, walk


def near(word: str, candidates: Iterable[str], cutoff: float = 0.6) -> str:
    """The candidate most like `word`, whatever its case; empty when none is."""
    by_lower = {candidate.lower(): candidate for candidate in sorted(candidates, reverse=True)}
    found = difflib.get_close_matches(word.lower()[:100], sorted(by_lower), n=1, cutoff=cutoff)
    return by_lower[found[0]] if found else ""


def choose(word: str, candidates: Iterable[str], limit: int = 12) -> str:
    """A hint for a word that is none of `candidates`: the nearest one, else all of them."""
    known = list(candidates)
    best = near(word, known)
    if best:
        return f"did you mean {best}?"
    return "one of " + ", ".join(known[:limit]) + (", …" if len(known) > limit else "")


def key_hint(key: str, parent: Field) -> str:
    """A hint for a key that `parent` does not have."""
    known = [child.yaml_key for child in parent.children if child.kind != "Opaque"]
    best = near(key, known, 0.75)
    if best:
        return f"did you mean {best}?"
    elsewhere = _places_of_keys().get(key.lower(), ())
    root = parent.path.split(".")[0].split("[")[0]
    fitting = [path for path in elsewhere if path.split(".")[0] == root] or list(elsewhere)
    if fitting:
        return f"this key belongs to {' or '.join(path.rpartition('.')[0] or 'the document' for path in fitting[:2])}"
    foreign = _foreign_names().get(re.sub(r"[^a-z]", "", key.lower()))
    if foreign:
        return f"the same setting is called {foreign} here"
    best = near(key, known)
    if best:
        return f"did you mean {best}?"
    return f"the keys here are {', '.join(known)}" if known else ""


@cache
def _places_of_keys() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for kind in reversed(document_kinds()):
        for field in walk(kind.root):
            if field.yaml_key and field.kind != "Opaque" and "defaults" not in field.path:
                found.setdefault(field.yaml_key.lower(), {})[field.path] = None
    return {key: tuple(paths) for key, paths in found.items()}


@cache
def _foreign_names() -> dict[str, str]:
    """The names of other autoscalers, letters only -> our path. The full name and its last part both count."""
    found: dict[str, str] = {}
    for kind in reversed(document_kinds()):
        for field in walk(kind.root):
            if "defaults" in field.path:
                continue
            same = field.equivalents
            for names in (same.cluster_autoscaler, same.openshift, same.cluster_api, same.auto_scaling_group):
                for name in names.split(", "):
                    whole = name.split("=")[0].split(" ")[-1]
                    for part in (whole, re.split(r"[./]|autoscaling-options-", whole)[-1]):
                        letters = re.sub(r"[^a-z]", "", part.lower())
                        if letters:
                            found.setdefault(letters, field.path)
    return found
