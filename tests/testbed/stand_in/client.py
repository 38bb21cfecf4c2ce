"""The stand-in's writes, over one connection that stays open; used by one thread."""

import http.client
import json
from pathlib import Path

from tests.testbed.api import Api, ApiError, Object


class Client:
    """Merge patches, creations and deletions of the field manager `stand-in`. Objects that are gone, or there already, are no
    error; all else raises ApiError or OSError."""

    def __init__(self, kubeconfig: Path) -> None:
        self.api = Api(kubeconfig)
        self._connection: http.client.HTTPSConnection | None = None

    def merge(self, path: str, change: Object) -> None:
        """Merge-patch an object."""
        self._send("PATCH", path, change, "application/merge-patch+json", accepted=404)

    def merge_status(self, path: str, status: Object) -> None:
        """Merge-patch the status of an object."""
        self.merge(f"{path}/status", {"status": status})

    def create(self, collection: str, item: Object) -> None:
        """Create an object unless one of that name is there."""
        self._send("POST", collection, item, "application/json", accepted=409)

    def delete(self, path: str) -> None:
        """Delete an object if it is there."""
        self._send("DELETE", path, {}, "application/json", accepted=404)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, method: str, path: str, body: Object, content_type: str, *, accepted: int) -> None:
        if self._connection is None:
            self._connection = self.api.connect(seconds=10)
        try:
            headers = {"Accept": "application/json", "Content-Type": content_type, "User-Agent": "stand-in"}
            self._connection.request(method, path, json.dumps(body), headers)
            response = self._connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if response.status >= 300 and response.status != accepted:
            raise ApiError(response.status, json.loads(text) if text.startswith(b"{") else {"message": text.decode()})
