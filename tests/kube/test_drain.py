"""Draining on a real API server: real evictions, real disruption budgets, pods and nodes that kwok runs."""

import contextlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from reconciler.cluster.nodes.node import Taint
from reconciler.kube.connection.api import Api, ApiError, ContentType, UnreachableError
from reconciler.kube.connection.transport import KubernetesApi, connect
from reconciler.kube.drain import NodeDrain, SeenNode
from reconciler.policy.documents import DrainRules
from tests.kube import objects
from tests.kube.cluster import create, eventually
from tests.testbed.control_plane import FAKE_NODE, ControlPlane
from tests.testbed.overlooked import until_seen_to

NAMESPACE = "kube-drain"
BEGAN = 1_800_000_000
FOREIGN = {"key": "example.com/kept", "value": "x", "effect": "NoSchedule"}


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Iterator[KubernetesApi]:
    api = connect(control_plane.kubeconfig)
    create(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    yield api
    api.write("DELETE", f"/api/v1/namespaces/{NAMESPACE}")


class Clock:
    def __init__(self) -> None:
        self.now = BEGAN

    def __call__(self) -> int:
        return self.now


class Scene:
    """One node of its own that only pods of the test may use."""

    def __init__(self, plane: ControlPlane, api: KubernetesApi, name: str) -> None:
        self.plane, self.api, self.node, self.clock = plane, api, f"kube-drain-{name}", Clock()
        item = objects.node(self.node, taints=[FOREIGN])
        item["metadata"]["annotations"] = FAKE_NODE
        create(api, item)
        self.drain = self.drain_of("prod")

    def drain_of(self, owner: str, **options) -> NodeDrain:
        return NodeDrain(options.pop("api", self.api), owner, self.clock, timeout_seconds=600, **options)

    def pods(self, *names: str, annotations=None, finalizer: bool = False, **spec: object) -> None:
        for name in names:
            item = objects.pod(NAMESPACE, f"{self.node}-{name}", nodeName=self.node, **spec)
            item["metadata"]["labels"] = {"app": self.node}
            item["metadata"]["annotations"] = annotations or {}
            if finalizer:
                item["metadata"]["finalizers"] = ["kube-tests.dev/stay"]
            create(self.api, item)
        self.until_running({f"{self.node}-{name}" for name in names})

    def until_running(self, names: set[str]) -> None:
        def running(pods: list[objects.Object]) -> bool:
            return names <= {pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] == "Running"}

        until_seen_to(self.plane.api, f"/api/v1/namespaces/{NAMESPACE}/pods", running, "pods running")

    def daemon(self) -> None:
        """A DaemonSet that puts a pod on this node, and has done so."""
        labels = {"daemon": self.node}
        self.api.write(
            "PATCH", f"/api/v1/nodes/{self.node}", {"metadata": {"labels": labels}}, content_type=ContentType.MERGE_PATCH
        )
        spec = {
            "containers": [{"name": "main", "image": "x"}],
            "nodeSelector": labels,
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
        }
        template = {"metadata": {"labels": labels}, "spec": spec}
        item = {"selector": {"matchLabels": labels}, "template": template}
        metadata = {"name": self.node, "namespace": NAMESPACE}
        create(self.api, {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": item})
        eventually(lambda: len(self.left()) == 1, "the pod of the DaemonSet")

    def path(self, name: str) -> str:
        return f"/api/v1/namespaces/{NAMESPACE}/pods/{self.node}-{name}"

    def left(self) -> list[str]:
        found = json.loads(self.api.get(f"/api/v1/namespaces/{NAMESPACE}/pods"))["items"]
        names = (item["metadata"]["name"] for item in found if item["spec"].get("nodeName") == self.node)
        return sorted(name.removeprefix(f"{self.node}-") for name in names)

    def budget(self, name: str, least: int) -> None:
        metadata = {"name": f"{self.node}-{name}", "namespace": NAMESPACE}
        spec = {"minAvailable": least, "selector": {"matchLabels": {"app": self.node}}}
        create(self.api, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec})
        path = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/{metadata['name']}"
        eventually(lambda: json.loads(self.api.get(path)).get("status", {}).get("currentHealthy", 0) > 0, "a counted budget")

    def loosen(self, name: str, least: int) -> None:
        path = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/{self.node}-{name}"
        self.api.write("PATCH", path, {"spec": {"minAvailable": least}}, content_type=ContentType.MERGE_PATCH)

        def allowed() -> bool:
            status = json.loads(self.api.get(path))["status"]
            return bool(status["disruptionsAllowed"])

        eventually(allowed, "a looser budget")

    def taints(self) -> list[dict[str, str]]:
        found = json.loads(self.api.get(f"/api/v1/nodes/{self.node}"))["spec"].get("taints", [])
        return [taint for taint in found if not taint["key"].startswith("node.kubernetes.io/")]


@pytest.fixture
def scene(control_plane: ControlPlane, api: KubernetesApi, request: pytest.FixtureRequest) -> Iterator[Scene]:
    scene = Scene(control_plane, api, re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[:40].strip("-"))
    yield scene
    for name in scene.left():
        with contextlib.suppress(ApiError):
            api.write("PATCH", scene.path(name), {"metadata": {"finalizers": None}}, content_type=ContentType.MERGE_PATCH)
            api.write("DELETE", scene.path(name), {"gracePeriodSeconds": 0})
    api.write("DELETE", f"/api/v1/nodes/{scene.node}")


OURS = {"key": "reconciler.dev/deleting", "value": f"prod.{BEGAN}", "effect": "NoSchedule"}


def test_the_mark(scene: Scene) -> None:
    """Beginning puts our taint beside those of others, with the owner and the second; beginning again keeps the second."""
    scene.drain.begin(scene.node)
    scene.clock.now += 100
    scene.drain.begin(scene.node)
    assert scene.taints() == [FOREIGN, OURS]


def test_the_mark_of_a_node_that_was_seen(scene: Scene) -> None:
    """In one request, whatever else of the node has changed since; beginning again keeps the second."""
    path, sent = f"/api/v1/nodes/{scene.node}", []
    scene.api.write("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, content_type=ContentType.MERGE_PATCH)
    drain = scene.drain_of("prod", api=Told(scene.api, sent))
    drain.begin(scene.node, _seen(scene, *SEEN))
    assert (scene.taints(), sent) == ([FOREIGN, OURS], [("PATCH", path)])
    scene.clock.now += 100
    drain.begin(scene.node, _seen(scene, *SEEN, Taint("reconciler.dev/deleting", f"prod.{BEGAN}", "NoSchedule")))
    assert scene.taints() == [FOREIGN, OURS]


def test_the_mark_of_a_node_that_was_seen_without_taints(scene: Scene) -> None:
    """The list begins with it."""
    bare, sent = _seen(scene), []
    scene.api.write("PATCH", f"/api/v1/nodes/{scene.node}", {"spec": {"taints": None}}, content_type=ContentType.MERGE_PATCH)
    scene.drain_of("prod", api=Told(scene.api, sent)).begin(scene.node, bare)
    assert (scene.taints(), len(sent)) == ([OURS], 1)


@pytest.mark.parametrize("what", ["taint gone", "taint new", "another value", "node", "mark"])
def test_seen_otherwise(scene: Scene, what: str) -> None:
    """What was judged is not what is there: the node is read and judged anew, and nothing of others is lost."""
    seen = {
        "taint gone": _seen(scene, *SEEN, Taint("gone", "", "NoSchedule")),
        "taint new": _seen(scene),
        "another value": _seen(scene, Taint("example.com/kept", "", "NoSchedule")),
        "node": SeenNode(uid="another", taints=SEEN),
        "mark": _seen(scene, *SEEN),
    }[what]
    if what == "mark":
        scene.drain_of("test").begin(scene.node)
        with pytest.raises(ApiError, match="another owner already drains node"):
            scene.drain.begin(scene.node, seen)
        assert scene.taints() == [FOREIGN, OURS | {"value": f"test.{BEGAN}"}]
        return
    if what == "node":
        with pytest.raises(ApiError, match="is not the judged one"):
            scene.drain.begin(scene.node, seen)
        assert scene.taints() == [FOREIGN]
        return
    scene.drain.begin(scene.node, seen)
    assert scene.taints() == [FOREIGN, OURS]


def test_a_node_that_is_gone_since_it_was_seen(scene: Scene) -> None:
    """It cannot be marked."""
    with pytest.raises(ApiError, match="404"):
        scene.drain.begin("not-there", _seen(scene))


SEEN = (Taint("example.com/kept", "x", "NoSchedule"),)


def _seen(scene: Scene, *taints: Taint) -> SeenNode:
    """The node as a view shows it, once the control plane has nothing against it."""
    found: list[objects.Object] = []

    def quiet() -> bool:
        found[:] = [json.loads(scene.api.get(f"/api/v1/nodes/{scene.node}"))]
        return len(found[0]["spec"].get("taints", [])) == len(scene.taints())

    eventually(quiet, "only taints of the test")
    return SeenNode(uid=found[0]["metadata"]["uid"], taints=taints)


class Told:
    """The server, with every request told."""

    def __init__(self, api: Api, sent: list[tuple[str, str]]) -> None:
        self._api, self._sent = api, sent

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        self._sent.append(("GET", path))
        return self._api.get(path, query)

    def write(self, method: str, path: str, body: object = None, **options: Any) -> bytes:
        self._sent.append((method, path))
        return self._api.write(method, path, body, **options)


def test_undone(scene: Scene) -> None:
    """Undoing takes our taint off and leaves those of others; doing it twice is no error."""
    scene.drain.begin(scene.node)
    scene.drain.undo(scene.node)
    scene.drain.undo(scene.node)
    assert scene.taints() == [FOREIGN]


def test_marks_of_others(scene: Scene) -> None:
    """A node that another owner empties is a conflict, and its mark survives our undoing."""
    scene.drain_of("test").begin(scene.node)
    with pytest.raises(ApiError, match=f"another owner already drains node .*: reconciler.dev/deleting=test.{BEGAN}"):
        scene.drain.begin(scene.node)
    scene.drain.undo(scene.node)
    assert scene.taints() == [FOREIGN, OURS | {"value": f"test.{BEGAN}"}]


def test_emptied(scene: Scene) -> None:
    """Pods are evicted until none is left; then nothing remains."""
    scene.pods("a", "b")
    scene.drain.begin(scene.node)
    first = scene.drain.step(scene.node)
    assert (first.remaining, first.message, first.given_up) == (2, "", "")
    eventually(lambda: scene.drain.step(scene.node).remaining == 0, "being empty")
    assert scene.left() == []


def test_budget_is_waited_for(scene: Scene) -> None:
    """A budget with nothing left holds every pod, in its own words, until it is loosened."""
    scene.pods("a", "b")
    scene.budget("all", 2)
    scene.drain.begin(scene.node)
    step = scene.drain.step(scene.node)
    assert step.remaining == 2
    assert step.message == (
        f"{NAMESPACE}/{scene.node}-a: The disruption budget {scene.node}-all needs 2 healthy pods and has 2 currently"
    )
    assert scene.left() == ["a", "b"]
    scene.loosen("all", 1)
    scene.drain.step(scene.node)
    eventually(lambda: len(scene.left()) == 1, "one pod leaving")
    assert scene.drain.step(scene.node).remaining == 1


def test_two_budgets(scene: Scene) -> None:
    """A pod under two budgets cannot be evicted at all; the server's own sentence says so."""
    scene.pods("a")
    scene.budget("one", 0)
    scene.budget("two", 0)
    scene.drain.begin(scene.node)
    assert "more than one PodDisruptionBudget" in scene.drain.step(scene.node).message
    assert scene.left() == ["a"]


def test_times_out(scene: Scene) -> None:
    """A drain that took its whole time is given up with the last refusal, and nothing more is evicted."""
    scene.pods("a")
    scene.budget("all", 1)
    scene.drain.begin(scene.node)
    scene.drain.step(scene.node)
    scene.loosen("all", 0)
    scene.clock.now += 599
    second = scene.drain_of("prod")
    scene.clock.now += 1
    step = second.step(scene.node)
    assert (step.code, step.given_up) == (
        "DrainTimeout",
        f"not empty after 600 s: pods that have not ended: 1, the first is {NAMESPACE}/{scene.node}-a",
    )
    assert "needs 1 healthy pods" in scene.drain.step(scene.node).given_up
    assert scene.left() == ["a"]


def test_pods_that_cannot_be_read(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of pods that fails is no end of a drain, until its time is over: then it is given up, and nobody was evicted."""
    scene.pods("a")
    scene.drain.begin(scene.node)
    get, faults = scene.api.get, iter([UnreachableError("no answer"), ApiError(503, "", "busy"), UnreachableError("no answer")])

    def broken(path, query=None):
        if path == "/api/v1/pods":
            raise next(faults)
        return get(path, query)

    monkeypatch.setattr(scene.api, "get", broken)
    scene.clock.now += 599
    with pytest.raises(UnreachableError):
        scene.drain.step(scene.node)
    scene.clock.now += 1
    for fault in ("503: busy", "no answer"):
        step = scene.drain.step(scene.node)
        told = f"it is not known whether it is empty after 600 s: cannot read its pods: {fault}"
        assert (step.code, step.given_up, step.remaining) == ("DrainTimeout", told, 0)
    scene.drain.undo(scene.node)
    assert (scene.taints(), scene.left()) == ([FOREIGN], ["a"])


def test_what_stays(scene: Scene) -> None:
    """Pods of DaemonSets, mirrors and finished ones go with their node and are not evicted."""
    scene.daemon()
    scene.pods("mirror", annotations={"kubernetes.io/config.mirror": "x"})
    scene.pods("done", restartPolicy="Never")
    body = {"status": {"phase": "Succeeded"}}
    scene.api.write("PATCH", f"{scene.path('done')}/status", body, content_type=ContentType.MERGE_PATCH)
    scene.drain.begin(scene.node)
    assert scene.drain.step(scene.node).remaining == 0
    assert len(scene.left()) == 3


def test_a_new_process_goes_on(scene: Scene) -> None:
    """Another process with the same owner counts on from the second in the taint."""
    scene.pods("a", finalizer=True)
    scene.drain.begin(scene.node)
    scene.clock.now += 601
    assert scene.drain_of("prod").step(scene.node).code == "DrainTimeout"


def test_terminating_pods_are_not_asked_again(scene: Scene) -> None:
    """A pod that is on its way counts as left over until it has gone, and is evicted once."""
    scene.pods("slow", finalizer=True)
    # The server stamps the deletion by its own clock.
    scene.clock.now = int(time.time())
    scene.drain.begin(scene.node)
    scene.drain.step(scene.node)
    deleted = json.loads(scene.api.get(scene.path("slow")))["metadata"]
    assert scene.drain.step(scene.node).remaining == 1
    again = json.loads(scene.api.get(scene.path("slow")))["metadata"]
    assert again["deletionTimestamp"] == deleted["deletionTimestamp"]


def test_long_graces_are_cut(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod that wants an hour is asked to take what is allowed; one that wants less keeps its own. (kwok ends pods at
    once, so that the requests are looked at, on their way to the real server.)"""
    scene.pods("long", terminationGracePeriodSeconds=3600)
    scene.pods("short", terminationGracePeriodSeconds=7)
    write, asked = scene.api.write, {}

    def noted(method, path, body=None, **options):
        if path.endswith("/eviction"):
            asked[path.split("-")[-1].removesuffix("/eviction")] = body["deleteOptions"].get("gracePeriodSeconds")
        return write(method, path, body, **options)

    monkeypatch.setattr(scene.api, "write", noted)
    scene.drain.begin(scene.node)
    scene.drain.step(scene.node)
    assert asked == {"long": 600, "short": None}


def test_a_blocker_that_came_later(scene: Scene) -> None:
    """A pod that must never be evicted ends the drain before any other pod is touched."""
    scene.pods("a")
    scene.pods("precious", annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"})
    scene.drain.begin(scene.node)
    step = scene.drain.step(scene.node)
    assert step.code == "Blocked"
    assert "precious: annotation" in step.given_up
    assert scene.left() == ["a", "precious"]


def test_rules_of_the_policy(scene: Scene) -> None:
    """With the policy's rules at hand, a pod that they forbid to move (here: without a controller) ends the drain too."""
    scene.pods("alone")
    scene.drain.begin(scene.node)
    step = scene.drain_of("prod", rules=DrainRules).step(scene.node)
    assert step.given_up == f"{NAMESPACE}/{scene.node}-alone: it has no controller that would recreate it"


def test_without_the_mark(scene: Scene) -> None:
    """A node whose mark somebody removed is not touched any more."""
    scene.pods("a")
    assert scene.drain.step(scene.node).code == "NotMarked"
    assert scene.left() == ["a"]


def test_owner_that_no_taint_can_carry(api: KubernetesApi) -> None:
    """An owner that the API would refuse in a taint is refused at once."""
    with pytest.raises(ValueError, match="of a taint: use at most"):
        NodeDrain(api, "a/b", lambda: 0)
