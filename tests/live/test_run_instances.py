"""Several instances of `reconciler run` on a real control plane: one leads, and no write of a former leader counts."""

import signal
from pathlib import Path

from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import all_bound, group, lease_holder, pods, replicas
from tests.live.run_requests import changes
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster

QUICK = ("--lease-duration=3", "--period=1")


def test_a_leader_frozen_before_it_sends_changes_nothing_any_more(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """It may write, freezes, and its Lease runs out; another instance leads and writes. What the first one sends when it wakes
    is refused by the API server, since it carries the version that it had read; then it stands by."""
    cluster = new_cluster()
    item = group(cluster, "general")
    pods(cluster, "p", 2, "3")
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 9)}))
    options = (f"--namespace={cluster.namespace}", *QUICK)
    first = user(control_plane, "run-frozen")
    with Reconciler(first, file, *options, program="tests.live.frozen_before_send") as frozen:
        frozen.until_frozen()
        with Reconciler(user(control_plane, "run-successor"), file, *options) as successor:
            successor.said("Leading")
            all_bound(cluster, 2)
            pods(cluster, "more", 1, "3")
            all_bound(cluster, 3)
            before = cluster.api.read(item)["metadata"]["generation"]
            frozen.signal(signal.SIGCONT)
            frozen.said("StandingBy", 2)
            turns = successor.turns()
            successor.until_page("/metrics", lambda *_: successor.turns() >= turns + 2)
            assert cluster.api.read(item)["metadata"]["generation"] == before
            assert replicas(cluster, "general") == 3
            assert lease_holder(cluster, "prod") == successor.said("Started")["identity"]
    sent = [request for request in control_plane.audit("run-frozen") if request.resource == "machinedeployments"]
    # The server refuses the old version. Under load it may give up first: it waits for a request that began before the freeze.
    assert [request.code for request in sent] in ([409], [504])


def test_what_was_decided_before_another_one_led_is_neither_sent_nor_decided_again(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """It wants two nodes, and freezes. Meanwhile the policy allows one, another instance leads by it and gives the Lease back:
    the first one leads again before it could notice that it did not. Not one request of its old turn is sent, and it decides by
    the new policy."""
    cluster = new_cluster()
    group(cluster, "general")
    pods(cluster, "p", 2, "3")
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 9)}))
    options = (f"--namespace={cluster.namespace}", *QUICK)
    first = user(control_plane, "run-regained")
    with Reconciler(first, file, *options, program="tests.live.regained_before_check") as frozen:
        frozen.until_frozen()
        file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 1)}))
        with Reconciler(user(control_plane, "run-between"), file, *options) as between:
            between.plan(lambda plan: plan["groups"][0]["current"] == 1 and not plan["actions"])
            between.signal(signal.SIGTERM)
            assert between.ended() == 0
        frozen.signal(signal.SIGCONT)
        assert "this was decided before the lease was lost" in frozen.said("AdoptRefused")["message"]
        assert frozen.said("Leading", 2)["message"].startswith("this instance leads again")
        frozen.plan(lambda plan: plan["groups"][0]["max"] == 1)
        turns = frozen.turns()
        frozen.until_page("/metrics", lambda *_: frozen.turns() >= turns + 3)
    assert [line["message"] for line in frozen.lines if line["code"] == "StandingBy"][1:] == []
    assert [request for request in control_plane.audit("run-regained") if request.resource == "machinedeployments"] == []
    assert replicas(cluster, "general") == 1


def test_a_standby_takes_over_what_the_leader_gives_back(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """The one that stands by has a view, is ready, and has asked to change nothing; when the leader ends it goes on at once."""
    cluster = new_cluster()
    group(cluster, "general")
    pods(cluster, "p", 1, "3")
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 9)}))
    options = (f"--namespace={cluster.namespace}", *QUICK)
    with Reconciler(user(control_plane, "run-first"), file, *options) as leader:
        leader.said("Leading")
        with Reconciler(user(control_plane, "run-second"), file, *options) as standby:
            all_bound(cluster, 1)
            assert standby.until_page("/readyz", lambda status, _: status == 200)[1] == "ok: standing by\n"
            assert changes(control_plane, "run-second") == []
            leader.signal(signal.SIGTERM)
            assert leader.ended() == 0
            standby.said("Leading")
            pods(cluster, "more", 1, "3")
            all_bound(cluster, 2)
    assert replicas(cluster, "general") == 2
