"""What is asked of an orchard: one row at a time, and a write only over the version that was read."""

import http.client
from contextlib import closing
from urllib.parse import quote, urlsplit

import msgspec

from reconciler.cluster.target import TargetRef
from tests.providers.example_platform.objects import TreeRow


class OrchardError(Exception):
    """An answer that is not 200."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the orchard answered {status}")
        self.status = status


class Orchard:
    """One orchard at a URL."""

    def __init__(self, url: str) -> None:
        self._host = urlsplit(url).netloc

    def row(self, target: TargetRef) -> TreeRow:
        """The row now. Raises `OrchardError` 404."""
        return msgspec.json.decode(self._sent("GET", target), type=TreeRow)

    def write(self, item: TreeRow, target: TargetRef) -> TreeRow:
        """Write the row as it is to be. Raises `OrchardError` 412 when it has moved since it was read."""
        return msgspec.json.decode(self._sent("PUT", target, msgspec.json.encode(item)), type=TreeRow)

    def _sent(self, method: str, target: TargetRef, body: bytes | None = None) -> bytes:
        with closing(http.client.HTTPConnection(self._host, timeout=30)) as connection:
            connection.request(method, f"/{quote(target.region)}/{quote(target.name)}", body)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise OrchardError(answer.status)
            return text
