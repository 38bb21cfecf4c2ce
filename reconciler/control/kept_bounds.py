"""The ConfigMap that admission policies take for their parameter, as whoever renews it reads and writes it."""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from reconciler.cluster.world import World
from reconciler.control.log import Log
from reconciler.decisions.ownership.admission_bounds import admission_bounds
from reconciler.kube.connection.api import Api, ApiError, ContentType, UnreachableError
from reconciler.kube.leading.state import StateUnavailableError
from reconciler.policy.documents import PolicySet
from reconciler.rendering.manifests.bounds_manifest import BOUNDS_NAME, bounds_data, bounds_differences, left_out
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


# Bounds that follow their policy: one look after the other at policy and targets, and a write where they say something new.

_SHOWN = 20


class Source(Protocol):
    """The policy in force: the last good one, whatever happens where it comes from."""

    def current(self) -> PolicySet:
        """The policy. Raises unless `missing` is empty."""

    def missing(self) -> str:
        """Why there is none; empty when there is."""

    def poll(self) -> bool:
        """Look once; whether another policy is in force now."""


class BoundsKeeper:
    """`targets` reads what is there to be bounded and raises `BoundsError`. Whatever fails, the bounds stay as they are, and it
    is told once. `failures` counts rounds that failed one after the other."""

    def __init__(
        self, source: Source, targets: Callable[[], World], kept: KeptBounds, log: Log, now_seconds: Callable[[], int]
    ) -> None:
        self.failures = 0
        self._source = source
        self._targets = targets
        self._kept = kept
        self._log = log
        self._now = now_seconds
        self._reported: frozenset[str] = frozenset()
        self._why = ""

    def round(self) -> bool:
        """Look at everything once; whether the bounds are those of the policy in force now."""
        self._source.poll()
        try:
            changed = self._renewed()
        except BoundsError as error:
            self.failures += 1
            if str(error) != self._why:
                self._why = str(error)
                self._log.warning("BoundsNotRenewed", f"{error}. The bounds stay as they are")
            return False
        if self._why:
            self._log.info("BoundsRecovered", f"{self._kept.name} follows the policy again")
        self.failures, self._why = 0, ""
        if changed:
            more = f", and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
            self._log.info("BoundsRenewed", f"{self._kept.name} follows the policy: {'; '.join(changed[:_SHOWN])}{more}")
        return True

    def _renewed(self) -> tuple[str, ...]:
        missing = self._source.missing()
        if missing:
            raise BoundsError(missing)
        world, policy = self._targets(), self._source.current()
        bounds = admission_bounds(world, policy, self._now())
        sentences = left_out(bounds)
        for sentence in sentences:
            if sentence not in self._reported:
                self._log.warning("NoBound", sentence)
        self._reported = frozenset(sentences)
        return self._kept.renew(bounds_data(bounds), policy.revision or "")
