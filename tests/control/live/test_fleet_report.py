"""What the Leases and states of a fleet say to somebody who asks no instance."""

import json
from typing import Any

import pytest

from reconciler.control.live.fleet_report import fleet_report
from reconciler.control.policy.stored_policy import LockedState
from reconciler.kube.connection.api import ApiError
from reconciler.kube.leading.loop_name import LoopName
from reconciler.kube.leading.state import StateObject
from reconciler.rendering.documents.fleet.status import ClusterStatus, by_rank, fleet_status_document, state_words
from reconciler.rendering.printers.text.document import document_text
from reconciler.values.cluster_identity import ClusterIdentity
from tests.kube.api_server import FakeApiServer

NOW = 1_800_000_000  # 2027-01-15T08:00:00Z
HOME = "reconciler"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases"
EAST, WEST = (ClusterIdentity(name=name, namespace="infra") for name in ("east", "west"))
CPU, GPU = LoopName("cpu", "infra", "east"), LoopName("gpu", "infra", "east")


class Server(FakeApiServer):
    def lease(self, name: str, holder: str, renewed: str, labels: dict[str, str]) -> None:
        spec: dict[str, Any] = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}
        self.put(f"{LEASES}/{name}", {"metadata": {"name": name, "namespace": HOME, "labels": labels}, "spec": spec})

    def loop(self, name: LoopName, holder: str = "a_1", renewed: str = "2027-01-15T07:59:50Z", **labels: str) -> None:
        self.lease(name.lease, holder, renewed, {**name.labels, **labels})

    def instance(self, name: str, renewed: str = "2027-01-15T07:59:50Z") -> None:
        self.lease(f"reconciler-instance-{name}", f"{name}_1", renewed, {"reconciler.dev/fleet": "instance"})

    def plan(self, name: LoopName, summary: str) -> None:
        state = LockedState(StateObject(self, HOME, name.text, name.labels))  # type: ignore[arg-type]
        state.load("plan")
        state.save(
            "plan", json.dumps({"at": "2027-01-15T07:00:00Z", "mode": "Observe", "summary": summary, "digest": "d"}).encode()
        )


@pytest.fixture
def server() -> Server:
    made = Server()
    made.instance("a")
    made.instance("dead", "2027-01-15T07:59:44Z")
    return made


def lines(server: Server, *clusters: ClusterIdentity) -> list[ClusterStatus]:
    return list(fleet_report(server, HOME, clusters, NOW).clusters)


def test_every_cluster_has_a_line_for_each_of_its_loops(server: Server) -> None:
    """Who runs it, and its last plan; one without any says why."""
    server.loop(CPU)
    server.plan(CPU, "No changes.")
    server.loop(GPU, "dead_1", "2027-01-15T07:59:44Z")
    report = fleet_report(server, HOME, (EAST, WEST), NOW)
    assert list(report.clusters) == [
        ClusterStatus(
            cluster="infra/east", policy="cpu", holder="a_1", plan="No changes.", plan_at="2027-01-15T07:00:00Z", held=0
        ),
        ClusterStatus(cluster="infra/east", policy="gpu", problem="nobody runs the loop, and it left no plan"),
        ClusterStatus(
            cluster="infra/west", problem="no loop has run for it yet: no policy applies in this cluster, or no instance runs"
        ),
    ]
    assert report.instances == ("a_1",)
    assert report.summary == "2 clusters, run by 1 instance: 2 have problems"
    assert [one.policy for one in by_rank(report)] == ["gpu", "", "cpu"]


def test_a_loop_without_a_holder_shows_the_plan_that_it_left(server: Server) -> None:
    server.loop(CPU, "")
    server.plan(CPU, "Plan: 1 group up (+2 nodes).")
    [one] = lines(server, EAST)
    assert (one.holder, one.plan, one.rank) == ("", "Plan: 1 group up (+2 nodes).", 0)
    assert state_words(one) == "nobody runs the loop now"


def test_a_cluster_that_is_gone_is_shown_while_somebody_runs_its_loop(server: Server) -> None:
    server.loop(CPU)
    server.loop(LoopName("cpu", "infra", "west"), "")
    assert [(one.cluster, one.problem) for one in lines(server)] == [("infra.east", "its Cluster object is gone")]


def test_a_policy_that_counts_no_more_is_no_loop(server: Server) -> None:
    """Its Lease says that it ended; who looked for its loop would look in vain."""
    server.loop(CPU)
    server.loop(GPU, "", **{"reconciler.dev/fleet": "ended"})
    assert [one.policy for one in lines(server, EAST)] == ["cpu"]


@pytest.mark.parametrize("renewed", ["", "yesterday", "2027-01-15T07:59:44Z", "0001-01-01T00:00:00Z"])
def test_a_lease_that_is_old_or_unreadable_is_held_by_nobody(server: Server, renewed: str) -> None:
    server.loop(CPU, renewed=renewed)
    assert lines(server, EAST)[0].holder == ""


def test_a_state_that_cannot_be_read_concerns_its_loop_alone(server: Server) -> None:
    server.loop(CPU)
    server.loop(GPU)
    server.plan(GPU, "No changes.")
    server.unreadable[f"/api/v1/namespaces/{HOME}/configmaps/{CPU.state}"] = ApiError(403, "Forbidden", "not yours")
    cpu, gpu = lines(server, EAST)
    assert "not yours" in cpu.problem
    assert (gpu.problem, gpu.plan) == ("", "No changes.")


def test_clusters_of_the_same_name_are_told_apart(server: Server) -> None:
    other = ClusterIdentity(name="east", namespace="other")
    server.loop(CPU)
    server.loop(LoopName("cpu", "other", "east"), "b_1")
    assert [(one.cluster, one.holder) for one in lines(server, EAST, other)] == [("infra/east", "a_1"), ("other/east", "b_1")]


def test_a_rollout_that_cannot_be_read_is_told(server: Server) -> None:
    """It is shown as no rollout, and the other loops are shown as ever."""
    server.loop(CPU)
    server.loop(GPU)
    server.plan(GPU, "No changes.")
    lease = server.objects[f"{LEASES}/{CPU.lease}"]
    record = {"content": "c", "revision": "r", "digest": "d", "seen": 10**12}
    lease["metadata"]["annotations"] = {"reconciler.dev/rollout": json.dumps(record)}
    cpu, gpu = lines(server, EAST)
    assert cpu.problem == "its annotation reconciler.dev/rollout cannot be read. Later waves wait"
    assert (gpu.problem, gpu.plan) == ("", "No changes.")


def test_hostile_texts_cannot_steer_a_terminal(server: Server) -> None:
    """Whoever writes Leases and states in our namespace may name a holder, a policy and a plan."""
    server.loop(CPU, "\x1b[2Jholder", **{"reconciler.dev/policy": "\x1b[31m"})
    server.plan(CPU, "line\n\x1b]0;title\x07")
    text = document_text(fleet_status_document(fleet_report(server, HOME, (EAST,), NOW)), width=100, colour=False)
    assert not [character for character in text if ord(character) < 32 and character != "\n"]


def test_leases_that_may_not_be_listed(server: Server) -> None:
    server.forbidden.add(LEASES)
    with pytest.raises(ApiError):
        lines(server, EAST)


@pytest.mark.parametrize(
    ("decision", "problem"),
    [
        ({"at": NOW - 10}, ""),
        ({"at": NOW - 182, "why": "x", "away": True}, "does not answer, not decided since 2027-01-15T07:56:58Z: x"),
        ({"at": NOW - 182}, "not decided since 2027-01-15T07:56:58Z"),
    ],
)
def test_a_loop_that_has_not_decided_for_long(server: Server, decision: dict[str, object], problem: str) -> None:
    """It is renewed and has left a plan in which all is well. It comes before clusters with another problem."""
    server.loop(CPU)
    server.plan(CPU, "No changes.")
    text = json.dumps({"told": NOW, **decision})
    server.objects[f"{LEASES}/{CPU.lease}"]["metadata"]["annotations"] = {"reconciler.dev/last-decision": text}
    aside = ClusterIdentity(name="aside", namespace="infra")
    report = fleet_report(server, HOME, (aside, EAST), NOW)
    one = next(line for line in report.clusters if line.cluster == "infra/east")
    assert (one.problem, one.rank) == (problem, 0 if problem else 2)
    assert [line.cluster for line in by_rank(report)] == (
        ["infra/east", "infra/aside"] if problem else ["infra/aside", "infra/east"]
    )
    if problem:
        assert report.summary == "2 clusters, run by 1 instance: 2 have problems"
        assert state_words(one) == problem
