"""A document of ours as read, with what checks across values need as well: spots, and which values are broken."""

import re
from collections.abc import Iterable
from itertools import product
from typing import Generic, TypeAlias, TypeVar

import msgspec

from reconciler.policy.documents import API_GROUP, API_VERSION, TEST_KIND, TEST_VERSION, NodeGroup, NodeGroupPolicy
from reconciler.policy.fields import DocumentKind, document_kind, document_kinds
from reconciler.policy.problems.findings import Findings, Problem, Severity, Source
from reconciler.policy.problems.suggestion import choose, near
from reconciler.policy.reading.document import Reading
from reconciler.policy.yaml_nodes import Mapping, Node, Place, Scalar, Sequence, Spot, described, spot_of
from reconciler.values.shown_text import shown

# Is it ours, or nearly? By the apiVersion and kind of a document, by its body, and by a text that cannot be parsed.

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


# Which kind a document is: ours, somebody else's (skipped and counted), a list of documents, or a mistake.

_LISTS = ("List", "NodeGroupList", "NodeGroupPolicyList")
_CIPHER = "ENC["


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """`kind` when the document is ours; `other` (`apiVersion/kind`) when it is not; `items` of a list of documents.

    `ours`: it is ours, or meant to be. `stray` is the problem that it would have if it were meant to be. `unread`: it is
    encrypted or has no structure, so its content is unknown.
    """

    kind: DocumentKind | None = None
    other: str = ""
    items: tuple[Node, ...] = ()
    ours: bool = False
    stray: Problem | None = None
    unread: bool = False


_MISTAKE = Identity(ours=True)


def classify(node: Node, source: Source, findings: Findings) -> Identity:
    """Read apiVersion and kind of a document; problems with what is ours, or nearly, are recorded."""
    if not isinstance(node, Mapping):
        return _no_mapping(node, source, findings)
    version, kind = entry(node, "apiVersion"), entry(node, "kind")
    if _encrypted(node, version, kind):
        message = "the document is encrypted, so it cannot be read as a policy"
        stray = source.problem("Encrypted", spot_of(node), message, "policies have no secrets: keep them in plain text")
        return Identity(stray=stray, unread=True)
    for key, value in (("apiVersion", version), ("kind", kind)):
        if not isinstance(value, Scalar) or not value.text.strip():
            example = API_VERSION if key == "apiVersion" else " or ".join(known.kind for known in document_kinds())
            spot = spot_of(value) if value is not None else spot_of(node.pairs[0][0]) if node.pairs else spot_of(node)
            what = "is missing" if value is None else f"must be a text, not {described(value)}"
            message = f"{key} {what}. It is the kind of the document"
            problem = source.problem("NoKind", spot, message, f"write {key}: {example}")
            unsaid = _text(version) is None and _text(kind) is None
            ours = nearly_ours(_text(version), _text(kind)) or says_our_group(node)
            if ours or (unsaid and has_our_body(node)):
                findings.report(problem)
                return _MISTAKE
            return Identity(stray=problem)
    if not isinstance(version, Scalar) or not isinstance(kind, Scalar):
        return _MISTAKE
    group, slash, _ = version.text.partition("/")
    group = group if slash else ""
    if kind.text in _LISTS and (group in ("", API_GROUP)):
        items = entry(node, "items")
        return Identity(items=items.items) if isinstance(items, Sequence) else Identity(other=f"{version.text}/{kind.text}")
    if (version.text, kind.text) == (TEST_VERSION, TEST_KIND):
        return Identity(other=f"{version.text}/{kind.text}")
    if version.text != API_VERSION:
        ours = nearly_ours(version.text, kind.text) or (nearly_ours(None, kind.text) and has_our_body(node))
        if ours:
            message = f"unknown apiVersion {shown(version.text)}"
            findings.add("UnknownApiVersion", source, spot_of(version), message, f"write {API_VERSION}")
            return _MISTAKE
        return Identity(other=f"{version.text}/{kind.text}")
    document = document_kind(kind.text)
    if document is None:
        message = f"unknown kind {shown(kind.text)} in {API_VERSION}"
        hint = choose(kind.text, [known.kind for known in document_kinds()])
        findings.add("UnknownKind", source, spot_of(kind), message, hint)
        return _MISTAKE
    return Identity(kind=document, ours=True)


def _no_mapping(node: Node, source: Source, findings: Findings) -> Identity:
    """A list of documents is a mistake if they are ours; a patch is a list too. A text may be anything, even ciphertext."""
    hint = "a document starts with apiVersion and kind"
    message = f"a document must be a mapping, not {described(node)}"
    problem = source.problem("NotADocument", spot_of(node), message, hint)
    items = node.items if isinstance(node, Sequence) else ()
    inside = [classify(item, source, Findings()) for item in items if isinstance(item, Mapping)]
    if any(identity.ours for identity in inside):
        findings.report(problem)
        return _MISTAKE
    return Identity(stray=problem, unread=isinstance(node, Scalar) or any(identity.unread for identity in inside))


def _encrypted(node: Mapping, version: Node | None, kind: Node | None) -> bool:
    """As SOPS leaves a file: values in ENC[…], and its own entry with a mac over them. What it left readable counts."""
    written = _text(version) is not None and _text(kind) is not None
    hidden = any((_text(value) or "").startswith(_CIPHER) for value in (version, kind))
    mac = entry(node, "sops")
    return hidden or (not written and isinstance(mac, Mapping) and entry(mac, "mac") is not None)


def _text(value: Node | None) -> str | None:
    return value.text if isinstance(value, Scalar) and value.text.strip() else None


D = TypeVar("D", NodeGroup, NodeGroupPolicy)


class Draft(Generic[D]):
    """A document and its spots. Required values that could not be read are empty or 0 in `document`; `sound` tells."""

    def __init__(self, document: D, reading: Reading) -> None:
        self.document: D = document
        self.reading = reading
        self._broken = reading.broken

    @property
    def path(self) -> str:
        """The text that it was read from."""
        return self.reading.source.path

    def sound(self, path: str) -> bool:
        """Whether the value at `path`, and all below and above it, were read without a problem."""
        return not any(
            broken == path or broken.startswith((path + ".", path + "[")) or path.startswith((broken + ".", broken + "["))
            for broken in self._broken
            if broken
        )

    def written(self, path: str) -> bool:
        """Whether `path` was written in the document."""
        return path in self.reading.entries

    def spot(self, path: str) -> Spot:
        """The spot of the entry at `path`, else of the nearest one above it."""
        while path not in self.reading.entries:
            cut = max(path.rfind("."), path.rfind("["))
            if cut < 0:
                return Spot(self.document.place.line, self.document.place.column)
            path = path[:cut]
        return self.reading.entries[path]

    def place(self, path: str) -> Place:
        """The place of the entry at `path`, else of the nearest one above it."""
        return self.reading.source.place(self.spot(path))

    def report(
        self,
        findings: Findings,
        code: str,
        path: str,
        message: str,
        hint: str = "",
        *,
        severity: Severity = Severity.ERROR,
        related: tuple[tuple[Place, str], ...] = (),
    ) -> None:
        """Record a problem with the entry at `path`."""
        findings.add(code, self.reading.source, self.spot(path), message, hint, severity=severity, related=related)

    def warn(
        self,
        findings: Findings,
        code: str,
        path: str,
        message: str,
        hint: str = "",
        *,
        related: tuple[tuple[Place, str], ...] = (),
    ) -> None:
        """Record a warning about the entry at `path`."""
        self.report(findings, code, path, message, hint, severity=Severity.WARNING, related=related)


AnyDraft: TypeAlias = Draft[NodeGroup] | Draft[NodeGroupPolicy]


class Drafts(msgspec.Struct, frozen=True, kw_only=True):
    """All documents of ours in one tree, in the order of files and texts."""

    policies: tuple[Draft[NodeGroupPolicy], ...]
    groups: tuple[Draft[NodeGroup], ...]

    def groups_of(self, policy: str) -> tuple[Draft[NodeGroup], ...]:
        """The groups that name `policy`."""
        return tuple(group for group in self.groups if group.document.policy_ref == policy)
