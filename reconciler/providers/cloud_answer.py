"""What clouds are asked once, beside one reading of a cluster, and what they say."""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.snapshots.document import Document
from reconciler.policy.documents import PolicySet


class CloudQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The targets that `policies` name or discover and, with `own`, those that belong to the cluster by what it is made of: its
    nodes, called by their `provider_ids`. Neither: nothing is asked."""

    policies: tuple[PolicySet, ...] = ()
    own: bool = False
    provider_ids: tuple[str, ...] = ()


class CloudAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Whole lists, one a kind. `unread` are sentences about what could not be read though the targets could, or about targets
    that no policy asks for."""

    documents: tuple[Document, ...] = ()
    unread: tuple[str, ...] = ()


class CloudError(Exception):
    """Targets that a policy asks for could not be read; the message says where and why."""


def together(answers: Iterable[CloudAnswer]) -> CloudAnswer:
    """Several clouds as one."""
    found = tuple(answers)
    return CloudAnswer(
        documents=tuple(document for answer in found for document in answer.documents),
        unread=tuple(text for answer in found for text in answer.unread),
    )
