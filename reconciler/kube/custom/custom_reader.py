"""Custom resources as read documents, each read once as long as it is there: of a thousand objects one changes at a time."""

from collections.abc import Iterable
from typing import Generic, TypeVar

import msgspec

from reconciler.kube.custom.custom_text import CustomText
from reconciler.policy.documents import NodeGroup, NodeGroupPolicy
from reconciler.policy.problems.findings import Findings
from reconciler.policy.problems.problem import Problem, Severity
from reconciler.policy.reading.draft import Draft
from reconciler.policy.tree import read_node_group, read_node_group_policy

D = TypeVar("D", NodeGroup, NodeGroupPolicy)
_Key = tuple[str, bytes]


class ReadDocument(msgspec.Struct, Generic[D], frozen=True):
    """`draft` is None when the text is no document at all. `document` has the places of the object's fields; `errors` have those
    of lines, and are what is wrong with the object by itself."""

    draft: Draft[D] | None
    document: D | None
    errors: tuple[Problem, ...]


class CustomReader:
    """Keeps what it has read until `keep` is called without it. Used by one thread at a time."""

    def __init__(self) -> None:
        self._groups: dict[_Key, ReadDocument[NodeGroup]] = {}
        self._policies: dict[_Key, ReadDocument[NodeGroupPolicy]] = {}

    def group(self, text: CustomText) -> ReadDocument[NodeGroup]:
        """A NodeGroup by itself."""
        key = (text.name, text.text)
        if key not in self._groups:
            findings = Findings()
            read = text.read(findings)
            draft = read_node_group(*read, findings) if read is not None else None
            self._groups[key] = ReadDocument(draft, _placed(draft, text), errors(findings))
        return self._groups[key]

    def policy(self, text: CustomText) -> ReadDocument[NodeGroupPolicy]:
        """A NodeGroupPolicy by itself."""
        key = (text.name, text.text)
        if key not in self._policies:
            findings = Findings()
            read = text.read(findings)
            draft = read_node_group_policy(*read, findings) if read is not None else None
            self._policies[key] = ReadDocument(draft, _placed(draft, text), errors(findings))
        return self._policies[key]

    def keep(self, texts: Iterable[CustomText]) -> None:
        """Forget all others."""
        keys = {(text.name, text.text) for text in texts}
        self._groups = {key: found for key, found in self._groups.items() if key in keys}
        self._policies = {key: found for key, found in self._policies.items() if key in keys}


def errors(findings: Findings) -> tuple[Problem, ...]:
    """The problems that make a document unusable."""
    return tuple(problem for problem in findings.sorted() if problem.severity is Severity.ERROR)


def _placed(draft: Draft[D] | None, text: CustomText) -> D | None:
    if draft is None:
        return None
    document: D = draft.document
    places = {path: text.place(place) for path, place in document.places.items()}
    return msgspec.structs.replace(document, place=text.place(document.place), places=places)
