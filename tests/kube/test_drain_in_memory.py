"""What test_drain.py asks of a real API server, asked of the one in memory; and what one write there cannot be made to meet."""

import json
from typing import Any

import msgspec
import pytest

from reconciler.cluster.wire.node import NodeTaint
from reconciler.kube.connection.api import ApiError, Cause, UnreachableError
from reconciler.kube.drain import NodeDrain
from reconciler.kube.drain_mark import DrainMark, checked_owner, mark_of, read_mark
from tests.kube import test_drain
from tests.kube.api_server import FakeApiServer, asked
from tests.kube.emptied_node import EmptiedNode

globals().update(asked(test_drain))


@pytest.fixture
def scene(request: pytest.FixtureRequest) -> EmptiedNode:
    return EmptiedNode(request.node.originalname.removeprefix("test_")[:40], test_drain.FOREIGN, test_drain.BEGAN)


@pytest.fixture
def api() -> FakeApiServer:
    return FakeApiServer()


def _touched(scene: EmptiedNode, times: int) -> None:
    """Somebody changes the node right before each of our next writes."""
    path = f"/api/v1/nodes/{scene.node}"

    def touch() -> None:
        nonlocal times
        scene.api.put(path, scene.api.objects[path])
        times -= 1
        scene.api.between = touch if times else None

    scene.api.between = touch


@pytest.mark.parametrize("method", ["begin", "undo"])
def test_a_node_that_keeps_changing_is_tried_five_times(scene: EmptiedNode, method: str) -> None:
    """Four writes in between are overcome, the fifth is told; each try reads the node anew."""
    if method == "undo":
        scene.drain.begin(scene.node)
    act = getattr(scene.drain, method)
    _touched(scene, 5)
    with pytest.raises(ApiError, match=f"node {scene.node} changed during each of 5 attempts") as found:
        act(scene.node)
    assert (found.value.status, found.value.reason) == (409, "Conflict")
    _touched(scene, 4)
    act(scene.node)
    assert (test_drain.OURS in scene.taints()) == (method == "begin")


@pytest.mark.parametrize("method", ["begin", "undo"])
def test_a_refused_mark_comes_out(scene: EmptiedNode, method: str) -> None:
    """A mark that may not be written is no conflict: nothing is tried again."""
    if method == "undo":
        scene.drain.begin(scene.node)
    scene.api.refused[f"/api/v1/nodes/{scene.node}"] = ApiError(403, "Forbidden", "no")
    sent = len(scene.api.sent)
    with pytest.raises(ApiError, match="403 Forbidden: no"):
        getattr(scene.drain, method)(scene.node)
    assert len(scene.api.sent) == sent + 1


def test_a_node_that_is_gone(scene: EmptiedNode) -> None:
    """Nothing is left to undo; one that cannot be read is told."""
    scene.drain.undo("not-there")
    with pytest.raises(ApiError, match="404"):
        scene.drain.begin("not-there")
    node, scene.api.get = scene.node, _refusing  # type: ignore[method-assign]
    with pytest.raises(ApiError, match="503"):
        scene.drain.undo(node)


def _refusing(path: str, query: Any = None) -> bytes:
    raise ApiError(503, "", f"{path} {query}")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ApiError(404, "NotFound", "gone"), ""),
        (ApiError(409, "Conflict", "another uid"), ""),
        (ApiError(403, "Forbidden", "no right"), "kube-drain/{node}-a: no right"),
        (UnreachableError("cut"), "kube-drain/{node}-a: cut"),
    ],
)
def test_what_evictions_meet(scene: EmptiedNode, error: Exception, told: str) -> None:
    """A pod that has gone, or another one under its name, is no refusal; the first of the others is told, and the next pod
    is asked all the same."""
    scene.pods("a", "b")
    scene.drain.begin(scene.node)
    scene.api.refused[f"{scene.path('a')}/eviction"] = error
    assert scene.drain.step(scene.node).message == told.format(node=scene.node)
    assert scene.left() == ["a"]


def test_the_first_refusal_is_told(scene: EmptiedNode) -> None:
    """And it is the reason when time is over, of this drain alone."""
    scene.pods("a", "b")
    scene.drain.begin(scene.node)
    for name in ("a", "b"):
        scene.api.refused[f"{scene.path(name)}/eviction"] = ApiError(500, "InternalError", f"no {name}")
    assert scene.drain.step(scene.node).message == f"kube-drain/{scene.node}-a: no a"
    scene.clock.now += 600
    assert scene.drain.step(scene.node).given_up == f"not empty after 600 s: kube-drain/{scene.node}-a: no a"
    assert scene.drain.step(scene.node).given_up.startswith("not empty after 600 s: pods that have not ended: 2")


def test_a_grace_that_is_just_allowed(scene: EmptiedNode) -> None:
    """600 s are as long as is allowed: the pod keeps its own; a second more is cut."""
    scene.pods("fits", terminationGracePeriodSeconds=600)
    scene.pods("long", terminationGracePeriodSeconds=601)
    scene.drain.begin(scene.node)
    scene.drain.step(scene.node)
    asked_for = {
        path.split("-")[-1]: body["deleteOptions"].get("gracePeriodSeconds")
        for _, path, body in scene.api.sent
        if path.endswith("/eviction")
    }
    assert asked_for == {"fits/eviction": None, "long/eviction": 600}


def test_a_blocked_pod_that_is_leaving_anyway(scene: EmptiedNode) -> None:
    """Somebody deleted it: it is no reason to give up, and nobody asks it again."""
    scene.pods("precious", annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"})
    scene.api.objects[scene.path("precious")]["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    scene.drain.begin(scene.node)
    step = scene.drain.step(scene.node)
    assert (step.remaining, step.given_up) == (1, "")
    assert not [path for _, path, _ in scene.api.sent if path.endswith("/eviction")]


def test_a_node_that_is_not_ours_any_more(scene: EmptiedNode) -> None:
    """Somebody took our taint off: given up, with nothing counted."""
    scene.pods("a")
    step = scene.drain.step(scene.node)
    assert (step.remaining, step.message, step.code) == (0, "", "NotMarked")
    assert step.given_up == f"node {scene.node} no longer has our taint"


def test_a_list_of_nothing(scene: EmptiedNode) -> None:
    """A server may write null for a list without items."""
    scene.drain.begin(scene.node)
    get = scene.api.get
    scene.api.get = lambda path, query=None: b'{"metadata":{},"items":null}' if path == "/api/v1/pods" else get(path, query)  # type: ignore[method-assign]
    assert scene.drain.step(scene.node).remaining == 0
    assert scene.drain.step(scene.node).given_up == ""


@pytest.mark.parametrize(("cause", "told"), [
    (Cause(reason="DisruptionBudget", message="The budget says no"), "The budget says no"),
    (Cause(reason="DisruptionBudget"), "in short"),
    (Cause(reason="Other", message="another"), "in short"),
])  # fmt: skip
def test_the_budgets_own_words(scene: EmptiedNode, cause: Cause, told: str) -> None:
    """Where it has any; else the server's."""
    scene.pods("a")
    scene.drain.begin(scene.node)
    scene.api.refused[f"{scene.path('a')}/eviction"] = ApiError(429, "TooManyRequests", "in short", (cause,))
    assert scene.drain.step(scene.node).message == f"kube-drain/{scene.node}-a: {told}"


def test_unreadable_pods_are_told_by_name(scene: EmptiedNode) -> None:
    """What cannot be read is nothing that may be taken for an empty node."""
    scene.api.put(scene.path("odd"), {"metadata": {"name": 7}, "spec": {"nodeName": scene.node}})
    scene.drain.begin(scene.node)
    with pytest.raises(ApiError, match=f"422 Unreadable: pods of node {scene.node}: ") as found:
        scene.drain.step(scene.node)
    assert found.value.status == 422


@pytest.mark.parametrize(
    ("value", "mark"),
    [
        ("prod.17", DrainMark(owner="prod", began_seconds=17)),
        ("a.b.17", DrainMark(owner="a.b", began_seconds=17)),
        ("prod", None),
        ("17", None),
        (".17", None),
        ("prod.", None),
        ("prod.x", None),
        ("prod.-1", None),
        ("prod.\u0661\u0667", None),  # digits, but not those that we write
    ],
)
def test_the_value_of_a_mark(value: str, mark: DrainMark | None) -> None:
    """An owner, a dot, seconds in ASCII; all else was written by somebody else."""
    assert read_mark(value) == mark
    if mark is not None:
        assert mark.value == value


def test_only_the_owners_own_mark_counts() -> None:
    """Others' keys and other owners' marks are passed over, wherever they stand."""
    ours, theirs = (DrainMark(owner=owner, began_seconds=3).taint() for owner in ("prod", "test"))
    taints = [json.dumps(taint).encode() for taint in (theirs, ours | {"key": "example.com/other"}, ours)]
    read = [msgspec.json.decode(raw, type=NodeTaint) for raw in taints]
    assert mark_of(read, "prod") == DrainMark(owner="prod", began_seconds=3)
    assert mark_of(read[:2], "prod") is None
    assert mark_of(None, "prod") is None


@pytest.mark.parametrize("owner", ["a" * 52, "a", "a.b_c-d", "A9"])
def test_owners_that_fit(owner: str) -> None:
    """A taint's value takes 63 characters, of which a dot and ten digits are the time's."""
    assert checked_owner(owner) == owner
    assert len(DrainMark(owner=owner, began_seconds=2147483647).value) <= 63


@pytest.mark.parametrize("owner", ["a" * 53, "", "-a", "a-", "a b"])
def test_owners_that_do_not(owner: str) -> None:
    """One character more, or one that a label's value may not hold."""
    with pytest.raises(ValueError, match="of a taint: use at most 52"):
        NodeDrain(FakeApiServer(), owner, lambda: 0)
