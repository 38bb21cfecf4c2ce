"""The status of our custom resources, written by server-side apply with our manager, and only after a change.

We own only what we apply to `/status`. The managers that apply metadata and spec own those fields, and neither side removes a
field of the other. SOURCE: server-side apply and status subresources in the API documentation. A write to `/status` changes
nothing else, and does not raise the generation. SOURCE: metav1.Condition. The transition time of a condition changes only with
its status.
"""

from collections.abc import Mapping, Sequence

import msgspec

from reconciler.kube.connection.api import Api, ApiError, ContentType, UnreachableError
from reconciler.kube.custom.custom_object import CustomObject
from reconciler.policy.documents import API_VERSION

LONGEST_MESSAGE = 32768
MOST_WRITES = 100
"""The most writes of one round. What is left over still differs in the next one."""


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """One condition; `status` is True, False or Unknown as Kubernetes writes it."""

    type: str
    status: str
    reason: str
    message: str = ""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The desired status. `facts` count when it is compared with the current one. `beside` is written too, but it is not a reason
    to write, since it changes with every plan."""

    observed_generation: int
    conditions: tuple[Condition, ...]
    facts: Mapping[str, object] = {}
    beside: Mapping[str, object] = {}


class StatusWriter:
    """Writes best effort: a refusal is counted in `failures` and tried again in the next round. What a guard raises comes out.
    Used by one thread at a time."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._written: dict[str, tuple[str, object]] = {}
        self.writes = self.failures = 0
        self.last_failure = ""

    def round(self, wanted: Sequence[tuple[CustomObject, Status]], now: str) -> None:
        """Update the status of these objects, as they were last seen. `now` is an RFC 3339 instant."""
        left = MOST_WRITES
        for item, status in wanted:
            if left == 0:
                break
            body = self._body(item, status, now)
            if body is not None:
                left -= 1
                self._write(item, body)
        if len(self._written) > 2 * len(wanted) + MOST_WRITES:
            self._written = {item.title: self._written[item.title] for item, _ in wanted if item.title in self._written}

    def _body(self, item: CustomObject, status: Status, now: str) -> dict[str, object] | None:
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
        content = {"observedGeneration": status.observed_generation, "conditions": conditions, **status.facts}
        outdated = before.keys() - content.keys() - status.beside.keys()
        if not outdated and all(before.get(key) == value for key, value in content.items()):
            return None
        return {**content, **status.beside}

    def _write(self, item: CustomObject, status: dict[str, object]) -> None:
        metadata = {"name": item.name, "uid": item.uid} | ({"namespace": item.namespace} if item.namespace else {})
        body = {"apiVersion": API_VERSION, "kind": item.kind, "metadata": metadata, "status": status}
        try:
            # Forced: the status is ours alone to write, and nothing but the status is sent.
            self._api.write("PATCH", f"{item.path}/status", body, content_type=ContentType.APPLY, query={"force": "true"})
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
