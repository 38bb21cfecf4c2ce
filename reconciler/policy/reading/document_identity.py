"""The kind of a document: ours, of another program (skipped and counted), a list of documents, or a mistake."""

import msgspec

from reconciler.policy.documents import API_GROUP, API_VERSION, TEST_KIND, TEST_VERSION
from reconciler.policy.fields import DocumentKind, document_kind, document_kinds
from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.problems.problem import Problem
from reconciler.policy.problems.suggestion import choose
from reconciler.policy.reading.nearly_ours import entry, has_our_body, nearly_ours, says_our_group
from reconciler.policy.yaml_nodes import Mapping, Node, Scalar, Sequence, described, spot_of
from reconciler.values.shown_text import shown

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
