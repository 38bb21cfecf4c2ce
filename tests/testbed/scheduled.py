"""kube-scheduler's decisions as they appear on the pods, read from a watch."""

import http.client
from collections.abc import Collection

import msgspec

from tests.testbed.api import Api

REFUSED = ""


class _Metadata(msgspec.Struct):
    name: str = ""
    resource_version: str = msgspec.field(name="resourceVersion", default="")


class _Condition(msgspec.Struct):
    type: str
    reason: str = ""


class _Spec(msgspec.Struct):
    node: str = msgspec.field(name="nodeName", default="")


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _Event(msgspec.Struct):
    type: str
    object: _Pod


_event = msgspec.json.Decoder(_Event)


class Scheduled:
    """What became of the pods of one namespace: `node` has a node's name, or REFUSED once kube-scheduler said Unschedulable."""

    def __init__(self, api: Api, namespace: str, seconds: float = 300) -> None:
        """Raises TimeoutError from `wait` when nothing at all happens for `seconds`."""
        self._api, self._seconds = api, seconds
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self.node: dict[str, str] = {}
        version = api.get(f"{self._path}?limit=1")["metadata"]["resourceVersion"]
        self._watch(f"watch=true&resourceVersion={version}")

    def close(self) -> None:
        """End the watch."""
        self._connection.close()

    def _watch(self, query: str) -> None:
        self._connection: http.client.HTTPSConnection = self._api.connect(self._seconds)
        self._connection.request("GET", f"{self._path}?{query}")
        self._events = self._connection.getresponse()

    def wait(self, names: Collection[str]) -> dict[str, str]:
        """The decisions about these pods, once all are there. A server that is slow ends watches: all pods are then told anew, as
        a watch without a version does."""
        missing = {name for name in names if name not in self.node}
        while missing:
            line = self._events.readline()
            if not line:
                self.close()
                self._watch("watch=true")
                continue
            pod = _event.decode(line).object
            if pod.spec.node:
                self.node[pod.metadata.name] = pod.spec.node
            elif any(item.type == "PodScheduled" and item.reason == "Unschedulable" for item in pod.status.conditions):
                self.node.setdefault(pod.metadata.name, REFUSED)
            else:
                continue
            missing.discard(pod.metadata.name)
        return {name: self.node[name] for name in names}
