"""The short version of `make soak`."""

from pathlib import Path

from reconciler.kube.leading.rival import DEPLOYMENTS_SECONDS, LOOK_SECONDS
from reconciler.kube.watching.reflector import SILENCE_SECONDS
from tests.live.soak import PODS, soak
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster


def test_every_turn_decides_also_after_nothing_has_happened(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """Work, then a time in which nothing happens that is longer than a watch may bring nothing, then work again."""
    quiet = SILENCE_SECONDS + 10
    found = soak(control_plane, new_cluster(), tmp_path, active_seconds=2, quiet_seconds=quiet, period=2)
    assert (found.undecided, found.why) == (0, ())
    assert found.decided_quiet >= 10
    assert (found.rounds, found.nodes_most) == (2, PODS)
    # What is quiet is at most watched anew, and never read anew; four namespaces are looked at once a minute,
    # and the states of other policies every ten seconds.
    assert found.requests_quiet.get("list", 0) == 0
    assert found.requests_quiet.get("list deployments", 0) <= 4 * (quiet // DEPLOYMENTS_SECONDS + 1)
    assert found.requests_quiet.get("list configmaps", 0) <= quiet // LOOK_SECONDS + 1
