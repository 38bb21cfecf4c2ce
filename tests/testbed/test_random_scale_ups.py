"""A few of the scale-ups that `random_scale_ups` carries out, on a control plane that has nothing else.

The nodes of other tests would take pods.
"""

from collections.abc import Iterator

import pytest

from reconciler.cluster.snapshots import daemon_pods
from tests.properties.node_facts import Amount, Pod, Workload
from tests.testbed import scale_up_story
from tests.testbed.control_plane import ControlPlane, running_control_plane
from tests.testbed.facts_cluster import prepare
from tests.testbed.missing import not_run
from tests.testbed.scale_up_story import lost, told_story
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


def test_a_promise_is_kept_by_an_equal_pod() -> None:
    """Two pods of `a` are wanted, and the third runs instead of one of them; `b` has no other pod."""
    works = {name: Workload(name, Amount(100, 100)) for name in "ab"}
    waiting = [Pod(name, works[name[0]]) for name in ("a-1", "a-2", "a-3", "b-1")]
    wanted = {pod.name: pod for pod in waiting if pod.name != "a-3"}
    assert lost(wanted, waiting, {"a-1", "a-3"}) == ["b-1"]
    assert lost(wanted, waiting, {"a-3", "b-1"}) == ["a-1"]


def test_a_broken_rule_is_seen(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods of DaemonSets that request more than their templates take the room of one that was promised it."""
    monkeypatch.setattr(daemon_pods, "_seen", lambda _: {})
    monkeypatch.setattr(scale_up_story, "PATIENCE_SECONDS", 2)
    with told_story(plane, SEED_OF_DAEMONS) as (_, told):
        assert any("does not run" in what for what in told.broken)
