"""The live loop when one of its watches is told that what it knew is gone (410): that collection is read anew, alone, beside
what was known, and nothing is decided until it is whole."""

from collections import Counter
from collections.abc import Iterator

import pytest

from reconciler.control.turn.turn_report import LoopReport
from reconciler.kube.watching.stream_state import Phase, StreamState
from reconciler.plan.plan import NodeState
from reconciler.policy.documents import GroupFields, ScaleDown
from tests.live.demand import deployment, own_nodes
from tests.live.own_loop import OwnLoop, done, group
from tests.live.run_cluster import pods
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.gone import Gone, How

AT_FIRST_SIGHT = GroupFields(scale_down=ScaleDown(unneeded_time_seconds=0, utilization_threshold_percent=50))
PODS = "/api/v1/pods"
TOLD = "Pod: waiting (the known version is too old to continue from, so the list is read again)"


@pytest.fixture
def gone(control_plane: ControlPlane) -> Iterator[Gone]:
    with Gone(control_plane) as running:
        yield running


def _pods(loop: OwnLoop) -> StreamState:
    return next(state for state in loop.view.freshness() if state.collection == "Pod")


def _read_whole(loop: OwnLoop) -> Counter[str]:
    """How often the loop's user has asked for all of each collection, by the audit log: by a list, or a watch that begins so."""
    requests = loop.plane.audit(loop.user, mutating=False)
    return Counter(one.resource for one in requests if one.verb == "watch" and "sendInitialEvents=true" in one.uri)


def _listed(loop: OwnLoop) -> Counter[str]:
    return Counter(one.resource for one in loop.plane.audit(loop.user, mutating=False) if one.verb == "list")


def _in_use(report: LoopReport) -> bool:
    nodes = [node.state for node in report.plan.nodes if node.group == "g"] if report.plan is not None else []
    return nodes == [NodeState.IN_USE] * 2


@pytest.mark.parametrize("how", ["Answer", "Event"])
def test_one_collection_is_read_anew_and_its_pods_are_never_missing(
    new_cluster: NewCluster, control_plane: ControlPlane, gone: Gone, how: How
) -> None:
    """Nodes that would go at first sight if they were empty have a pod each. The watch of pods is answered with 410, and the
    list that follows is held: what was known stays, no turn decides. Let go, the first plan knows a pod that came meanwhile and
    both nodes in use; no other collection was read, no node was touched, and the loop buys the node that the new pod needs."""
    cluster = new_cluster()
    own_nodes(cluster, "g", 2)
    cluster.until_nodes(2)
    deployment(cluster, "web", 2, "2500m")
    policed = group("g", cluster.namespace)
    with OwnLoop(control_plane, cluster.namespace, policed, server=gone.url, defaults=AT_FIRST_SIGHT) as loop:
        loop.until(_in_use, "both nodes being in use")
        whole, listed, lists = _read_whole(loop), _listed(loop), _pods(loop).lists
        gone.hold(PODS)
        gone.expire(PODS, how)
        loop.until(lambda _: gone.answered == 1 and _pods(loop).phase is Phase.WAITING, "the watch being told")
        pods(cluster, "late", 1, "3")
        for _ in range(3):
            blind = loop.loop.turn()
            assert (blind.plan, TOLD in blind.unavailable) == (None, True)
        assert _pods(loop).objects >= 2
        gone.hold("")
        seeing = loop.until(lambda report: report.plan is not None, "seeing again")
        assert _in_use(seeing)
        assert seeing.plan is not None
        assert f"{cluster.namespace}/late-0" in {line.pod for line in seeing.plan.pods}
        if not done(seeing, "Resize"):
            loop.until(lambda report: done(report, "Resize"), "the loop going on")
        assert _read_whole(loop) - whole == Counter({"pods": 1})
        # One more, of one item: what the version is now, since the watch was cut.
        assert _listed(loop) - listed == Counter({"pods": 1})
        assert _pods(loop).lists == lists + 1
        assert {write.split()[1] for write in loop.writes()} == {"machinedeployments"}
