"""The live loop in a process of its own, for `make bench-live`: it says one line of JSON an event and takes words on stdin.

`turn`: one loop. `changed`: the same, once something has changed since the last one. `end`. Imports only what the product's
own process imports, since the peak of its memory is one of the figures.
"""

import gc
import sys
import threading
import time
from pathlib import Path

import msgspec

from reconciler.control.live.live_port import LivePort
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.kube.connection.transport import connect
from reconciler.kube.drain import NodeDrain
from reconciler.kube.watching.live_world import LiveWorld
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.platforms.clusterapi.writing.api_version import ClusterApiVersion
from reconciler.platforms.clusterapi.writing.provider import ClusterApiProvider
from reconciler.policy.documents import Mode, NodeGroup, NodeGroupPolicy, PolicySet, Size, TargetSpec
from reconciler.policy.place import Place

_PATIENCE_SECONDS = 600
_OWNER, _PLACE = "bench", Place("policies/bench.yaml", 1, 1)


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What took so long, on the clock and of the processor (all threads); `peak_kib` is the process's VmHWM until now. `lists`
    counts list calls since the start."""

    what: str
    seconds: float
    cpu_seconds: float
    peak_kib: int
    lists: int
    nodes: int = 0
    pods: int = 0
    summary: str = ""


class _Policy:
    def __init__(self, names: list[str], namespace: str) -> None:
        groups = tuple(
            NodeGroup(
                name=name,
                policy_ref=_OWNER,
                target=TargetSpec(provider="clusterAPI", kind="MachineDeployment", namespace=namespace, name=name),
                size=Size(min=0, max=1000),
                place=_PLACE,
            )
            for name in names
        )
        document = NodeGroupPolicy(name=_OWNER, mode=Mode.OBSERVE, adopt_from=("kwok",), place=_PLACE)
        self._set = PolicySet(policy=document, groups=groups, digest="sha256:bench")

    def current(self) -> PolicySet:
        return self._set


class _Probe:
    def __init__(self, kubeconfig: Path, namespace: str, names: list[str]) -> None:
        api = connect(kubeconfig)
        clock = lambda: int(time.time())  # noqa: E731
        self._changed = threading.Event()
        self.view = LiveWorld(api, now_seconds=clock, on_change=self._changed.set)
        version, policy = ClusterApiVersion(), _Policy(names, namespace)
        providers = {MACHINE_DEPLOYMENT: ClusterApiProvider(api, version, _OWNER)}
        port = LivePort(self.view, clock, policy, providers, NodeDrain(api, _OWNER, clock), _OWNER)
        self._loop = ControlLoop(port, policy, InMemoryStore())

    def sync(self) -> None:
        """From nothing to a view to trust, and the World of it; then what is there is taken from the garbage collector's
        sight, as it stays."""
        began = _Began()
        self.view.start()
        if not self.view.wait(_PATIENCE_SECONDS):
            raise TimeoutError("; ".join(self.view.doubts()))
        world = self.view.observe()
        self._say("sync", began, nodes=len(world.nodes), pods=len(world.pods))
        gc.collect()
        gc.freeze()

    def turn(self, what: str) -> None:
        if what == "changed" and not self._changed.wait(_PATIENCE_SECONDS):
            raise TimeoutError("nothing has changed")
        self._changed.clear()
        began = _Began()
        report = self._loop.turn()
        plan = report.plan
        if plan is None:
            raise RuntimeError(report.unavailable)
        self._say(what, began, nodes=len(plan.nodes), pods=len(plan.pods), summary=plan.summary)

    def _say(self, what: str, began: "_Began", *, nodes: int, pods: int, summary: str = "") -> None:
        event = Event(
            what=what,
            seconds=time.perf_counter() - began.seconds,
            cpu_seconds=time.process_time() - began.cpu_seconds,
            peak_kib=_peak_kib(),
            lists=sum(state.list_calls for state in self.view.freshness()),
            nodes=nodes,
            pods=pods,
            summary=summary,
        )
        sys.stdout.write(msgspec.json.encode(event).decode() + "\n")
        sys.stdout.flush()


class _Began:
    def __init__(self) -> None:
        self.seconds, self.cpu_seconds = time.perf_counter(), time.process_time()


def _peak_kib() -> int:
    """VmHWM belongs to the memory of this program alone, while `ru_maxrss` begins with the peak of who started it."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1])


def main(arguments: list[str]) -> None:
    """Kubeconfig, namespace, names of the groups."""
    probe = _Probe(Path(arguments[0]), arguments[1], arguments[2:])
    probe.sync()
    for line in sys.stdin:
        if line.strip() == "end":
            break
        probe.turn(line.strip())
    probe.view.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
