"""The ConfigMap that admission policies take for their parameter, as whoever renews it reads and writes it."""

import base64
import binascii
from collections.abc import Mapping

import msgspec

from reconciler.kube.connection.api import Api, ApiError, ContentType, UnreachableError
from reconciler.kube.leading.state import StateUnavailableError
from reconciler.rendering.manifests.bounds_manifest import BOUNDS_NAME, bounds_differences
from reconciler.values.decoding import decode

BOUNDS_MANAGER = "nodegroup-reconciler-bounds"
"""The field manager of whoever renews them: another one than the loop's, which may not write them."""
REVISION_MARK = "reconciler.dev/revision"
_NOT_FOUND, _CONFLICT = 404, 409


class BoundsError(Exception):
    """They cannot be read or renewed now; the sentence says why."""


class _Meta(msgspec.Struct, rename="camel"):
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _ConfigMap(msgspec.Struct, rename="camel"):
    metadata: _Meta
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = None


class KeptBounds:
    """Bounds, kept in one object with the policy that they come from. The policy is in the object's binary data, which admission
    policies do not read. Both change in one write, so that a restart begins with the policy of the bounds that are in force.

    Takes the place of a state object for what follows a policy: `save` only keeps what the next `renew` writes. Not for
    several threads.
    """

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self.name = f"ConfigMap {namespace}/{BOUNDS_NAME}"
        self._about = {"name": BOUNDS_NAME, "namespace": namespace}
        self._path = f"/api/v1/namespaces/{namespace}/configmaps/{BOUNDS_NAME}"
        self._parts: dict[str, bytes] = {}

    def load(self, part: str) -> bytes | None:
        """What was written together with the bounds. Raises `StateUnavailableError`."""
        try:
            text = (self._read().binary_data or {}).get(part)
            return None if text is None else base64.b64decode(text, validate=True)
        except BoundsError as error:
            raise StateUnavailableError(str(error)) from None
        except binascii.Error as error:
            raise StateUnavailableError(f"{self.name}: {part} is damaged: {error}", damaged=True) from None

    def save(self, part: str, content: bytes) -> bool:
        """Keep it for the next renewal; whether it is new."""
        before = self._parts.get(part)
        self._parts[part] = content
        return before != content

    def renew(self, data: Mapping[str, str], revision: str) -> tuple[str, ...]:
        """Bring the object to this, by a server-side apply that is never forced; a phrase for each key that changed. Nothing is
        written where nothing differs. Raises `BoundsError`, also where somebody else keeps a key of it."""
        config_map = self._read()
        there = config_map.data or {}
        parts = {
            **(config_map.binary_data or {}),
            **{part: base64.b64encode(text).decode() for part, text in self._parts.items()},
        }
        marked = (config_map.metadata.annotations or {}).get(REVISION_MARK, "")
        if there == data and parts == (config_map.binary_data or {}) and marked == revision:
            return ()
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            # The uid prevents that an apply creates an object that somebody has deleted. Nothing else would know the new one.
            "metadata": {
                **self._about, "uid": config_map.metadata.uid, "resourceVersion": config_map.metadata.resource_version,
                "annotations": {REVISION_MARK: revision},
            },
            "data": dict(data),
            "binaryData": parts,
        }  # fmt: skip
        written = self._apply(body)
        left = bounds_differences(data, written.data or {})
        if left:
            raise BoundsError(
                f"{self.name} says more than the policy, since somebody else keeps it there: {', '.join(left[:5])}. "
                "Remove these keys from it"
            )
        return bounds_differences(data, there)

    def _apply(self, body: object) -> _ConfigMap:
        query = {"fieldManager": BOUNDS_MANAGER, "force": "false"}
        try:
            return self._decoded(self._api.write("PATCH", self._path, body, content_type=ContentType.APPLY, query=query))
        except UnreachableError as error:
            raise BoundsError(f"{self.name}: {error}") from None
        except ApiError as error:
            if error.status == _CONFLICT and error.causes:
                fields = sorted({cause.field for cause in error.causes})
                raise BoundsError(
                    f"{self.name} is kept by somebody else, so it is not renewed: {error.message}. Ask them to leave "
                    f"{', '.join(fields[:5])} to {BOUNDS_MANAGER}"
                ) from None
            raise BoundsError(f"{self.name}: {error}") from None

    def _read(self) -> _ConfigMap:
        try:
            return self._decoded(self._api.get(self._path))
        except UnreachableError as error:
            raise BoundsError(f"{self.name}: {error}") from None
        except ApiError as error:
            hint = ": it is installed with the admission policies that read it" if error.status == _NOT_FOUND else ""
            raise BoundsError(f"{self.name}: {error}{hint}") from None

    def _decoded(self, answer: bytes) -> _ConfigMap:
        try:
            return decode(answer, _ConfigMap)
        except msgspec.MsgspecError as error:
            raise BoundsError(f"{self.name} cannot be understood: {error}") from None
