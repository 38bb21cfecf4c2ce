"""Reads custom resources as documents. Each version of an object is read once."""

import hashlib
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import msgspec

from reconciler.kube.custom.custom_text import CustomText
from reconciler.policy.documents import NodeGroup, NodeGroupPolicy
from reconciler.policy.fleet.cluster_checks import check_alone
from reconciler.policy.place import Place
from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.problems.problem import Problem, Severity
from reconciler.policy.reading.draft import Draft
from reconciler.policy.tree import read_node_group, read_node_group_policy
from reconciler.policy.yaml_nodes import Node
from reconciler.values.defect import defect_text
from reconciler.values.shown_text import cut

D = TypeVar("D", NodeGroup, NodeGroupPolicy)
_Key = tuple[str, bytes]


class ReadDocument(msgspec.Struct, Generic[D], frozen=True):
    """`draft` is None if the text is not a document at all. `document` has the places of the object's fields. `errors` have those
    of lines; they are the object's own faults."""

    draft: Draft[D] | None
    document: D | None
    errors: tuple[Problem, ...]


class CustomReader:
    """Keeps what it has read until `keep` is called without it. Used by one thread at a time."""

    def __init__(self) -> None:
        self._groups: dict[_Key, ReadDocument[NodeGroup]] = {}
        self._policies: dict[_Key, ReadDocument[NodeGroupPolicy]] = {}

    def group(self, text: CustomText) -> ReadDocument[NodeGroup]:
        """A NodeGroup on its own."""
        key = (text.name, text.text)
        if key not in self._groups:
            self._groups[key] = _read(text, read_node_group)
        return self._groups[key]

    def policy(self, text: CustomText) -> ReadDocument[NodeGroupPolicy]:
        """A NodeGroupPolicy on its own."""
        key = (text.name, text.text)
        if key not in self._policies:
            self._policies[key] = _read(text, read_node_group_policy)
        return self._policies[key]

    def keep(self, texts: Iterable[CustomText]) -> None:
        """Forget all others."""
        keys = {(text.name, text.text) for text in texts}
        self._groups = {key: draft for key, draft in self._groups.items() if key in keys}
        self._policies = {key: draft for key, draft in self._policies.items() if key in keys}


def unreadable_problem(text: CustomText, error: Exception) -> Problem:
    """An unforeseen failure, as a problem of the object that caused it. The digest identifies its version."""
    digest = hashlib.sha256(text.text).hexdigest()
    return _no_document(text, f"{defect_text(error)}: {cut(str(error))} (sha256:{digest})")


def errors(findings: Findings) -> tuple[Problem, ...]:
    """The problems that make a document unusable."""
    return tuple(problem for problem in findings.sorted() if problem.severity is Severity.ERROR)


def _read(text: CustomText, reader: Callable[[Node, Source, Findings], Draft[D]]) -> ReadDocument[D]:
    if text.unreadable:
        return ReadDocument(None, None, (_no_document(text, text.unreadable),))
    findings = Findings()
    try:
        read = text.read(findings)
        draft = reader(*read, findings) if read is not None else None
        if draft is not None:
            check_alone(draft, findings)
        return ReadDocument(draft, _placed(draft, text), errors(findings))
    except Exception as error:
        # A defect of ours must affect only the object that triggers it.
        return ReadDocument(None, None, (unreadable_problem(text, error),))


def _no_document(text: CustomText, why: str) -> Problem:
    hint = "use another apiVersion. If this version should be readable, please report it"
    return Problem(place=Place(text.name, 0, 0), code="Unreadable", message=f"cannot read it: {why}", hint=hint)


def _placed(draft: Draft[D] | None, text: CustomText) -> D | None:
    if draft is None:
        return None
    document: D = draft.document
    places = {path: text.place(place) for path, place in document.places.items()}
    return msgspec.structs.replace(document, place=text.place(document.place), places=places)
