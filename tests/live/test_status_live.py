"""`reconciler status` on a held group: what the plan says of it, without asking the loop."""

from pathlib import Path

from tests.live.command_line import CommandLine
from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import group
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster


def test_a_person_who_scales_is_told_of_the_hold(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """`kubectl scale` holds for humanHoldTime: owner, evidence with the instant at which it ends, since when and what to do are
    in status and in an Event, metric and plan say the same; status does so once the loop is down."""
    cluster = new_cluster()
    item = group(cluster, "general")
    file = tmp_path / "policy.yaml"
    text = policy_text("prod", cluster.namespace, {"general": (0, 9)})
    file.write_text(text.replace("humanHoldTime: 0s", "humanHoldTime: 1h"))
    kubeconfig = user(control_plane, "run-status")
    path = f"{cluster.path('machinedeployments')}/{item['metadata']['name']}"
    with Reconciler(kubeconfig, file, f"--namespace={cluster.namespace}", "--period=1") as process:
        process.plan(lambda plan: not plan["groups"][0]["held"])
        cluster.api.call("PATCH", f"{path}/scale?fieldManager=kubectl", {"spec": {"replicas": 2}}, "application/merge-patch+json")
        plan = process.plan(lambda plan: plan["groups"][0]["held"])
        assert 'reconciler_group_held{group="general",owner="Held"} 1.0' in process.page("/metrics")[1]
        events = f"/apis/events.k8s.io/v1/namespaces/{cluster.namespace}/events"
        held = cluster.api.wait(events, lambda items: any(one["reason"] == "Held" for one in items), "the Event of the hold")
        notes = [one["note"] for one in held if one["reason"] == "Held"]
        assert any("a person's write holds for 1h, until" in note for note in notes), notes
        line = plan["groups"][0]
    document = CommandLine(control_plane.kubeconfig).json("status", f"--namespace={cluster.namespace}")
    told = document["groups"][0]
    assert (told["held"], told["owner"]["state"], told["owner"]["by"]) == (True, "Held", "kubectl")
    assert told["owner"]["evidence"] == line["owner"]["evidence"]
    assert told["heldSince"] != ""
    assert told["next"].startswith("nothing: after that it is decided here again")
    assert document["plan"]["summary"] == plan["summary"]
