"""One source for the loops of many clusters: asked once for all of them."""

import threading
from collections.abc import Callable

from reconciler.gitops.git.fault import SourceError
from reconciler.gitops.sources.source import Fetched, Source


class SharedSource:
    """A `Source`. An answer counts for `fresh_seconds` for everybody who has the same revision in force.

    A failure counts as long: a host that is away is not asked once for each cluster. Several threads may ask.
    """

    def __init__(self, source: Source, monotonic: Callable[[], float], *, fresh_seconds: float) -> None:
        self._source = source
        self._monotonic = monotonic
        self._fresh_seconds = fresh_seconds
        self._lock = threading.Lock()
        self._answers: dict[str | None, tuple[float, Fetched | SourceError]] = {}

    @property
    def name(self) -> str:
        """As the source that is shared."""
        return self._source.name

    def fetch(self, last_revision: str | None, last_seconds: int = 0) -> Fetched:
        """See `Source`."""
        with self._lock:
            now = self._monotonic()
            self._answers = {key: one for key, one in self._answers.items() if now - one[0] < self._fresh_seconds}
            known = self._answers.get(last_revision)
            if known is None:
                try:
                    answer: Fetched | SourceError = self._source.fetch(last_revision, last_seconds)
                except SourceError as error:
                    answer = error
                known = self._answers[last_revision] = self._monotonic(), answer
        if isinstance(known[1], SourceError):
            raise SourceError(known[1].fault)
        return known[1]

    def forget(self) -> None:
        """Ask again from now on: somebody says that there is something new."""
        with self._lock:
            self._answers.clear()
