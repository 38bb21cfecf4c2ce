"""The status of our custom resources and of others that we answer: by server-side apply with our manager, only after a change.

We own only what we apply to `/status`. The managers that apply metadata and spec own those fields, and neither side removes a
field of the other. SOURCE: server-side apply and status subresources in the API documentation. A write to `/status` changes
nothing else, and does not raise the generation. SOURCE: metav1.Condition. The transition time of a condition changes only with
its status.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from reconciler.kube.connection.api import Api, ApiError, ContentType, UnreachableError

LONGEST_MESSAGE = 32768
MOST_WRITES = 100
"""The most writes of one round. What is left over still differs in the next one."""


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """One condition; `status` is True, False or Unknown as Kubernetes writes it."""

    type: str
    status: str
    reason: str
    message: str = ""


class Answered(Protocol):
    """An object whose status is written, as it was last seen."""

    @property
    def api_version(self) -> str:
        """`group/version`."""

    @property
    def kind(self) -> str:
        """Its kind."""

    @property
    def namespace(self) -> str:
        """Empty for a cluster-scoped object."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def uid(self) -> str:
        """Another object of the same name has another one."""

    @property
    def resource_version(self) -> str:
        """Changes with every write."""

    @property
    def status(self) -> Any:  # noqa: ANN401 - as decoded from JSON
        """Its status."""

    @property
    def title(self) -> str:
        """Its name for people."""

    @property
    def path(self) -> str:
        """The path on the server."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The desired status. `facts` count when it is compared with the current one. `beside` is written too, but it is not a reason
    to write, since it changes with every plan. Without `force`, nothing is written that another manager has written otherwise."""

    observed_generation: int
    conditions: tuple[Condition, ...]
    facts: Mapping[str, object] = {}
    beside: Mapping[str, object] = {}
    force: bool = True


class StatusWriter:
    """Writes best effort: a refusal is counted in `failures` and tried again in the next round. What a guard raises comes out.
    Used by one thread at a time. If `tells_generation`, the status as a whole has an `observedGeneration`."""

    def __init__(self, api: Api, *, tells_generation: bool = True) -> None:
        self._api = api
        self._tells_generation = tells_generation
        self._written: dict[str, tuple[str, object]] = {}
        self.writes = self.failures = 0
        self.last_failure = ""

    def round(self, wanted: Sequence[tuple[Answered, Status]], now: str) -> None:
        """Update the status of these objects, as they were last seen. `now` is an RFC 3339 instant."""
        left = MOST_WRITES
        for item, status in wanted:
            if left == 0:
                break
            body = self._body(item, status, now)
            if body is not None:
                left -= 1
                self._write(item, body, force=status.force)
        if len(self._written) > 2 * len(wanted) + MOST_WRITES:
            self._written = {item.title: self._written[item.title] for item, _ in wanted if item.title in self._written}

    def _body(self, item: Answered, status: Status, now: str) -> dict[str, object] | None:
        """The status to apply; None if it is already there."""
        seen, written = self._written.get(item.title, ("", None))
        # Until the watch shows our own write, that write is newer than the seen object.
        there = written if seen == f"{item.uid} {item.resource_version}" else item.status
        before = there if isinstance(there, dict) else {}
        times = _times(before.get("conditions"))
        conditions = [
            {
                "type": condition.type,
                "status": condition.status,
                "observedGeneration": status.observed_generation,
                "lastTransitionTime": times.get((condition.type, condition.status), now),
                "reason": condition.reason,
                "message": condition.message[:LONGEST_MESSAGE],
            }
            for condition in status.conditions
        ]
        observed = {"observedGeneration": status.observed_generation} if self._tells_generation else {}
        content = {**observed, "conditions": conditions, **status.facts}
        outdated = before.keys() - content.keys() - status.beside.keys()
        if not outdated and all(before.get(key) == value for key, value in content.items()):
            return None
        return {**content, **status.beside}

    def _write(self, item: Answered, status: dict[str, object], *, force: bool) -> None:
        metadata = {"name": item.name, "uid": item.uid} | ({"namespace": item.namespace} if item.namespace else {})
        body = {"apiVersion": item.api_version, "kind": item.kind, "metadata": metadata, "status": status}
        try:
            # Forced where the status is ours alone to write. Nothing but the status is sent.
            query = {"force": "true"} if force else {}
            self._api.write("PATCH", f"{item.path}/status", body, content_type=ContentType.APPLY, query=query)
            self.writes += 1
            self._written[item.title] = (f"{item.uid} {item.resource_version}", status)
        except (ApiError, UnreachableError) as error:
            self.failures += 1
            self.last_failure = f"{item.title}: {error}"


def _times(conditions: object) -> dict[tuple[str, str], str]:
    if not isinstance(conditions, list):
        return {}
    entries = (entry for entry in conditions if isinstance(entry, dict))
    return {(str(e.get("type")), str(e.get("status"))): str(e.get("lastTransitionTime")) for e in entries}
