"""One process for many workload clusters: its memory and processor time, measured with `make bench-live`.

The management cluster is a real API server with the objects of Cluster API. The workload clusters are served by a process of
their own (`tests.testbed.stub_clusters`): 50 nodes and 750 bound pods each, lists and watches over TLS.
"""

import argparse
import base64
import os
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.benchmarks.live import fill, objects
from tests.benchmarks.live.bench import Figure
from tests.live.reconciler_process import Reconciler, user
from tests.testbed import cluster_documents as documents
from tests.testbed.api import Api, Object, collection
from tests.testbed.connections import Connections
from tests.testbed.control_plane import MASTERS, ControlPlane, running_control_plane
from tests.testbed.progress import step
from tests.testbed.stub_clusters import Faults, StubCluster, StubClusters

NODES, PODS, PERIOD_SECONDS = 50, 750, 10
_HOME = "fleet-home"
_TOKEN = "token"
_AUTOSCALER_MIB = 61
"""An idle Cluster Autoscaler. SOURCE: measured by `tests/benchmarks/live/comparison.py`."""
_SLOWED_BOUND_PERCENT = 10
_MEMORY_BOUND_MIB, _CORE_BOUND, _ASKED_CLUSTERS = 600, 0.5, 100
_REQUESTS_BOUND, _AGAIN_BOUND_SECONDS = 0.2, 30
POLICY = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: fleet}
spec:
  mode: Enforce
  adoptFrom: [testbed]
  discovery: [{name: all, clusterAPI: {}}]
"""


def main(arguments: list[str]) -> int:
    """Measure and print; 1: a figure is above its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--instances", type=int, default=1, help="processes that share the clusters; one of several is killed")
    parser.add_argument("--seconds", type=int, default=120, help="how long the steady loops are watched")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory, running_control_plane() as plane:
        if given.instances > 1:
            figures = shared(plane, Path(directory), given.clusters, given.seconds, given.instances)
        else:
            figures = measured(plane, Path(directory), given.clusters, given.seconds)
    for figure in figures:
        print(figure.line(1.0))
    return 1 if any(figure.missed for figure in figures) else 0


def measured(plane: ControlPlane, directory: Path, count: int, seconds: int) -> list[Figure]:
    """The figures of `count` clusters."""
    names = [f"cluster-{number:03d}" for number in range(count)]
    policies = _policies(directory)
    with _filled(plane, directory, names) as stub:
        scope = ("--fleet", f"--namespace={_HOME}", f"--period={PERIOD_SECONDS}")
        began = time.monotonic()
        with Reconciler(user(plane, "bench-fleet"), policies, *scope, environment={"POD_NAME": "bench"}) as running:
            while decided(running) < count:
                time.sleep(1)
                if time.monotonic() - began > 600:
                    raise TimeoutError(f"{decided(running)} of {count} clusters were decided: {running.lines[-5:]}")
            first = time.monotonic() - began
            time.sleep(2 * PERIOD_SECONDS)
            turns, cpu, at = turns_of(running), running.processor_seconds(), time.monotonic()
            time.sleep(seconds)
            passed = time.monotonic() - at
            cores = (running.processor_seconds() - cpu) / passed
            done = [after - turns.get(name, 0) for name, after in turns_of(running).items()]
            slowed = slowed_by_one(running, stub, names, seconds, passed / statistics.median(done)) if count > 1 else 0.0
            threads = len(list(Path(f"/proc/{running.pid}/task").iterdir()))
            memory = running.peak_kib() / 1024
    print(f"{count} clusters of {NODES} nodes and {PODS} pods; {threads} threads; {min(done)} to {max(done)} turns each")
    period = passed / statistics.median(done)
    asked = count == _ASKED_CLUSTERS
    return [
        Figure(name="all clusters decided once", value=first),
        Figure(name="median period", value=period, bound=1.1 * PERIOD_SECONDS),
        Figure(name="longer beside one byte per second", value=slowed, bound=_SLOWED_BOUND_PERCENT, unit="%"),
        Figure(
            name=f"peak memory (VmHWM), {count} clusters", value=memory, bound=_MEMORY_BOUND_MIB if asked else None, unit="MiB"
        ),
        Figure(name=f"cores, {count} clusters", value=1000 * cores, bound=1000 * _CORE_BOUND if asked else None, unit="milli"),
        Figure(name=f"{count} idle Cluster Autoscalers", value=float(_AUTOSCALER_MIB * count), unit="MiB"),
    ]


def shared(plane: ControlPlane, directory: Path, count: int, seconds: int, instances: int) -> list[Figure]:
    """The figures of `count` clusters that several instances share, the last of which is killed at the end."""
    names = [f"cluster-{number:03d}" for number in range(count)]
    policies = _policies(directory)
    scope = ("--fleet", f"--namespace={_HOME}", f"--period={PERIOD_SECONDS}")
    users = [f"bench-fleet-{number}" for number in range(instances)]
    with _filled(plane, directory, names), ExitStack() as stack:
        running = [
            stack.enter_context(Reconciler(user(plane, name), policies, *scope, environment={"POD_NAME": name})) for name in users
        ]
        began = time.monotonic()
        _decided_again(running, [{} for _ in running], count, 900)
        print(f"{count} clusters decided by {instances} instances after {time.monotonic() - began:.0f} s")
        time.sleep(6 * PERIOD_SECONDS)
        cpu, asked, at = [one.processor_seconds() for one in running], _asked(plane, users), time.monotonic()
        time.sleep(seconds)
        passed = time.monotonic() - at
        cores = [(one.processor_seconds() - before) / passed for one, before in zip(running, cpu, strict=True)]
        requests = _asked(plane, users) - asked
        memory = [one.peak_kib() / 1024 for one in running]
        print("requests to the management cluster: " + ", ".join(f"{what} {times}" for what, times in requests.most_common(12)))
        *survivors, victim = running
        before, killed = [turns_of(one) for one in survivors], time.monotonic()
        victim.signal(signal.SIGKILL)
        _decided_again(survivors, before, count, 300)
        again = time.monotonic() - killed
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"load average {load}; memory {memory} MiB; cores {cores}")
    per_second = 1000 * requests.total() / passed / count
    return [
        Figure(name=f"peak memory (VmHWM), largest of {instances}", value=max(memory), bound=_MEMORY_BOUND_MIB, unit="MiB"),
        Figure(name=f"cores, busiest of {instances}", value=1000 * max(cores), bound=1000 * _CORE_BOUND, unit="milli"),
        Figure(name="requests per cluster", value=per_second, bound=1000 * _REQUESTS_BOUND, unit="mHz"),
        Figure(name="decided again after a kill", value=again, bound=_AGAIN_BOUND_SECONDS),
    ]


def _decided_again(running: list[Reconciler], before: list[dict[str, int]], count: int, patience_seconds: float) -> None:
    """Wait until each cluster was decided by some instance since it had made these turns."""
    deadline = time.monotonic() + patience_seconds
    while True:
        done = {
            name
            for one, turns in zip(running, before, strict=True)
            for name, made in turns_of(one).items()
            if made > turns.get(name, 0)
        }
        if len(done) >= count:
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(done)} of {count} clusters were decided: {running[0].lines[-5:]}")
        time.sleep(0.5)


def _asked(plane: ControlPlane, users: list[str]) -> Counter[str]:
    """The requests of these users until now, by what they are."""
    found = (one for name in users for one in plane.audit(name, mutating=False))
    return Counter(f"{one.verb} {one.resource}" for one in found)


def _policies(directory: Path) -> Path:
    policies = directory / "policies"
    policies.mkdir()
    (policies / "fleet.yaml").write_text(POLICY)
    return policies


@contextmanager
def _filled(plane: ControlPlane, directory: Path, names: list[str]) -> Iterator[StubClusters]:
    content = workload()
    (directory / "stub").mkdir()
    with StubClusters(directory / "stub", [StubCluster(name=name, objects=content) for name in names]) as stub:
        with step(f"{len(names)} clusters on the management cluster"):
            fill_management(plane, names, stub)
        yield stub


def slowed_by_one(running: Reconciler, stub: StubClusters, names: list[str], seconds: int, before: float) -> float:
    """By how many percent the median period of all others is longer while one cluster sends one byte per second."""
    stub.set_faults(names[0], Faults(drip=True))
    time.sleep(PERIOD_SECONDS)
    turns, at = turns_of(running), time.monotonic()
    time.sleep(seconds)
    passed, after = time.monotonic() - at, turns_of(running)
    others = [after[name] - turns[name] for name in turns if not name.startswith(f"{names[0]}/")]
    return 100 * (passed / statistics.median(others) / before - 1)


def decided(running: Reconciler) -> int:
    """How many loops have decided."""
    return sum(count > 0 for count in turns_of(running).values())


def turns_of(running: Reconciler) -> dict[str, int]:
    """Turns that decided, by cluster."""
    found: dict[str, int] = {}
    for line in running.page("/metrics")[1].splitlines():
        if line.startswith("reconciler_turns_total{") and 'result="Decided"' in line:
            found[line.partition('cluster="')[2].partition('"')[0]] = int(float(line.rpartition(" ")[2]))
    return found


def workload() -> dict[str, list[Object]]:
    """The objects of one workload cluster."""
    nodes = objects.nodes(NODES)
    for item in nodes:
        item["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T10:00:00Z"}]
    controllers = objects.controllers(PODS)
    for number, item in enumerate(controllers):
        item["metadata"]["uid"] = f"rc-{number}"
    pods = objects.bound_pods(controllers, PODS, NODES)
    for number, item in enumerate(pods):
        item["metadata"] |= {"uid": f"pod-{number}", "creationTimestamp": "2026-11-21T10:00:00Z"}
        item["status"] = {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}]}
    for number, item in enumerate([*nodes, *controllers]):
        item["metadata"] |= {"creationTimestamp": "2026-11-21T10:00:00Z", "resourceVersion": str(number + 1)}
    namespaces = [documents.namespace(name) for name in ("default", objects.NAMESPACE)]
    return {
        "/api/v1/nodes": nodes, "/api/v1/pods": pods, "/api/v1/replicationcontrollers": controllers,
        "/api/v1/namespaces": namespaces,
    }  # fmt: skip


def fill_management(plane: ControlPlane, names: list[str], stub: StubClusters) -> None:
    """Definitions without controllers, and the Cluster, groups and machines of each workload cluster, with its Secret."""
    api = Api(plane.kubeconfig_of("kwok", MASTERS))
    fill.create(api, fill.definitions_alone())
    api.create(documents.namespace(_HOME), *(documents.namespace(name) for name in names))
    groups = objects.groups(NODES)
    for path in sorted({collection(item) for item in groups}):
        fill.until_served(api, path)
    with Connections(api) as connections:
        connections.create(_in(item, name) for name in names for item in (*groups, secret(name, stub)))
    made = {name: list(api.items(f"/apis/{documents.CORE}/namespaces/{name}/machinedeployments")) for name in names}
    sets = {name: [_in(item, name) for item in objects.machine_sets(made[name])] for name in names}
    with Connections(api) as connections:
        connections.create(item for name in names for item in sets[name])
    for name in names:
        sets[name] = list(api.items(f"/apis/{documents.CORE}/namespaces/{name}/machinesets"))
    with Connections(api) as connections:
        connections.create(_in(item, name) for name in names for item in objects.machines(sets[name], NODES))
        connections.send(
            fill.Request(
                "PATCH", f"/apis/{documents.CORE}/namespaces/{name}/machines/{item['metadata']['name']}/status",
                {"status": item["status"]},
            )
            for name in names for item in objects.machines(sets[name], NODES)
        )  # fmt: skip


def secret(name: str, stub: StubClusters) -> Object:
    """The kubeconfig Secret of a cluster."""
    return {
        "apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
        "metadata": {"name": f"{objects.CLUSTER}-kubeconfig", "namespace": name},
        "data": {"value": base64.b64encode(stub.kubeconfig(name, _TOKEN)).decode()},
    }  # fmt: skip


def _in(item: Object, namespace: str) -> Object:
    return item | {"metadata": item["metadata"] | {"namespace": namespace}}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
