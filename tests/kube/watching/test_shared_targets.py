"""Two workload clusters on one management cluster: read once, and each sees its own objects alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from reconciler.kube.watching.collection import WORKLOAD, Served
from reconciler.kube.watching.live_world import LiveWorld
from reconciler.kube.watching.shared_targets import SharedTargets
from reconciler.kube.watching.watch_pace import RealPace
from reconciler.values.cluster_identity import ClusterIdentity
from tests.kube import objects
from tests.kube.api_server import FakeApiServer
from tests.kube.cluster import eventually

NOW = 1_790_000_000
FEW = tuple(item for item in WORKLOAD if item.kind in ("Node", "Pod"))
SERVED = (Served(platform="clusterAPI", group=objects.GROUP, version="v1beta2"),)
EAST, WEST = ClusterIdentity(name="east", namespace="infra"), ClusterIdentity(name="west", namespace="infra")


def path(kind: str, name: str, namespace: str = "infra") -> str:
    return f"/apis/{objects.GROUP}/v1beta2/namespaces/{namespace}/{objects.KINDS[kind]}/{name}"


def cluster(name: str, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "infra", "labels": labels}
    return {"apiVersion": f"{objects.GROUP}/v1beta2", "kind": "Cluster", "metadata": metadata, "spec": {}}


def deployment(name: str, owner: str, replicas: int = 1) -> dict[str, Any]:
    item = objects.machine_deployment("infra", name, replicas)
    item["spec"]["clusterName"] = owner
    return item


@pytest.fixture
def management() -> FakeApiServer:
    server = FakeApiServer()
    for item in objects.definitions():
        server.define(item)
    for name in ("east", "west"):
        server.put(path("Cluster", name), cluster(name, ring=name))
        server.put(path("MachineDeployment", f"{name}-a"), deployment(f"{name}-a", name))
    template = f"/apis/{objects.INFRASTRUCTURE}/v1beta2/namespaces/infra/testmachinetemplates/small"
    server.put(template, objects.machine_template("infra", "small"))
    return server


class Changes:
    def __init__(self) -> None:
        self.of: dict[str, int] = {"east": 0, "west": 0}


@contextmanager
def views(management: FakeApiServer, changes: Changes | None = None) -> Iterator[dict[str, LiveWorld]]:
    counted = changes or Changes()
    pace = RealPace()
    shared = SharedTargets(management, served=SERVED, namespaces=(), capi_group=objects.GROUP, pace=pace)
    shared.start()

    def count(name: str) -> None:
        counted.of[name] += 1

    made: dict[str, LiveWorld] = {}
    for identity in (EAST, WEST):
        made[identity.name] = LiveWorld(
            FakeApiServer(), management, now_seconds=lambda: NOW, name=identity.title, capi_group=objects.GROUP, served=SERVED,
            workload_collections=FEW, targets=shared.of(identity), on_change=lambda name=identity.name: count(name),  # type: ignore[misc]
        )  # fmt: skip
    for view in made.values():
        view.start()
    try:
        for view in made.values():
            assert view.wait(30), view.doubts()
        yield made
    finally:
        for view in made.values():
            assert view.stop()
        pace.stop()
        shared.stop()
        assert shared.join(lambda: 10)


def names(view: LiveWorld) -> list[str]:
    return [target.ref.name for target in view.observe().targets]


def test_each_cluster_sees_its_own_objects_and_everything_is_read_once(management: FakeApiServer) -> None:
    """Targets by `spec.clusterName`, the Cluster by its name; the templates of the namespace belong to both."""
    with views(management) as made:
        assert {name: names(view) for name, view in made.items()} == {"east": ["east-a"], "west": ["west-a"]}
        assert [one.title for one in made["east"].observe().clusters] == ["infra/east"]
        template = made["west"].observe().targets[0]
        assert template.template is not None
        assert template.template.capacity is not None
        watched = [where for where, query in management.reads if "watch" in query]
        assert len(watched) == len(set(watched))


def test_a_change_concerns_its_cluster_alone(management: FakeApiServer) -> None:
    """The other one is not woken; a template concerns both."""
    changes = Changes()
    with views(management, changes) as made:
        before = dict(changes.of)
        management.put(path("MachineDeployment", "east-b"), deployment("east-b", "east"))
        eventually(lambda: names(made["east"]) == ["east-a", "east-b"], "the new group", 30)
        management.put(path("MachineDeployment", "east-a"), deployment("east-a", "east", 4))
        eventually(lambda: made["east"].observe().targets[0].replicas == 4, "its new size", 30)
        assert (changes.of["east"] > before["east"], changes.of["west"]) == (True, before["west"])
        template = objects.machine_template("infra", "small") | {"status": {"capacity": {"cpu": "16", "memory": "64Gi"}}}
        management.put(f"/apis/{objects.INFRASTRUCTURE}/v1beta2/namespaces/infra/testmachinetemplates/small", template)
        eventually(lambda: changes.of["west"] > before["west"], "the template", 30)


def test_what_cannot_be_read_holds_its_own_cluster(management: FakeApiServer) -> None:
    """Only the object is missing, and it is there again once it can be read. The other cluster does not hear of it."""
    with views(management) as made:
        broken = deployment("west-a", "west")
        broken["spec"]["replicas"] = "many"
        management.put(path("MachineDeployment", "west-a"), broken)
        eventually(lambda: bool(made["west"].observe().unread), "the fault", 30)
        assert [one.title for one in made["west"].observe().unread] == ["MachineDeployment infra/west-a"]
        assert (names(made["west"]), made["east"].observe().unread, names(made["east"])) == ([], (), ["east-a"])
        management.put(path("MachineDeployment", "west-a"), deployment("west-a", "west"))
        eventually(lambda: names(made["west"]) == ["west-a"], "its repair", 30)
        assert made["west"].observe().unread == ()
        management.put(path("MachineDeployment", "west-a"), broken)
        eventually(lambda: bool(made["west"].observe().unread), "the fault again", 30)
        management.remove(path("MachineDeployment", "west-a"))
        eventually(lambda: not made["west"].observe().unread, "its end", 30)
        assert names(made["west"]) == []


def test_a_list_that_is_read_anew_is_told_to_everybody(management: FakeApiServer) -> None:
    """What went away while the server had forgotten its events is gone for its cluster."""
    with views(management) as made:
        assert names(made["east"]) == ["east-a"]
        management.forget()
        management.end(path("MachineDeployment", "x").rpartition("/")[0].replace("/namespaces/infra", ""))
        management.remove(path("MachineDeployment", "east-a"))
        eventually(lambda: not made["east"].doubts() and names(made["east"]) == [], "its end", 30)


def test_the_clusters_that_there_are(management: FakeApiServer) -> None:
    """With their labels, and without those that are gone."""
    pace = RealPace()
    told: list[int] = []
    shared = SharedTargets(
        management, served=SERVED, namespaces=(), capi_group=objects.GROUP, pace=pace, on_clusters=lambda: told.append(1)
    )
    assert shared.doubts(60)
    shared.start()
    try:
        eventually(lambda: not shared.doubts(60), "the list", 30)
        assert [(one.title, one.labels) for one in shared.clusters()] == [
            ("infra/east", (("ring", "east"),)), ("infra/west", (("ring", "west"),)),
        ]  # fmt: skip
        heard = len(told)
        management.remove(path("Cluster", "east"))
        eventually(lambda: [one.title for one in shared.clusters()] == ["infra/west"], "its end", 30)
        eventually(lambda: len(told) > heard, "being told", 30)
    finally:
        pace.stop()
        shared.stop()
        assert shared.join(lambda: 10)


def test_targets_of_other_namespaces_are_not_seen(management: FakeApiServer) -> None:
    """Also those of a cluster with the same name: a policy that names them explicitly finds nothing that could be written."""
    theirs = deployment("theirs", "east")
    theirs["metadata"]["namespace"] = "other"
    management.put(path("MachineDeployment", "theirs", "other"), theirs)
    item = cluster("east")
    item["metadata"]["namespace"] = "other"
    management.put(path("Cluster", "east", "other"), item)
    with views(management) as made:
        assert {name: names(view) for name, view in made.items()} == {"east": ["east-a"], "west": ["west-a"]}
        assert [one.title for one in made["east"].observe().clusters] == ["infra/east"]


def test_the_uids_of_clusters(management: FakeApiServer) -> None:
    """Another Cluster of the same name has another one, and one that is gone has none."""
    pace = RealPace()
    shared = SharedTargets(management, served=SERVED, namespaces=(), capi_group=objects.GROUP, pace=pace)
    shared.start()
    try:
        eventually(lambda: set(shared.cluster_uids()) == {("infra", "east"), ("infra", "west")}, "both", 30)
        before = shared.cluster_uids()
        management.remove(path("Cluster", "east"))
        eventually(lambda: set(shared.cluster_uids()) == {("infra", "west")}, "its end", 30)
        management.put(path("Cluster", "east"), cluster("east"))
        eventually(lambda: ("infra", "east") in shared.cluster_uids(), "another", 30)
        after = shared.cluster_uids()
        assert after["infra", "east"] != before["infra", "east"]
        assert after["infra", "west"] == before["infra", "west"]
    finally:
        pace.stop()
        shared.stop()
        assert shared.join(lambda: 10)
