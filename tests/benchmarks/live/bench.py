"""The live loop on a real control plane: `python -m tests.benchmarks.live.bench` (`make bench-live`).

Makes the cluster (that is not measured), starts the loop in a fresh process, and prints the first sync, a steady loop with
and without changes, the peak of its memory, and the list calls that the API server counted while nothing happened. Figures
are seconds on the clock and of the processor, beside the load of the machine, since both share it with the API server. Exit
code 1: a bound was missed.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import IO

import msgspec

from tests.benchmarks.live import objects
from tests.benchmarks.live.probe import Event
from tests.benchmarks.yardstick import yardstick_seconds
from tests.live.rights import GROUP, grant
from tests.testbed import progress
from tests.testbed.api import Api, Object, collection
from tests.testbed.connections import Connections, Request
from tests.testbed.control_plane import MASTERS, ControlPlane, running_control_plane
from tests.testbed.manifests import served_manifests
from tests.testbed.progress import step
from tests.testbed.stand_in.kinds import definitions
from tests.testbed.toolchain import NotAvailableError

_USER = "reconciler-bench"
_TURNS = 7
_CHANGED_PODS = 20
_SETTLE_SECONDS = 1800
_SYNC_BOUND_SECONDS, _LOOP_BOUND_SECONDS, _PEAK_BOUND_MIB = 10.0, 1.0, 400.0


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="bench-live", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--nodes", type=int, default=2_000)
    parser.add_argument("--pods", type=int, default=30_000, help="pods on nodes")
    parser.add_argument("--pending", type=int, default=50, help="pods that wait")
    options = parser.parse_args(arguments)
    progress.write_to(sys.stderr)
    try:
        with running_control_plane() as plane:
            with step(f"{options.nodes:,} nodes, {options.pods:,} pods"):
                names = fill(plane, options.nodes, options.pods, options.pending)
            return 1 if measured(plane, names) else 0
    except NotAvailableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def fill(plane: ControlPlane, nodes: int, pods: int, pending: int) -> list[str]:
    """Make everything and wait until kwok has made the nodes Ready and the pods Running; the names of these pods."""
    # The audit log leaves this user out: the bodies of all these objects are of no use there.
    api = Api(plane.kubeconfig_of("kwok", MASTERS))
    with Connections(api) as connections:
        connections.create(_definitions())
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": objects.NAMESPACE}})
        account = f"/api/v1/namespaces/{objects.NAMESPACE}/serviceaccounts"
        api.wait(account, lambda found: any(item["metadata"]["name"] == "default" for item in found), "the service account")
        deployments = [item for item in _created(api, objects.groups(nodes)) if item["kind"] == "MachineDeployment"]
        sets = api.create(*objects.machine_sets(deployments))
        connections.create(objects.nodes(nodes))
        machines = objects.machines(sets, nodes)
        connections.create(machines)
        connections.send(
            Request("PATCH", f"{collection(item)}/{item['metadata']['name']}/status", {"status": item["status"]})
            for item in machines
        )
        owners = [_with_kind(api, item) for item in objects.controllers(pods)]
        connections.create(objects.budgets(owners))
        bound = objects.bound_pods(owners, pods, nodes)
        connections.create(bound)
        connections.create(objects.pending_pods(pending))
    usable = lambda found: all(_usable(node) for node in found)  # noqa: E731
    api.wait("/api/v1/nodes", usable, "all nodes being ready", _SETTLE_SECONDS)
    unstarted = "/api/v1/pods?limit=1&fieldSelector=status.phase=Pending,spec.nodeName!="
    api.wait(unstarted, lambda found: not found, "all pods running", _SETTLE_SECONDS)
    return [pod["metadata"]["name"] for pod in bound]


def measured(plane: ControlPlane, pods: list[str]) -> list[str]:
    """Print the figures; the names of those that miss their bound. `pods` are those that may be changed."""
    grant(plane)
    kubeconfig = plane.kubeconfig_of(_USER, GROUP)
    print(f"yardstick {yardstick_seconds():.3f} s, {_load()}")
    command = [sys.executable, "-m", "tests.benchmarks.live.probe", str(kubeconfig), objects.NAMESPACE, *objects.group_names()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        probe = _Conversation(process)
        sync = probe.hear()
        _print("first sync", [sync], _SYNC_BOUND_SECONDS)
        first = probe.ask("turn")
        _print("first loop", [first], None)
        before = _lists(plane)
        idle = [probe.ask("turn") for _ in range(_TURNS)]
        lists = _lists(plane) - before
        _print("steady loop, nothing changed", idle, _LOOP_BOUND_SECONDS)
        changed = []
        for round_number in range(_TURNS):
            _touch(plane, pods[round_number :: len(pods) // _CHANGED_PODS][:_CHANGED_PODS], round_number)
            changed.append(probe.ask("changed"))
        _print(f"steady loop, {_CHANGED_PODS} pods changed", changed, _LOOP_BOUND_SECONDS)
        peak_mib = changed[-1].peak_kib / 1024
        probe.end()
    figures = {
        "first sync": (sync.seconds, _SYNC_BOUND_SECONDS),
        "steady loop, nothing changed": (_median(idle), _LOOP_BOUND_SECONDS),
        "steady loop, pods changed": (_median(changed), _LOOP_BOUND_SECONDS),
        "peak memory": (peak_mib, _PEAK_BOUND_MIB),
        "list calls while idle": (lists, 0),
    }
    synced = f"{sync.peak_kib / 1024:.0f} once synced"
    print(f"{'peak memory (VmHWM)':34} {peak_mib:7.0f} MiB, {synced}   asked {_PEAK_BOUND_MIB:g} MiB")
    print(f"{'list calls while idle':34} {lists:7d}   asked 0; by the audit log, over {_TURNS} loops")
    print(f"{sync.nodes:,} nodes, {sync.pods:,} pods, {changed[-1].pods:,} of them pending: {changed[-1].summary}")
    print(_load())
    missed = [name for name, (value, bound) in figures.items() if value > bound]
    print(f"missed: {', '.join(missed)}" if missed else "every figure is within its bound")
    return missed


class _Conversation:
    """One word to the process, one line back."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._in: IO[str] = _there(process.stdin)
        self._out: IO[str] = _there(process.stdout)

    def hear(self) -> Event:
        line = self._out.readline()
        if not line:
            raise RuntimeError("the measured process ended; its error is above")
        return msgspec.json.decode(line, type=Event)

    def ask(self, word: str) -> Event:
        self._in.write(f"{word}\n")
        self._in.flush()
        return self.hear()

    def end(self) -> None:
        self._in.write("end\n")
        self._in.flush()


def _there(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise RuntimeError("no pipe")
    return pipe


def _definitions() -> list[Object]:
    """Cluster API's definitions without its webhooks: nobody acts on its objects here, so that they stay as they are made."""
    found = [item for item in served_manifests("https://127.0.0.1:1", "") if item["kind"] == "CustomResourceDefinition"]
    for item in found:
        item["spec"]["conversion"] = {"strategy": "None"}
    return [*found, *definitions()]


def _created(api: Api, items: list[Object]) -> list[Object]:
    """The definitions are served a moment after they were created."""
    kinds = sorted({collection(item) for item in items})
    for path in kinds:
        _until_served(api, path)
    return api.create(*items)


def _until_served(api: Api, path: str) -> None:
    group, _, _ = path.partition("/namespaces/")
    plural = path.rpartition("/")[2]
    deadline = time.monotonic() + 60
    while not any(item["name"] == plural for item in _resources(api, group)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} is not served")
        time.sleep(0.1)


def _resources(api: Api, group: str) -> list[Object]:
    found: list[Object] = api.get(group)["resources"]
    return found


def _with_kind(api: Api, item: Object) -> Object:
    made: Object = api.call("POST", f"/api/v1/namespaces/{objects.NAMESPACE}/replicationcontrollers", item)
    return item | {"metadata": made["metadata"]}


def _usable(node: Object) -> bool:
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"].get("conditions") or ())
    return ready and not node["spec"].get("taints")


def _touch(plane: ControlPlane, pods: list[str], round_number: int) -> None:
    """Another label on some pods, so that they are of a shape of their own."""
    api = Api(plane.kubeconfig_of("kwok", MASTERS))
    with Connections(api) as connections:
        connections.send(
            Request(
                "PATCH",
                f"/api/v1/namespaces/{objects.NAMESPACE}/pods/{name}",
                {"metadata": {"labels": {"round": str(round_number)}}},
            )
            for name in pods
        )


def _lists(plane: ControlPlane) -> int:
    return sum(1 for request in plane.audit(_USER, mutating=False) if request.verb == "list")


def _median(events: list[Event]) -> float:
    return statistics.median(event.seconds for event in events)


def _print(name: str, events: list[Event], bound_seconds: float | None) -> None:
    seconds, cpu = _median(events), statistics.median(event.cpu_seconds for event in events)
    asked = "" if bound_seconds is None else f"   asked {bound_seconds:g} s"
    worst = f", slowest {max(event.seconds for event in events):.3f} s" if len(events) > 1 else ""
    print(f"{name:34} {seconds:7.3f} s, processor {cpu:7.3f} s{worst}{asked}   {_load()}", flush=True)


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


if __name__ == "__main__":
    sys.exit(main())
