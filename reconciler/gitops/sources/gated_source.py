"""A source of which one loop takes a tree only when it is allowed to: other clusters of a fleet go first."""

import hashlib
from collections.abc import Callable

import msgspec

from reconciler.gitops.git.fault import Fault, SourceError
from reconciler.gitops.sources.directory_source import content_revision
from reconciler.gitops.sources.source import Fetched, Source

Gate = Callable[[Fetched, str | None], Fault | None]
"""Given a tree and the revision in force (None: none is): why it is not taken; None: it is."""


class GatedSource:
    """A `Source` that refuses what its gate does not let through."""

    def __init__(self, source: Source, gate: Gate) -> None:
        self._source = source
        self._gate = gate

    @property
    def name(self) -> str:
        """As the source behind the gate."""
        return self._source.name

    def fetch(self, last_revision: str | None, last_seconds: int = 0) -> Fetched:
        """See `Source`. Raises `SourceError` for a closed gate, too."""
        fetched = self._source.fetch(last_revision, last_seconds)
        fault = self._gate(fetched, last_revision)
        if fault is not None:
            raise SourceError(fault)
        return fetched


def tree_content(fetched: Fetched) -> str:
    """A name for what a tree says: equal for two commits whose policy files are the same."""
    unread = msgspec.json.encode(fetched.unread)
    return hashlib.sha256(content_revision(fetched.files).encode() + unread).hexdigest()[:16]
