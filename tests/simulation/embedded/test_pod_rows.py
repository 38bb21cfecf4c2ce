"""Tables that follow single changes against tables written anew from the same pods."""

import random

import pytest

from reconciler.cluster.nodes.node import Node
from reconciler.cluster.pods.pod import Pod, PodPhase
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.simulation.embedded.pod_object import NodeObject, PodObject
from reconciler.simulation.embedded.pod_rows import PodRows


def _row(pod: PodObject) -> Pod:
    return Pod(
        namespace=pod.namespace, name=pod.name, uid=pod.uid, shape=pod.shape, traits=pod.traits,
        node=-1 if pod.node is None else pod.node.index, phase=pod.phase, ready=pod.ready,
        created_seconds=pod.created, deletion_seconds=pod.deletion, unschedulable_seconds=pod.unschedulable,
        nominated=-1 if pod.nominated is None else pod.nominated.index, unknown_node=pod.unknown_node,
    )  # fmt: skip


class _Crowd:
    """Pods on nodes to which random things happen."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.nodes = [NodeObject(Node(name=f"n{number}", shape=0), None) for number in range(5)]
        for index, node in enumerate(self.nodes):
            node.index = index
        self.pods: dict[tuple[str, str], PodObject] = {}
        for number in sorted(self.rng.sample(range(1000), 200)):
            pod = self._pod(f"p{number:04d}")
            self.pods[pod.namespace, pod.name] = pod
        self.rows = PodRows(PodTable(map(_row, self.pods.values())), self.pods, in_order=True)

    def _pod(self, name: str) -> PodObject:
        pod = PodObject("shop", name, f"uid-{name}-{self.rng.random()}", self.rng.randrange(3), 0, self.rng.randrange(99))
        pod.node = self.rng.choice([None, *self.nodes])
        pod.unknown_node = "elsewhere" if self.rng.random() < 0.05 else ""
        return pod

    def happen(self) -> None:
        """Something to one pod."""
        rng = self.rng
        pod = rng.choice(list(self.pods.values()))
        match rng.randrange(4):
            case 0:
                del self.pods[pod.namespace, pod.name]
                self.rows.gone(pod)
                if rng.random() < 0.5:
                    self._join(pod.name)
            case 1:
                name = f"p{rng.randrange(1000):04d}"
                if ("shop", name) not in self.pods:
                    self._join(name)
            case 2:
                pod.node, pod.phase, pod.ready = rng.choice(self.nodes), PodPhase.RUNNING, True
                self.rows.changed(pod)
            case _:
                pod.deletion, pod.nominated, pod.unschedulable = rng.randrange(9), rng.choice(self.nodes), rng.randrange(9)
                self.rows.changed(pod)

    def _join(self, name: str) -> None:
        pod = self.pods["shop", name] = self._pod(name)
        self.rows.joined(pod)

    def lose_node(self) -> list[int]:
        """A node goes with its pods; what became of each index."""
        before = list(self.nodes)
        lost = self.nodes.pop(self.rng.randrange(len(self.nodes)))
        lost.index = -1
        for pod in [pod for pod in self.pods.values() if pod.node is lost]:
            del self.pods[pod.namespace, pod.name]
            self.rows.gone(pod)
        for index, node in enumerate(self.nodes):
            node.index = index
        return [*(node.index for node in before), -1]


@pytest.mark.parametrize("seed", range(20))
def test_rows_follow_what_happens(seed: int) -> None:
    crowd = _Crowd(seed)
    for turn in range(12):
        for _ in range(crowd.rng.choice((0, 1, 3, 60))):
            crowd.happen()
        moved = crowd.lose_node() if turn % 4 == 3 else None
        before = crowd.rows.table(None) if not crowd.rng.randrange(3) and moved is None else None
        kept = PodTable(list(before)) if before is not None else None
        if before is not None:
            crowd.happen()
        assert crowd.rows.table(moved) == PodTable(_row(crowd.pods[key]) for key in sorted(crowd.pods))
        assert before == kept, "a table that was handed out has changed"
