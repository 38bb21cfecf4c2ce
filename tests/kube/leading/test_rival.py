"""Whether a Cluster Autoscaler is alive, from what it writes: on a clock that the test moves, objects as a server gives them."""

from typing import Any

import pytest

from reconciler.kube.leading.rival import DEPLOYMENTS_SECONDS, RivalWatch
from tests.kube.api_server import FakeApiServer

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cluster-autoscaler"
STATUS = "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status"
RENEWED = "Lease kube-system/cluster-autoscaler is renewed by ca-0"
DEPLOYMENTS = "/apis/apps/v1/namespaces/kube-system/deployments"
NOON = 1_800_014_400
"""2027-01-15T12:00:00Z."""


class Server(FakeApiServer):
    """A server that is looked at and never written."""

    now = 0.0

    def lease(self, renewed: str, holder: str = "ca-0") -> None:
        spec = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15}
        self.put(LEASE, {"metadata": {"name": "cluster-autoscaler"}, "spec": spec})

    def deployments(self, *items: dict[str, Any]) -> None:
        """These and no others are there."""
        self.objects = {f"{DEPLOYMENTS}/{item['metadata']['name']}": item for item in items}

    def look(self, watch: RivalWatch, after_seconds: float = 10) -> tuple[str, ...]:
        self.now += after_seconds
        return watch.evidence()


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def watch(server: Server) -> RivalWatch:
    return RivalWatch((server,), ("kube-system",), monotonic=lambda: server.now, wall_seconds=lambda: NOON + server.now)


def test_nothing_there(server: Server, watch: RivalWatch) -> None:
    """No Lease, no status: no evidence."""
    assert server.look(watch) == ()


def test_a_lease_renewed_just_now_counts_at_first_sight(server: Server, watch: RivalWatch) -> None:
    """Ten seconds old when it is seen; alive for the rest of the minute, and then not any more unless it changes."""
    server.lease("2027-01-15T12:00:00.123456Z")
    assert server.look(watch) == (RENEWED,)
    assert server.look(watch, 49) == (RENEWED,)
    assert server.look(watch, 11) == ()


def test_an_old_lease_counts_only_once_it_changes(server: Server, watch: RivalWatch) -> None:
    """Left by one that is long gone; or by one whose clock is wrong, which gives itself away by renewing."""
    server.lease("2027-01-15T10:00:00Z")
    assert server.look(watch) == ()
    server.lease("2027-01-15T10:00:02Z")
    assert server.look(watch) == (RENEWED,)


def test_a_lease_given_back_is_nobodys(server: Server, watch: RivalWatch) -> None:
    """Without a holder."""
    server.lease("2027-01-15T12:00:05Z", holder="")
    assert server.look(watch) == ()


def test_a_status_that_says_no_time(server: Server, watch: RivalWatch) -> None:
    """It counts once it changes, as any that is old."""
    for seen in (False, True):
        server.put(STATUS, {"metadata": {}})
        assert bool(server.look(watch)) is seen


def test_a_status_written_just_now(server: Server, watch: RivalWatch) -> None:
    """The time is in an annotation, as Go prints it: 12:00:03 an hour ahead of UTC is 11:00:03 here, too old, in UTC not."""
    key = "cluster-autoscaler.kubernetes.io/last-updated"
    for zone, alive in (("+0100 CET", False), ("+0000 UTC", True)):
        written = f"2027-01-15 12:00:03.5 {zone}"
        server.put(STATUS, {"metadata": {"annotations": {key: written}}})
        fresh = RivalWatch((server,), (), monotonic=lambda: server.now, wall_seconds=lambda: NOON + 10)
        assert bool(fresh.evidence()) is alive


@pytest.mark.parametrize(
    "text",
    [
        "2027-13-45T12:00:00Z",
        "2027-01-15 25:00:00 +0000 UTC",
        "0001-01-01T00:00:00+00:01",
        "2027-01-15T12:00:0\u0665Z",
        "1" * 99_999,
    ],
)
def test_a_lease_with_a_time_that_is_none(server: Server, watch: RivalWatch, text: str) -> None:
    """It counts once it changes; the look goes on."""
    server.lease(text)
    assert server.look(watch) == ()
    server.lease(text)
    assert server.look(watch) == (RENEWED,)


def test_a_server_that_does_not_answer_leaves_it_as_it_was(server: Server, watch: RivalWatch) -> None:
    """Known to be alive: alive until its minute is over. Deleted: gone at once, and judged anew should there be another."""
    server.lease("2027-01-15T12:00:10Z")
    assert server.look(watch) == (RENEWED,)
    server.away = True
    assert server.look(watch) == (RENEWED,)
    server.away = False
    server.objects.clear()
    assert server.look(watch) == ()
    server.lease("2027-01-15T10:00:00Z")
    assert server.look(watch) == ()


def test_it_looks_every_ten_seconds_only(server: Server, watch: RivalWatch) -> None:
    """A turn takes several views: one look."""
    server.look(watch)
    before = len(server.reads)
    server.look(watch, 1)
    assert len(server.reads) == before > 0


def deployment(name: str, replicas: int | None, **container: object) -> dict[str, Any]:
    spec: dict[str, Any] = {"template": {"spec": {"containers": [{"name": "c", **container}]}}}
    return {"metadata": {"name": name}, "spec": spec if replicas is None else {**spec, "replicas": replicas}}


IMAGE = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.1"


@pytest.mark.parametrize("container", [
    {"image": IMAGE},
    {"image": "mirror.example.org:5000/x/cluster-autoscaler-arm64@sha256:" + "0" * 64},
    {"image": "quay.io/openshift/release@sha256:" + "0" * 64, "command": ["cluster-autoscaler"], "args": ["--v=1"]},
    {"image": "own/build:1", "command": ["/usr/bin/tini", "./cluster-autoscaler"]},
    {"image": "own/build:1", "args": ["--cloud-provider=aws", "--node-group-auto-discovery=asg:tag=x"]},
])  # fmt: skip
def test_a_deployment_that_runs_one(server: Server, watch: RivalWatch, container: dict[str, object]) -> None:
    """By image, program or flags, whatever its name; unless it is scaled to zero, or where nobody looks for one."""
    server.deployments(deployment("any-name", 2, **container), deployment("off", 0, **container))
    assert server.look(watch) == ("Deployment kube-system/any-name has 2 replicas",)
    server.deployments(deployment("any-name", None, **container))
    assert server.look(watch, DEPLOYMENTS_SECONDS) == ("Deployment kube-system/any-name has 1 replica",)
    server.deployments()
    server.put(f"{DEPLOYMENTS.replace('kube-system', 'shop')}/any-name", deployment("any-name", 2, **container))
    assert server.look(watch, DEPLOYMENTS_SECONDS) == ()


@pytest.mark.parametrize("container", [
    {"image": "example.org/exporter:1"},
    {"image": "example.org/cluster-autoscaler/exporter:1"},
    {"image": "example.org/cluster-autoscaler-exporter:1", "args": ["--target=cluster-autoscaler"]},
    {"image": "example.org/manager:1", "args": ["--cloud-provider=aws"]},
])  # fmt: skip
def test_a_name_holds_nothing(server: Server, watch: RivalWatch, container: dict[str, object]) -> None:
    """Somebody calls a Deployment so, or has a program beside it: it sizes nothing."""
    server.deployments(deployment("my-cluster-autoscaler", 1, **container))
    assert server.look(watch) == ()


def test_deployments_that_cannot_be_asked_for_are_as_they_were(server: Server, watch: RivalWatch) -> None:
    """A server that is away scales nothing down."""
    server.deployments(deployment("ca", 1, image=IMAGE))
    before = server.look(watch)
    server.away = True
    assert server.look(watch, DEPLOYMENTS_SECONDS) == before != ()
    server.away = False
    server.objects.clear()
    assert server.look(watch) == ()


def test_deployments_are_listed_once_a_minute(server: Server, watch: RivalWatch) -> None:
    """Six looks, ten seconds apart: its Lease and status are read in each, the list in one."""
    for _ in range(6):
        server.look(watch)
    read = [path for path, _ in server.reads]
    assert (read.count(DEPLOYMENTS), read.count(LEASE)) == (1, 6)
    server.look(watch)
    assert [path for path, _ in server.reads].count(DEPLOYMENTS) == 2
