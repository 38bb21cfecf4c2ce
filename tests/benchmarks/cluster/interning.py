"""From decoded pods to a placement: interning into shapes, the state, and 1,000 new nodes. Decoding is left out."""

import json
from collections.abc import Iterator

import msgspec

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.snapshots.pod_rows import PodRows
from reconciler.cluster.values.release import release_of
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.wire import pod as wire
from reconciler.cluster.world import World
from reconciler.scheduling.state import SchedulingState
from tests.benchmarks.measure import Case

PODS, NODES = 50_000, 1_000
_SIZE = Resources(cpu_milli=10_000, memory_bytes=10_000, pods=110)


def cases() -> Iterator[Case]:
    """50,000 pods without an owner, each with its own name, uid and times."""
    decoder = msgspec.json.Decoder(wire.Pod)
    pods = [decoder.decode(_text(number)) for number in range(PODS)]

    def run() -> int:
        rows = PodRows()
        for number, pod in enumerate(pods):
            rows.add(pod, number)
        read = rows.table({}, {}, (), release_of(None))
        state = SchedulingState(World(captured_seconds=0, pods=read.table, pod_shapes=read.shapes, pod_traits=read.traits))
        shape = NodeShape(capacity=_SIZE, allocatable=_SIZE)
        for number in range(NODES):
            state.add_node(f"new-{number}", shape)
        placed = sum(many for number in range(len(read.shapes)) for _, many in state.place(number, PODS))
        if placed != PODS:
            raise RuntimeError(f"{placed} of {PODS} pods were placed")
        return placed

    yield Case("intern and place 50,000 ownerless pods", run, bound_seconds=0.4)


def _text(number: int) -> bytes:
    return json.dumps(
        {
            "metadata": {
                "name": f"pod-{number:05d}",
                "namespace": "bench",
                "uid": f"00000000-0000-0000-0000-{number:012d}",
                "creationTimestamp": f"2026-11-21T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z",
                "labels": {"app": "bench"},
            },
            "spec": {
                "containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "200m", "memory": "200"}}}],
                "schedulerName": "default-scheduler",
                "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
            },
            "status": {
                "phase": "Pending",
                "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
            },
        }
    ).encode()
