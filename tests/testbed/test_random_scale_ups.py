"""A few of the scale-ups that `random_scale_ups` carries out, on a control plane that has nothing else.

The nodes of other tests would take pods.
"""

from collections.abc import Iterator

import pytest

from reconciler.cluster.snapshots import daemon_pods
from tests.testbed import scale_up_story
from tests.testbed.control_plane import ControlPlane, running_control_plane
from tests.testbed.facts_cluster import prepare
from tests.testbed.missing import not_run
from tests.testbed.scale_up_story import told_story
from tests.testbed.toolchain import NotAvailableError

SEEDS = (1, 4, 6)
SEED_OF_DAEMONS = 7


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """It is empty."""
    try:
        context = running_control_plane()
        made = context.__enter__()
    except NotAvailableError as error:
        not_run("testbed", str(error))
    try:
        prepare(made.api)
        yield made
    finally:
        context.__exit__(None, None, None)


@pytest.mark.parametrize("seed", SEEDS)
def test_promised_pods_run_where_kube_scheduler_binds(plane: ControlPlane, seed: int) -> None:
    """Each pod that a plan promised a node is bound once the nodes have come, and none was promised a second one."""
    with told_story(plane, seed) as (story, told):
        assert told.broken == []
        assert story.scale_ups
        assert told.promises


def test_a_broken_rule_is_seen(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods of DaemonSets that request more than their templates take the room of one that was promised it."""
    monkeypatch.setattr(daemon_pods, "_seen", lambda _: {})
    monkeypatch.setattr(scale_up_story, "PATIENCE_SECONDS", 2)
    with told_story(plane, SEED_OF_DAEMONS) as (_, told):
        assert any("(does not run)" in what for what in told.broken)
