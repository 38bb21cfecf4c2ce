"""The live loop while what it looks through fails: nothing is removed on a view that may be old, and it goes on by itself."""

import http.client
import json
from collections.abc import Iterator

import pytest

from reconciler.control.turn.turn_report import LoopReport
from reconciler.plan.plan import NodeState
from reconciler.policy.documents import GroupFields, ScaleDown
from reconciler.providers.contract import RemovalState
from tests.live.demand import deployment, own_nodes
from tests.live.own_loop import OwnLoop, group
from tests.testbed.api import Object
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.control_plane import ControlPlane
from tests.testbed.proxy import Proxy
from tests.testbed.work_cluster import WorkCluster

HOUR_SECONDS = 3600
AFTER_AN_HOUR = GroupFields(scale_down=ScaleDown(unneeded_time_seconds=HOUR_SECONDS, utilization_threshold_percent=50))
# Of the view: a watch that brings nothing for so long is broken. A server that is well sends more often only where something
# happens, so that quiet watches are made anew all the time in these tests.
SILENCE_SECONDS = 3.0


@pytest.fixture(scope="module")
def cluster(cluster_api: ClusterApi) -> Iterator[WorkCluster]:
    made = WorkCluster(cluster_api.api, "outages")
    yield made
    made.delete()


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[Proxy]:
    with Proxy(control_plane) as made:
        yield made


@pytest.fixture
def idle(cluster: WorkCluster, name: str) -> Iterator[Object]:
    """A group of two nodes that nothing runs on, gone after the test."""
    item = own_nodes(cluster, name, 2)
    cluster.until_nodes(2)
    yield item
    for one in cluster.api.items(f"/apis/apps/v1/namespaces/{cluster.namespace}/deployments"):
        cluster.api.delete({**one, "kind": "Deployment"})
    cluster.api.delete(item)
    cluster.until_nodes(0)


def _loop(plane: ControlPlane, item: Object, proxy: Proxy | None = None, **fields: float) -> OwnLoop:
    namespace = item["metadata"]["namespace"]
    policed = group("g", namespace, target=item["metadata"]["name"])
    server = proxy.url if proxy is not None else ""
    return OwnLoop(plane, namespace, policed, server=server, call_seconds=4, defaults=AFTER_AN_HOUR, **fields)


def _unneeded(loop: OwnLoop) -> None:
    """The loop has seen that nobody needs the nodes, an hour before they may go."""
    loop.until(lambda _: len(loop.store.load().unneeded_since) == 2, "both nodes being unneeded")


def _in_use(report: LoopReport) -> bool:
    assert report.plan is not None
    nodes = [node for node in report.plan.nodes if node.group == "g"]
    return len(nodes) == 2 and all(node.state is NodeState.IN_USE for node in nodes)


def _fails(proxy: Proxy, how: str) -> None:
    if how == "Slow":
        proxy.delay(3600)
        proxy.cut()
    elif how == "Cut":
        proxy.set("Refused")
    elif how == "HalfOpen":
        proxy.set("HalfOpen")
    else:
        proxy.set("TooManyRequests")


@pytest.mark.parametrize("how", ["Cut", "Slow", "TooManyRequests", "HalfOpen"])
def test_nothing_is_removed_on_what_was_seen_before_the_break(
    control_plane: ControlPlane, cluster: WorkCluster, idle: Object, proxy: Proxy, how: str
) -> None:
    """While the loop sees nothing, pods come to the nodes that it is about to remove. It decides nothing meanwhile; when the
    connection is back it first learns of the pods, and never asks for a taint."""
    with _loop(control_plane, idle, proxy, silence_seconds=SILENCE_SECONDS if how == "HalfOpen" else 90) as loop:
        _unneeded(loop)
        _fails(proxy, how)
        deployment(cluster, f"web-{how.lower()}", 2, "2500m")
        loop.ahead_seconds = HOUR_SECONDS + 100
        blind = loop.until(lambda report: bool(report.unavailable), "the view being doubted")
        assert blind.plan is None
        proxy.delay(0)
        proxy.set("Through")
        seeing = loop.until(lambda report: report.plan is not None, "seeing again")
        assert _in_use(seeing)
        assert [write for write in loop.writes() if "nodes" in write or "eviction" in write] == []
    assert cluster.api.read(idle)["spec"]["replicas"] == 2


def _compacted(plane: ControlPlane) -> None:
    """Let etcd forget everything but the present."""
    connection = http.client.HTTPConnection(plane.etcd.removeprefix("http://"), timeout=120)

    def call(path: str, body: Object) -> Object:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer: Object = json.loads(connection.getresponse().read())
        return answer

    revision = call("/v3/kv/range", {"key": "AA=="})["header"]["revision"]
    call("/v3/kv/compaction", {"revision": revision, "physical": True})
    connection.close()


def test_a_compacted_history_is_read_anew_after_a_restart(
    control_plane: ControlPlane, cluster: WorkCluster, idle: Object
) -> None:
    """The API server is killed, etcd compacted, and the server started again: what some watches knew is too old (410), those
    are read again, and the removal that was due is done, by the same process."""
    with _loop(control_plane, idle) as loop:
        _unneeded(loop)
        before = {state.collection: state.lists for state in loop.view.freshness()}
        with control_plane.api_server_away():
            _compacted(control_plane)
            blind = loop.until(lambda report: bool(report.unavailable), "the view being doubted")
        assert blind.plan is None
        loop.until(lambda report: report.plan is not None, "seeing again")
        after = {state.collection: state.lists for state in loop.view.freshness()}
        assert any(after[name] > before[name] for name in before)
        loop.until(lambda report: _after_an_hour(loop, report), "the removal")
        cluster.until(idle, lambda item: item["spec"]["replicas"] < 2, "a node less")


def _after_an_hour(loop: OwnLoop, report: LoopReport) -> bool:
    """An hour passes whenever all nodes have to wait for one. Their time begins anew if nothing renewed their leases, or if a
    server that is not ready yet refuses the first removal."""
    nodes = [node for node in report.plan.nodes if node.group == "g"] if report.plan is not None else []
    if nodes and all("NotUnneededLongEnough" in {one.code for one in node.blockers} for node in nodes):
        loop.ahead_seconds += HOUR_SECONDS + 100
    return _finished(report)


def _finished(report: LoopReport) -> bool:
    return any(removal.state is RemovalState.FINISHED for removal in report.removals)
