"""Emptying a node through the Eviction API, one step at a time.

Our taint on the node is the only memory. It keeps new pods away, and contains the owner and the start time of the drain. So a new
process continues where the old one ended. `spec.unschedulable` is left alone, because nobody could tell later who had set it.
Each step reads the pods again instead of using the watched view. Pods that were bound a moment ago must leave too, and pods that
have just left must not be evicted again. The decision layer's own rule chooses the pods that must leave.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.pods.pod import LONGEST_GRACE_SECONDS
from reconciler.cluster.values.unreadable import SnapshotError
from reconciler.cluster.wire.node import NodeTaint
from reconciler.kube.connection.api import Api, ApiError, ContentType, UnreachableError
from reconciler.kube.drain_mark import DELETING_TAINT, DrainMark, checked_owner, mark_of
from reconciler.kube.leaving_pods import LeavingPod, leaving_pods
from reconciler.kube.watching.watch_wire import ListPage
from reconciler.policy.documents import DrainRules
from reconciler.values.decoding import decode, decoder

_TRIES = 5
_FORBIDDEN, _NOT_FOUND, _CONFLICT, _UNPROCESSABLE = 403, 404, 409, 422
_DENIED = "Denied"
_page = decoder(ListPage)


class DrainStep(msgspec.Struct, frozen=True, kw_only=True):
    """How far a drain is. `remaining` pods have not left, and `message` is the last refused eviction. `given_up` states why the
    drain must be undone (empty: it need not), and `code` is the stable word for it: DrainTimeout, Blocked, NotMarked. If a drain
    is given up and nobody knows the number, `remaining` is 0. Without `given_up`, `code` is Denied if this account may not
    evict."""

    remaining: int
    message: str = ""
    given_up: str = ""
    code: str = ""


class SeenNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node in the view: enough to mark it without reading it first. `taints` in any order."""

    uid: str
    taints: tuple[Taint, ...] = ()


class _NodeMeta(msgspec.Struct, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _NodeSpec(msgspec.Struct):
    taints: list[Raw] | None = None


class _Node(msgspec.Struct):
    metadata: _NodeMeta
    spec: _NodeSpec = msgspec.field(default_factory=_NodeSpec)


class NodeDrain:
    """Drains of one owner (a policy's name). Every method raises `ApiError` and `UnreachableError` for its own reads and writes
    of the node. A failed eviction is the step's message. What a guard raises comes out.

    `rules` are those of the policy in force: a pod that came after the plan and that they forbid to move ends the drain.
    """

    def __init__(
        self,
        api: Api,
        owner: str,
        now_seconds: Callable[[], int],
        *,
        timeout_seconds: int = 600,
        longest_grace_seconds: int = LONGEST_GRACE_SECONDS,
        rules: Callable[[], DrainRules | None] = lambda: None,
    ) -> None:
        self._api = api
        self._owner = checked_owner(owner)
        self._now_seconds = now_seconds
        self._timeout_seconds = timeout_seconds
        self._longest_grace_seconds = longest_grace_seconds
        self._rules = rules
        self._refusals: dict[str, str] = {}

    def begin(self, node: str, seen: SeenNode | None = None) -> None:
        """Mark the node with our taint; a second call changes nothing. It is a conflict if another owner drains the node, or if
        the node is not the one in `seen`. A node that has not changed since `seen` is marked in one request."""
        if seen is not None and self._marked_as_seen(node, seen):
            return
        for _ in range(_TRIES):
            current = self._node(node)
            if seen is not None and seen.uid not in ("", current.metadata.uid):
                raise ApiError(_CONFLICT, "Conflict", f"node {node} is not the judged one: it was replaced under the same name")
            taints = _taints(current)
            if mark_of(taints, self._owner) is not None:
                return
            foreign = next((taint for taint in taints if taint.key == DELETING_TAINT), None)
            if foreign is not None:
                raise ApiError(
                    _CONFLICT, "Conflict", f"another owner already drains node {node}: {foreign.key}={foreign.value or ''}"
                )
            mark = DrainMark(owner=self._owner, began_seconds=self._now_seconds())
            if self._write_taints(node, current, [*_kept(current), mark.taint()]):
                return
        raise ApiError(_CONFLICT, "Conflict", f"node {node} changed during each of {_TRIES} attempts")

    def _marked_as_seen(self, node: str, seen: SeenNode) -> bool:
        """Whether one write did it. The server itself compares the node and its taints: a heartbeat since does not conflict, but
        any change of what was judged does."""
        if not seen.uid or any(taint.key == DELETING_TAINT for taint in seen.taints):
            return False
        mark = DrainMark(owner=self._owner, began_seconds=self._now_seconds()).taint()
        judged = [_as_sent(taint) for taint in seen.taints]
        body = [
            {"op": "test", "path": "/metadata/uid", "value": seen.uid},
            {"op": "test", "path": "/spec/taints", "value": judged or None},
            {"op": "add", "path": "/spec/taints/-", "value": mark} if judged else _first(mark),
        ]
        try:
            self._api.write("PATCH", f"/api/v1/nodes/{node}", body, content_type=ContentType.JSON_PATCH)
        except ApiError as error:
            if error.status in (_CONFLICT, _UNPROCESSABLE):
                return False
            raise
        return True

    def step(self, node: str) -> DrainStep:
        """Evict what may be evicted now. Does not wait."""
        mark = mark_of(_taints(self._node(node)), self._owner)
        if mark is None:
            why = f"node {node} no longer has our taint"
            return DrainStep(remaining=0, given_up=why, code="NotMarked")
        now = self._now_seconds()
        took = now - mark.began_seconds
        try:
            pods = self._leaving(node, now)
        except (ApiError, UnreachableError) as error:
            if took < self._timeout_seconds:
                raise
            # The number of pods is unknown. Waiting longer would keep the node cordoned for as long as the list fails.
            self._refusals.pop(node, None)
            why = f"it is not known whether it is empty after {took} s: cannot read its pods: {error}"
            return DrainStep(remaining=0, given_up=why, code="DrainTimeout")
        if not pods:
            self._refusals.pop(node, None)
            return DrainStep(remaining=0)
        blocked = next((pod for pod in pods if pod.blocked and not pod.deleting), None)
        if blocked is not None:
            return DrainStep(remaining=len(pods), given_up=f"{blocked.key}: {blocked.blocked}", code="Blocked")
        if took >= self._timeout_seconds:
            why = self._refusals.pop(node, "") or f"pods that have not ended: {len(pods)}, the first is {pods[0].key}"
            return DrainStep(remaining=len(pods), given_up=f"not empty after {took} s: {why}", code="DrainTimeout")
        refusal, denied = "", False
        for pod in pods:
            if not pod.deleting:
                why, no_right = self._evict(pod)
                refusal, denied = refusal or why, denied or no_right
        if refusal:
            self._refusals[node] = refusal
        return DrainStep(remaining=len(pods), message=refusal, code=_DENIED if denied else "")

    def undo(self, node: str) -> None:
        """Remove our taint; marks of others stay. A node that is gone or not marked is fine."""
        self._refusals.pop(node, None)
        for _ in range(_TRIES):
            try:
                current = self._node(node)
            except ApiError as error:
                if error.status == _NOT_FOUND:
                    return
                raise
            if mark_of(_taints(current), self._owner) is None:
                return
            if self._write_taints(node, current, _kept(current, without=self._owner)):
                return
        raise ApiError(_CONFLICT, "Conflict", f"node {node} changed during each of {_TRIES} attempts")

    def _node(self, name: str) -> _Node:
        return decode(self._api.get(f"/api/v1/nodes/{name}"), _Node)

    def _write_taints(self, name: str, judged: _Node, taints: list[Any]) -> bool:
        """Replace the judged list; false if the node has changed since."""
        body = {"metadata": {"resourceVersion": judged.metadata.resource_version}, "spec": {"taints": taints}}
        try:
            self._api.write("PATCH", f"/api/v1/nodes/{name}", body, content_type=ContentType.MERGE_PATCH)
        except ApiError as error:
            if error.status == _CONFLICT:
                return False
            raise
        return True

    def _leaving(self, node: str, now_seconds: int) -> tuple[LeavingPod, ...]:
        query = {"fieldSelector": f"spec.nodeName={node}"}
        items = _page.decode(self._api.get("/api/v1/pods", query)).items or []
        try:
            return leaving_pods(items, self._rules(), now_seconds)
        except SnapshotError as error:
            raise ApiError(_UNPROCESSABLE, "Unreadable", f"pods of node {node}: {error}") from None

    def _evict(self, pod: LeavingPod) -> tuple[str, bool]:
        """Evict one pod. Returns why it may not go, or empty if it goes, and whether this account may not evict it."""
        options: dict[str, object] = {"preconditions": {"uid": pod.uid}}
        if pod.grace_seconds > self._longest_grace_seconds:
            options["gracePeriodSeconds"] = self._longest_grace_seconds
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": options,
        }
        try:
            self._api.write("POST", f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction", body)
        except ApiError as error:
            # Gone, or replaced by another pod of its name, which the next step will see.
            if error.status in (_NOT_FOUND, _CONFLICT):
                return "", False
            return f"{pod.key}: {_refusal(error)}", error.status == _FORBIDDEN
        except UnreachableError as error:
            return f"{pod.key}: {error}", False
        return "", False


def _as_sent(taint: Taint) -> dict[str, str]:
    """The taint as the API server stores it, which leaves out an empty value."""
    value = {"value": taint.value} if taint.value else {}
    return {"key": taint.key, **value, "effect": taint.effect}


def _first(taint: dict[str, str]) -> dict[str, object]:
    """The patch for a node that has no list of taints yet."""
    return {"op": "add", "path": "/spec/taints", "value": [taint]}


def _refusal(error: ApiError) -> str:
    """The budget's own message if a budget refused (429), else the server's (500: two budgets for one pod)."""
    cause = next((item.message for item in error.causes if item.reason == "DisruptionBudget" and item.message), "")
    return cause or error.message


def _taints(node: _Node) -> list[NodeTaint]:
    return [decode(raw, NodeTaint) for raw in node.spec.taints or ()]


def _kept(node: _Node, without: str = "") -> list[Any]:
    """The taints as read, with fields that we do not know; `without` the mark of one owner (empty: of none)."""
    kept = []
    for raw in node.spec.taints or ():
        taint = decode(raw, NodeTaint)
        if mark_of([taint], without) is None:
            kept.append(raw)
    return kept
