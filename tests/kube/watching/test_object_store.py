"""The objects of one collection, put and discarded one by one: what is news, what cannot be read, what is lent to a view."""

from typing import Any

import msgspec
import pytest

from reconciler.cluster import defects
from reconciler.cluster.snapshots import intake
from reconciler.cluster.snapshots.intake import Intake
from reconciler.kube.watching.collection import WORKLOAD, Collection
from reconciler.kube.watching.object_store import ObjectStore
from tests.kube import objects

BY_KIND = {item.kind: item for item in WORKLOAD}


def store(kind: str, namespace: str = "") -> ObjectStore:
    return ObjectStore(msgspec.structs.replace(BY_KIND[kind], namespace=namespace))


def raw(item: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(item))


def daemon(name: str, cpu: str) -> Any:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    spec = {"selector": {}, "template": {"metadata": {}, "spec": {"containers": [container]}}}
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": spec}


@pytest.mark.parametrize(
    ("kind", "item", "same", "other"),
    [
        ("Node", objects.node("n"), {"status": {"x": 1}}, {"spec": {"unschedulable": True}}),
        ("Pod", objects.pod("shop", "p"), {"status": {"startTime": "2026-11-21T10:00:00Z"}}, {"spec": {"nodeName": "n"}}),
        ("Namespace", {"metadata": {"name": "shop"}}, {"spec": {"finalizers": []}}, {"metadata": {"labels": {"a": "b"}}}),
    ],
)
def test_what_is_news(kind: str, item: Any, same: Any, other: Any) -> None:
    """What is new, what says something else and what goes; not what is as it was, and not the end of what was never there."""

    def changed(change: Any) -> Any:
        return {key: item.get(key, {}) | change.get(key, {}) for key in ("metadata", "spec", "status")}

    found = store(kind)
    assert len(found) == 0
    assert not found.discard(raw(item))
    assert found.put(raw(item))
    assert not found.put(raw(item))
    assert not found.put(raw(changed(same)))
    assert found.put(raw(changed(other)))
    assert len(found) == 1
    assert found.discard(raw(item))
    assert not found.discard(raw(item))
    assert len(found) == 0


def test_an_object_that_cannot_be_read() -> None:
    """It is kept by name with the reason, a Node also without room; mended it is news even where it says what it said; gone it is
    no more."""
    found, good = store("Node"), objects.node("n")
    odd = good | {"status": {"capacity": {"cpu": "many"}}}
    assert found.put(raw(good))
    assert found.put(raw(odd))
    assert (len(found), list(found.unreadable), found.bound) == (1, [("", "n")], {("", "n"): "n"})
    assert "many" in found.unreadable["", "n"]
    assert found.put(raw(good))
    assert (len(found), found.unreadable) == (1, {})
    assert not found.put(raw(good))
    found.put(raw(odd))
    found.discard(raw(odd))
    assert found.unreadable == {}
    found.put(raw(objects.node("other") | {"status": {"capacity": {"cpu": "many"}}}))
    found.put(raw(good))
    assert not found.put(raw(good))
    assert list(found.unreadable) == [("", "other")]


def test_an_object_without_a_name() -> None:
    """What it is nobody knows: the view is in doubt, whether it comes or goes."""
    for take in ("put", "discard"):
        found = store("Node")
        assert getattr(found, take)(raw({"metadata": {"name": 7}}))
        assert list(found.unreadable) == [("", "")]


def test_a_pod_that_cannot_be_read_is_not_known_any_more() -> None:
    """Its old row would be a lie."""
    found, item = store("Pod"), objects.pod("shop", "p")
    found.put(raw(item))
    assert found.put(raw(item | {"status": {"phase": "Exploded"}}))
    assert (len(found), list(found.unreadable)) == (0, [("shop", "p")])


def test_daemonsets_change_and_go() -> None:
    """Shapes are numbered anew for those that are left."""
    found = store("DaemonSet")
    for name, cpu in (("a", "100m"), ("b", "200m"), ("c", "300m")):
        assert found.put(raw(daemon(name, cpu)))
    assert not found.put(raw(daemon("b", "200m")))
    assert found.put(raw(daemon("b", "250m")))
    assert found.discard(raw(daemon("a", "100m")))
    assert not found.discard(raw(daemon("a", "100m")))
    drafts = found.pods.drafts(found.daemon_drafts.values())
    milli = [draft.shape.requests.cpu_milli for draft in drafts]
    assert dict(zip([name for _, name in found.daemon_drafts], milli, strict=True)) == {"b": 250, "c": 300}


def test_a_kind_that_no_view_is_made_of() -> None:
    """A collection that nobody asked for is a mistake in the program."""
    with pytest.raises(ValueError, match="a World has no collection of kind Ingress"):
        ObjectStore(Collection(group="networking.k8s.io", kind="Ingress", version="v1", plural="ingresses"))


def test_what_is_lent_to_a_view() -> None:
    """One collection's objects are lent as they are; two of one kind are joined, and neither is changed by it."""
    one, other, empty = (store("ReplicaSet", namespace) for namespace in ("a", "b", "c"))
    for found, namespace in ((one, "a"), (other, "b")):
        found.put(raw({"metadata": {"name": "web", "namespace": namespace, "uid": namespace}, "spec": {"replicas": 1}}))
    whole = Intake()
    for found in (empty, one, other, empty):
        found.add_to(whole)
    (kept,) = whole.controllers.values()
    assert sorted(kept.by_key()) == [("a", "web"), ("b", "web")]
    assert (len(one), len(other)) == (1, 1)
    assert whole.captured == {"ReplicaSet"}


@pytest.mark.parametrize("kind", ["PersistentVolumeClaim", "PodDisruptionBudget"])
def test_plain_kinds_are_joined_too(kind: str) -> None:
    """In whatever order an empty one comes."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "selector": {}}
    stores = [store(kind, namespace) for namespace in "abc"]
    for found, namespace in ((stores[0], "a"), (stores[2], "c")):
        assert found.put(raw({"metadata": {"name": "x", "namespace": namespace}, "spec": spec, "status": {}}))
    whole = Intake()
    for found in stores:
        found.add_to(whole)
    name = "claims" if kind == "PersistentVolumeClaim" else "budgets"
    assert sorted(getattr(whole, name).by_key()) == [("a", "x"), ("c", "x")]
    assert [len(found) for found in stores] == [1, 0, 1]


def test_what_targets_refer_to() -> None:
    """The kind of their infrastructure template; a Machine, which is no target, asks for nothing."""
    group = objects.GROUP

    def of(kind: str) -> ObjectStore:
        return ObjectStore(Collection(group=group, kind=kind, version="v1beta2", plural=objects.KINDS[kind]), group)

    targets, machines = of("MachineDeployment"), of("Machine")
    assert targets.is_target
    assert not machines.is_target
    assert targets.referred() == set()
    targets.put(raw(objects.machine_deployment("infra", "general", 2)))
    machines.put(raw(objects.machine("infra", "general-1", "set")))
    assert targets.referred() == {(objects.INFRASTRUCTURE, "TestMachineTemplate")}
    assert machines.referred() == set()


def test_a_defect_while_an_object_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is like an object that cannot be read, and the others are kept."""
    monkeypatch.setattr(defects, "CAUGHT", (Exception,))
    whole = intake.read_node

    def fails(item: Any, *rest: Any) -> Any:
        if item.metadata.name == "evil":
            raise RecursionError
        return whole(item, *rest)

    monkeypatch.setattr(intake, "read_node", fails)
    found = store("Node")
    assert found.put(raw(objects.node("n")))
    assert found.put(raw(objects.node("evil")))
    assert len(found) == 1
    assert found.unreadable["", "evil"].startswith("a defect of reconciler (RecursionError at ")
