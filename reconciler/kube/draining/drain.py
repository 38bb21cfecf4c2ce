"""Emptying a node through the Eviction API, one step at a time.

Our taint on the node is all that is remembered: it keeps new pods away, says whose drain it is, and since when. So a new
process goes on where the old one ended. `spec.unschedulable` is left alone, because nobody could tell later whose it was.
The pods are read fresh in every step and not taken from the watched view: what was bound a moment ago must leave too, and
what has just gone must not be asked again. Which of them must leave is the decision layer's own rule.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.values.unreadable import SnapshotError
from reconciler.cluster.wire.node import NodeTaint
from reconciler.kube.connection.api import Api, ApiError, ContentType, UnreachableError
from reconciler.kube.draining.drain_mark import DELETING_TAINT, DrainMark, checked_owner, mark_of
from reconciler.kube.draining.leaving_pods import LeavingPod, leaving_pods
from reconciler.kube.watching.watch_event import ListPage
from reconciler.policy.documents import DrainRules

_TRIES = 5
_NOT_FOUND, _CONFLICT, _UNPROCESSABLE = 404, 409, 422
_page = msgspec.json.Decoder(ListPage)


class DrainStep(msgspec.Struct, frozen=True, kw_only=True):
    """How far a drain is. `remaining` pods have not left, `message` is the last eviction that was refused; `given_up` says
    why the drain must be undone (empty: it need not), `code` the same as a stable word: DrainTimeout, Blocked, NotMarked.
    Of a drain that is given up `remaining` is 0 where nobody knows it."""

    remaining: int
    message: str = ""
    given_up: str = ""
    code: str = ""


class SeenNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node as the view shows it: enough to mark it without reading it first. `taints` in any order."""

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
    """Drains of one owner (a policy's name). Every method raises `ApiError` and `UnreachableError` for what the node's own
    reads and writes meet; what evictions meet is the step's message. What a guard raises comes out.

    `rules` are those of the policy in force: a pod that came after the plan and that they forbid to move ends the drain.
    """

    def __init__(
        self,
        api: Api,
        owner: str,
        now_seconds: Callable[[], int],
        *,
        timeout_seconds: int = 600,
        longest_grace_seconds: int = 600,
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
        """Mark the node with our taint; again changes nothing. A node that another owner is emptying is a conflict, and so is
        another node than was `seen`; one that is as it was seen is marked in one request."""
        if seen is not None and self._marked_as_seen(node, seen):
            return
        for _ in range(_TRIES):
            found = self._node(node)
            if seen is not None and seen.uid not in ("", found.metadata.uid):
                raise ApiError(_CONFLICT, "Conflict", f"node {node} is another one than was judged")
            taints = _taints(found)
            if mark_of(taints, self._owner) is not None:
                return
            foreign = next((taint for taint in taints if taint.key == DELETING_TAINT), None)
            if foreign is not None:
                raise ApiError(
                    _CONFLICT, "Conflict", f"node {node} is being emptied already: {foreign.key}={foreign.value or ''}"
                )
            mark = DrainMark(owner=self._owner, began_seconds=self._now_seconds())
            if self._write_taints(node, found, [*_kept(found), mark.taint()]):
                return
        raise ApiError(_CONFLICT, "Conflict", f"node {node} changed under us {_TRIES} times")

    def _marked_as_seen(self, node: str, seen: SeenNode) -> bool:
        """Whether one write did it: the server compares the node and its taints itself, so that a heartbeat since is no conflict,
        and any change of what was judged is."""
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
        """Evict what may be evicted now; nothing waits in here."""
        mark = mark_of(_taints(self._node(node)), self._owner)
        if mark is None:
            why = f"our taint is not on node {node} any more"
            return DrainStep(remaining=0, given_up=why, code="NotMarked")
        now = self._now_seconds()
        took = now - mark.began_seconds
        try:
            pods = self._leaving(node, now)
        except (ApiError, UnreachableError) as error:
            if took < self._timeout_seconds:
                raise
            # Nobody knows what is left, and waiting on would keep the node closed for as long as the list fails.
            self._refusals.pop(node, None)
            why = f"not known to be empty after {took} s: its pods cannot be read: {error}"
            return DrainStep(remaining=0, given_up=why, code="DrainTimeout")
        if not pods:
            self._refusals.pop(node, None)
            return DrainStep(remaining=0)
        blocked = next((pod for pod in pods if pod.blocked and not pod.deleting), None)
        if blocked is not None:
            return DrainStep(remaining=len(pods), given_up=f"{blocked.key}: {blocked.blocked}", code="Blocked")
        if took >= self._timeout_seconds:
            why = self._refusals.pop(node, "") or f"{len(pods)} pods have not ended, the first is {pods[0].key}"
            return DrainStep(remaining=len(pods), given_up=f"not empty after {took} s: {why}", code="DrainTimeout")
        refusal = ""
        for pod in pods:
            if not pod.deleting:
                why = self._evict(pod)
                refusal = refusal or why
        if refusal:
            self._refusals[node] = refusal
        return DrainStep(remaining=len(pods), message=refusal)

    def undo(self, node: str) -> None:
        """Take our taint off; marks of others stay. A node that is gone or not marked is no error."""
        self._refusals.pop(node, None)
        for _ in range(_TRIES):
            try:
                found = self._node(node)
            except ApiError as error:
                if error.status == _NOT_FOUND:
                    return
                raise
            if mark_of(_taints(found), self._owner) is None:
                return
            if self._write_taints(node, found, _kept(found, without=self._owner)):
                return
        raise ApiError(_CONFLICT, "Conflict", f"node {node} changed under us {_TRIES} times")

    def _node(self, name: str) -> _Node:
        return msgspec.json.decode(self._api.get(f"/api/v1/nodes/{name}"), type=_Node)

    def _write_taints(self, name: str, judged: _Node, taints: list[Any]) -> bool:
        """Replace the list that was judged; false when the node has changed since."""
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

    def _evict(self, pod: LeavingPod) -> str:
        """Ask for one pod to go; why it may not, empty when it goes."""
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
            # Gone, or another pod under its name, which the next step will see.
            if error.status in (_NOT_FOUND, _CONFLICT):
                return ""
            return f"{pod.key}: {_refusal(error)}"
        except UnreachableError as error:
            return f"{pod.key}: {error}"
        return ""


def _as_sent(taint: Taint) -> dict[str, str]:
    """As the API server keeps it, which leaves an empty value out."""
    value = {"value": taint.value} if taint.value else {}
    return {"key": taint.key, **value, "effect": taint.effect}


def _first(taint: dict[str, str]) -> dict[str, object]:
    """There is no list yet that it could be added to."""
    return {"op": "add", "path": "/spec/taints", "value": [taint]}


def _refusal(error: ApiError) -> str:
    """The budget's own words where a budget refused (429), the server's otherwise (500: two budgets over one pod)."""
    cause = next((item.message for item in error.causes if item.reason == "DisruptionBudget" and item.message), "")
    return cause or error.message


def _taints(node: _Node) -> list[NodeTaint]:
    return [msgspec.json.decode(raw, type=NodeTaint) for raw in node.spec.taints or ()]


def _kept(node: _Node, without: str = "") -> list[Any]:
    """The taints as they came, fields that we do not know included; `without` the mark of one owner (empty: of none)."""
    kept = []
    for raw in node.spec.taints or ():
        taint = msgspec.json.decode(raw, type=NodeTaint)
        if mark_of([taint], without) is None:
            kept.append(raw)
    return kept
