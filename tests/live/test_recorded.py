"""What `run --record` keeps of a real cluster, and what its audit log says of the same pods."""

from collections import Counter
from pathlib import Path

from reconciler.importers.demand.audit_log import read_audit_log
from reconciler.simulation.replays.recording import read_recording
from reconciler.simulation.replays.trace import Trace
from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import all_bound, group, pods
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster


def wanted_at_the_end(trace: Trace, namespace: str) -> Counter[int]:
    """How many pods of a namespace request so many milli CPU."""
    wanted = dict.fromkeys(range(len(trace.sources)), 0)
    for step in trace.steps:
        wanted.update(step.changes)
    found: Counter[int] = Counter()
    for index, source in enumerate(trace.sources):
        if source.shape.namespace == namespace:
            found[source.shape.requests.cpu_milli] += wanted[index]
    return +found


def test_a_recording_has_the_pods_and_failures_of_a_real_cluster(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """Machines of the first tier fail, so the second one serves two large pods and a small one. The recording has these pods, the
    failure and the price. The audit log of the API server has the same pods."""
    cluster = new_cluster()
    group(cluster, "h100", failure="OutOfStock")
    group(cluster, "general")
    pods(cluster, "large", 2, "3")
    pods(cluster, "small", 1, "500m")
    tiers, sizes = {"h100": "reserved", "general": "on-demand"}, {"h100": (0, 5), "general": (0, 5)}
    file, demand = tmp_path / "policy.yaml", tmp_path / "demand"
    text = policy_text("prod", cluster.namespace, sizes, tiers=tiers)
    file.write_text(text.replace("tier: on-demand", 'tier: on-demand\n  pricePerHour: "0.40"'))
    words = (f"--namespace={cluster.namespace}", f"--record={demand}")
    with Reconciler(user(control_plane, "run-records"), file, *words) as process:
        process.said("Resize", 2)
        all_bound(cluster, 3)
        process.plan(lambda plan: all(line["outcome"] == "FitsExisting" for line in plan["pods"]) and not plan["actions"])
    trace = read_recording("demand", [(day.name, day.read_bytes()) for day in sorted(demand.iterdir())])
    assert wanted_at_the_end(trace, cluster.namespace) == {3000: 2, 500: 1}
    assert "h100" in [name for name, _ in trace.shortages]
    assert ("general", 400_000) in trace.prices_micros
    audited = read_audit_log("audit", enumerate(control_plane.audit_lines(), 1))
    assert wanted_at_the_end(audited.trace, cluster.namespace) == {3000: 2, 500: 1}
