"""Recognizes documents that are probably meant as ours: by apiVersion, kind and body, or in a text that cannot be parsed."""

import re
from collections.abc import Iterable
from itertools import product

from reconciler.policy.documents import API_GROUP, API_VERSION
from reconciler.policy.fields import document_kinds
from reconciler.policy.problems.suggestion import near
from reconciler.policy.yaml_nodes import Mapping, Node, Scalar

_TYPO = 0.85
_ALIKE = 0.6  # of a group, beside a kind of ours: reconciler.io, recon.dev; not deckhouse.io, which has a NodeGroup too
_LINE = re.compile(r"""(apiVersion|kind)["']?[ \t]*:[ \t]*["']?([^\s"',}#]{1,100})""")
_WORD = re.compile(r"[^\s:/,{}\[\]]{10,18}")
_FEW_LETTERS = 3  # so many of the group's letters may be gone before a word is not compared at all, which takes long
_PARTS = re.compile(r"(?m)^---")
_MOST_WORDS = 200
_OVERLAP = 256


def nearly_ours(version: str | None, kind: str | None) -> bool:
    """Whether a document that says this is one of ours, or meant as one. None: it does not say.

    Other APIs have a kind NodeGroup as well (Deckhouse, KubeEdge, Crossplane), so that a kind counts only where the group is
    missing or alike.
    """
    if version is not None:
        group, slash, _ = version.partition("/")
        if near(group, [API_GROUP], _TYPO) or near(version, [API_VERSION], _TYPO):
            return True
        if slash and group and not near(group, [API_GROUP], _ALIKE):
            return False
    return kind is not None and near(kind, [known.kind for known in document_kinds()], _TYPO) != ""


def has_our_body(node: Mapping) -> bool:
    """Whether a document reads like one of ours, whatever it calls itself: a name, and a spec with only keys of one kind."""
    spec = entry(node, "spec")
    if not isinstance(spec, Mapping) or not isinstance(entry(node, "metadata"), Mapping):
        return False
    keys = {key.text for key, _ in spec.pairs if isinstance(key, Scalar)} - {"template"}  # every workload has that one
    return bool(keys) and any(keys <= _spec_keys(known.kind) for known in document_kinds())


def says_our_group(node: Mapping) -> bool:
    """Whether a document without apiVersion or kind has our API group all the same, behind a torn key or in one."""
    at_top = (one for pair in node.pairs for one in pair if isinstance(one, Scalar))
    return any(f"{API_GROUP}/" in one.text for one in at_top)


def may_hold_ours(chunks: Iterable[bytes]) -> bool:
    """Whether a text that cannot be parsed names our API group, or says an apiVersion or a kind that is nearly ours.

    Takes it in pieces; bytes of UTF-16 and UTF-32 are found as well.
    """
    tail = b""
    for chunk in chunks:
        data = tail + chunk
        if _names_ours(data):
            return True
        tail = data[-_OVERLAP:]
    return False


def entry(node: Mapping, key: str) -> Node | None:
    """The value of a key, the first where it is there twice."""
    return next((value for name, value in node.pairs if isinstance(name, Scalar) and name.text == key), None)


def _names_ours(data: bytes) -> bool:
    text = data.replace(b"\0", b"").decode("utf-8", "replace")
    return API_GROUP in text.lower() or _spells_group(text) or any(_part_names_ours(part) for part in _PARTS.split(text))


def _spells_group(text: str) -> bool:
    """Whether a word is nearly our API group, wherever it stands: the keys around it may be torn as well."""
    letters = set(API_GROUP)
    words = {match[0].lower() for match in _WORD.finditer(text)}
    return any(len(letters.difference(word)) <= _FEW_LETTERS and near(word, [API_GROUP], _TYPO) for word in words)


def _part_names_ours(part: str) -> bool:
    versions: dict[str | None, None] = {}
    kinds: dict[str | None, None] = {}
    for match in _LINE.finditer(part):
        values = versions if match[1] == "apiVersion" else kinds
        if len(values) < _MOST_WORDS:
            values[_word(match[2])] = None
    return any(nearly_ours(version, kind) for version, kind in product(versions or {None: None}, kinds or {None: None}))


def _word(written: str) -> str:
    """A kind that cannot be parsed may be any kind, so it counts as ours. A kind in a template belongs to its chart."""
    torn = written.startswith(("[", "{", "&", "*", "!", "|", ">")) and not written.startswith("{{")
    return document_kinds()[0].kind if torn else written


def _spec_keys(kind: str) -> set[str]:
    root = next(known.root for known in document_kinds() if known.kind == kind)
    return {child.yaml_key for field in root.children if field.yaml_key == "spec" for child in field.children}
