"""Questions that clouds are asked once for a snapshot, and their answers."""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.snapshots.document import Document
from reconciler.policy.documents import PolicySet


class CloudQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The targets that `policies` name or discover. With `own`, also those that belong to the cluster by its nodes, which
    `provider_ids` name. With neither, nothing is asked."""

    policies: tuple[PolicySet, ...] = ()
    own: bool = False
    provider_ids: tuple[str, ...] = ()


class CloudAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Complete lists, one per kind. `unread` has sentences about what could not be read although the targets could, or about
    targets that no policy asks for."""

    documents: tuple[Document, ...] = ()
    unread: tuple[str, ...] = ()


class CloudError(Exception):
    """Targets that a policy asks for could not be read; the message states where and why."""


def together(answers: Iterable[CloudAnswer]) -> CloudAnswer:
    """The answers of several clouds as one."""
    collected = tuple(answers)
    return CloudAnswer(
        documents=tuple(document for answer in collected for document in answer.documents),
        unread=tuple(text for answer in collected for text in answer.unread),
    )
