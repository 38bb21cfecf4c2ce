"""What makes a write harmless when the world has moved: preconditions and versions, without a control plane."""

import pytest

from reconciler.kube.drain import NodeDrain
from reconciler.kube.leading.lease import LeaderLease
from reconciler.kube.leading.state import StateObject, StateUnavailableError
from tests.kube.api_server import FakeApiServer, Object
from tests.kube.scripted import ManualPace

NODE, LEASE = "/api/v1/nodes/n1", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/reconciler-prod"
NOW = 1_800_000_000


def _pod(name: str, uid: str) -> Object:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}
    return {
        "metadata": {"name": name, "namespace": "shop", "uid": uid, "ownerReferences": [owner]},
        "spec": {"nodeName": "n1", "containers": [{"name": "main"}]},
        "status": {"phase": "Running"},
    }


def _drain(server: FakeApiServer) -> NodeDrain:
    server.put(NODE, {"metadata": {"name": "n1"}, "spec": {}})
    return NodeDrain(server, "prod", lambda: NOW)


def test_an_eviction_names_the_pod_that_was_judged() -> None:
    """Another pod of the same name must not leave in its stead: each eviction carries the uid that was read."""
    server = FakeApiServer()
    for name in ("web-1", "web-2"):
        server.put(f"/api/v1/namespaces/shop/pods/{name}", _pod(name, f"uid-of-{name}"))
    drain = _drain(server)
    drain.begin("n1")
    drain.step("n1")
    evictions = {path: body for _, path, body in server.sent if path.endswith("/eviction")}
    assert {path: body["deleteOptions"]["preconditions"] for path, body in evictions.items()} == {
        "/api/v1/namespaces/shop/pods/web-1/eviction": {"uid": "uid-of-web-1"},
        "/api/v1/namespaces/shop/pods/web-2/eviction": {"uid": "uid-of-web-2"},
    }


def test_a_mark_is_written_on_the_node_that_was_read() -> None:
    """Somebody taints the node in between: the mark is put on again, beside that taint and not in its place."""
    server = FakeApiServer()
    drain = _drain(server)
    theirs = {"key": "example.com/theirs", "effect": "NoSchedule"}
    server.between = lambda: server.put(NODE, {"metadata": {"name": "n1"}, "spec": {"taints": [theirs]}})
    drain.begin("n1")
    taints = [taint["key"] for taint in server.objects[NODE]["spec"]["taints"]]
    assert taints == ["example.com/theirs", "reconciler.dev/deleting"]
    # Somebody touches the node once more: the mark comes off all the same, and theirs stays.
    server.between = lambda: server.put(NODE, server.objects[NODE])
    drain.undo("n1")
    assert server.objects[NODE]["spec"]["taints"] == [theirs]


def _lease(server: FakeApiServer, pace: ManualPace) -> LeaderLease:
    return LeaderLease(
        server,
        namespace="kube-system",
        name="reconciler-prod",
        identity="one",
        pace=pace,
        wall_seconds=lambda: float(NOW),
    )


def test_a_renewal_that_finds_another_count_begins_another_term() -> None:
    """Between two renewals another instance led and let us have it back: it counted, so what we decided before is void."""
    server, pace = FakeApiServer(), ManualPace()
    lease = _lease(server, pace)
    assert lease.step()
    first = lease.term()
    assert lease.step()
    assert lease.term() == first
    returned = server.objects[LEASE]
    server.put(LEASE, returned | {"spec": returned["spec"] | {"leaseTransitions": lease.transitions + 2}})
    assert lease.step()
    assert lease.term() == first + 1
    assert server.objects[LEASE]["spec"]["leaseTransitions"] == lease.transitions


def test_a_takeover_counts_and_a_faster_one_wins() -> None:
    """A lease that ran out is taken with one transition more, under the version that was read: whoever was faster keeps it."""
    server, pace = FakeApiServer(), ManualPace()
    theirs = {"holderIdentity": "two", "renewTime": "a", "leaseDurationSeconds": 15, "leaseTransitions": 4}
    server.put(LEASE, {"metadata": {"name": "reconciler-prod"}, "spec": theirs})
    lease = _lease(server, pace)
    assert not lease.step()
    pace.now += 15
    faster = theirs | {"holderIdentity": "three", "renewTime": "b", "leaseTransitions": 5}
    server.between = lambda: server.put(LEASE, {"metadata": {"name": "reconciler-prod"}, "spec": faster})
    assert not lease.step()
    assert server.objects[LEASE]["spec"]["holderIdentity"] == "three"
    assert not lease.step()
    pace.now += 15
    assert lease.step()
    spec = server.objects[LEASE]["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("one", 6)


@pytest.mark.parametrize("changed", ["before the write", "while it is written"])
def test_a_state_that_somebody_else_has_written_is_not_overwritten(changed: str) -> None:
    """Of two instances the second to write learns it before it acts, and its part stays what the first one wrote."""
    server = FakeApiServer()
    ours, theirs = (StateObject(server, "kube-system", "prod") for _ in range(2))
    ours.save("memory", b"first")
    assert ours.load("memory") == theirs.load("memory") == b"first"
    if changed == "before the write":
        theirs.save("memory", b"theirs")
    else:
        server.between = lambda: [theirs.save("memory", b"theirs"), None][1]
    with pytest.raises(StateUnavailableError, match="somebody else has changed it"):
        ours.save("memory", b"ours")
    assert StateObject(server, "kube-system", "prod").load("memory") == b"theirs"


def test_a_part_that_changed_under_another_ones_reading_is_not_overwritten() -> None:
    """Reading the policy brings a new version of the object, but the memory in it is not what its keeper has seen."""
    server = FakeApiServer()
    ours, theirs = (StateObject(server, "kube-system", "prod") for _ in range(2))
    ours.save("memory", b"first")
    theirs.load("memory")
    theirs.save("memory", b"theirs")
    ours.load("policy")
    with pytest.raises(StateUnavailableError, match="somebody else has changed it"):
        ours.save("memory", b"ours")
    assert ours.load("memory") == b"theirs"
