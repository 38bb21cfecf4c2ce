"""The live loop while nothing happens on most of what it follows, on a control plane that says nothing of its own accord."""

from reconciler.control.turn.turn_report import LoopReport
from tests.live.demand import own_nodes
from tests.live.own_loop import OwnLoop, group
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster

SILENCE_SECONDS = 1.0
"""A watch that brings nothing for so long is renewed: far oftener than a server sends bookmarks at best."""
RENEWALS = 3


def test_quiet_watches_leave_no_turn_without_a_decision(control_plane: ControlPlane, new_cluster: NewCluster) -> None:
    """While every watch is renewed several times because nothing came on it, each turn decides, and nothing is read anew."""
    cluster = new_cluster()
    item = own_nodes(cluster, "quiet", 1)
    cluster.until_nodes(1)
    policed = group("g", cluster.namespace, target=item["metadata"]["name"])
    with OwnLoop(control_plane, cluster.namespace, policed, silence_seconds=SILENCE_SECONDS) as loop:
        before = {state.collection: state.lists for state in loop.view.freshness()}

        def enough(report: LoopReport) -> bool:
            assert report.unavailable == ""
            # What others do in the meantime on the same control plane keeps some watches busy.
            return sum(state.renewals >= RENEWALS for state in loop.view.freshness()) > len(before) / 2

        loop.until(enough, "most watches being renewed")
        assert {state.collection: state.lists for state in loop.view.freshness() if state.collection in before} == before
