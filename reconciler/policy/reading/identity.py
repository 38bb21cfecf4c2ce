"""Which kind a document is: ours, somebody else's (skipped and counted), a list of documents, or a mistake."""

import msgspec

from reconciler.policy.documents import API_GROUP, API_VERSION
from reconciler.policy.fields import DocumentKind, document_kind, document_kinds
from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.problems.suggestion import choose, near
from reconciler.policy.text.nodes import Mapping, Node, Scalar, Sequence, spot_of
from reconciler.policy.text.plain_scalar import described
from reconciler.policy.values.shown_text import shown

_LISTS = ("List", "NodeGroupList", "NodeGroupPolicyList")


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """`kind` when the document is ours; `other` (`apiVersion/kind`) when it is not; `items` of a list of documents."""

    kind: DocumentKind | None = None
    other: str = ""
    items: tuple[Node, ...] = ()


_MISTAKE = Identity()


def classify(node: Node, source: Source, findings: Findings) -> Identity:
    """Read apiVersion and kind of a document; problems with them are recorded."""
    if not isinstance(node, Mapping):
        hint = "a document starts with apiVersion and kind"
        findings.add("NotADocument", source, spot_of(node), f"a document must be a mapping, not {described(node)}", hint)
        return _MISTAKE
    version, kind = _entry(node, "apiVersion"), _entry(node, "kind")
    for key, value in (("apiVersion", version), ("kind", kind)):
        if not isinstance(value, Scalar) or not value.text.strip():
            example = API_VERSION if key == "apiVersion" else " or ".join(known.kind for known in document_kinds())
            spot = spot_of(value) if value is not None else spot_of(node.pairs[0][0]) if node.pairs else spot_of(node)
            what = "is missing" if value is None else f"must be a text, not {described(value)}"
            findings.add(
                "NoKind", source, spot, f"{key} {what}; without it nobody knows what this document is", f"write {key}: {example}"
            )
            return _MISTAKE
    if not isinstance(version, Scalar) or not isinstance(kind, Scalar):
        return _MISTAKE
    group, slash, _ = version.text.partition("/")
    group = group if slash else ""
    if kind.text in _LISTS and (group in ("", API_GROUP)):
        items = _entry(node, "items")
        return Identity(items=items.items) if isinstance(items, Sequence) else Identity(other=f"{version.text}/{kind.text}")
    names = [known.kind for known in document_kinds()]
    if version.text != API_VERSION:
        ours = group == API_GROUP or near(group, [API_GROUP], 0.85) or near(version.text, [API_VERSION], 0.85)
        if ours or (not group and kind.text in names):
            message = f"apiVersion {shown(version.text)} is not known"
            findings.add("UnknownApiVersion", source, spot_of(version), message, f"write {API_VERSION}")
            return _MISTAKE
        return Identity(other=f"{version.text}/{kind.text}")
    found = document_kind(kind.text)
    if found is None:
        message = f"there is no kind {shown(kind.text)} in {API_VERSION}"
        findings.add("UnknownKind", source, spot_of(kind), message, choose(kind.text, names))
        return _MISTAKE
    return Identity(kind=found)


def _entry(node: Mapping, key: str) -> Node | None:
    return next((value for name, value in node.pairs if isinstance(name, Scalar) and name.text == key), None)
