"""Our placement and kube-scheduler's, step by step: both always face the same pods on the same nodes.

Each step asks our core first, lets kube-scheduler decide about the same pods, and then takes over where it put them, so that
the next step starts from one state again. Steps come in the order in which demand is served.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

import msgspec

from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import World
from reconciler.decisions.demand.pending import pending_demand
from reconciler.decisions.situation.waiting_pods import waiting_pods
from reconciler.policy.documents import PodRules
from reconciler.scheduling.state import SchedulingState
from tests.testbed.api import Object
from tests.testbed.capture import captured
from tests.testbed.connections import Connections, Request
from tests.testbed.control_plane import ControlPlane
from tests.testbed.crowd import Crowd
from tests.testbed.overlooked import until_seen_to
from tests.testbed.scheduled import REFUSED, Scheduled


class Step(NamedTuple):
    """One step: the pods, how many of them we predicted to fit, where kube-scheduler bound them (pods that it left pending
    are not in it), the pods that it bound where our verdict was no, and plugins that alone kept a pod left pending off a
    node, by our verdict."""

    pods: tuple[str, ...]
    predicted: int
    bound: dict[str, str]
    against_us: tuple[str, ...]
    decisive: frozenset[str]


class Lockstep:
    """A World in which all pods of the crowd are pending, our state of it, and the real cluster, where they come step by
    step."""

    def __init__(self, plane: ControlPlane, connections: Connections, namespace: str, pods: list[Object]) -> None:
        self._connections = connections
        self._namespace = namespace
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._pods = {pod["metadata"]["name"]: pod for pod in pods}
        self._world = _with_pending(captured(plane.api), pods)
        self._state = SchedulingState(self._world)
        self._index = {self._state.name(node): node for node in range(self._state.node_count)}
        self._scheduled = Scheduled(plane.api, namespace)
        self._removed: set[str] = set()

    def close(self) -> None:
        """Stop watching."""
        self._scheduled.close()

    def kinds(self) -> Iterator[tuple[int, list[str]]]:
        """(shape, names of the pods) in the order in which we serve them."""
        world = self._world
        for demand in pending_demand(world, waiting_pods(world), self._state, PodRules(), world.captured_seconds).demands:
            if world.pod_shapes[demand.shape].namespace == self._namespace:
                yield demand.shape, [world.pods.name[pod] for pod in demand.pods]

    def shape(self, shape: int) -> PodShape:
        """A pod shape of the World."""
        return self._state.pod_shape(shape)

    def predicted(self, shape: int, count: int) -> int:
        """How many of `count` pods our placement finds room for now."""
        mark = self._state.mark()
        placed = sum(many for _, many in self._state.place(shape, count))
        self._state.undo(mark)
        return placed

    def step(self, shape: int, names: list[str]) -> Step:
        """Predict, create these pods of one shape, wait for the decisions, take over what was decided."""
        state = self._state
        predicted = self.predicted(shape, len(names))
        self._connections.create(self._pods[name] for name in names)
        decisions = self._scheduled.wait(names)
        against_us = []
        bound = {name: node for name, node in decisions.items() if node != REFUSED}
        for name, node in bound.items():
            if not state.fits(shape, self._index[node]):
                against_us.append(name)
            state.bind(shape, self._index[node])
        left = len(bound) < len(names)
        decisive = {said[0] for said in state.rejecting_plugins(shape) if len(said) == 1} if left else ()
        return Step(tuple(names), predicted, bound, tuple(against_us), frozenset(decisive))

    def remove(self, names: Collection[str]) -> None:
        """Delete pods, so that kube-scheduler does not try them again."""
        self._connections.send(Request("DELETE", f"{self._path}/{name}", {"gracePeriodSeconds": 0}) for name in names)
        self._removed.update(names)

    def clear(self) -> None:
        """Delete all pods, first those that wait: kube-scheduler would give them the room of the others."""
        left = [name for name in self._scheduled.node if name not in self._removed]
        self.remove(sorted(left, key=lambda name: self._scheduled.node[name] != REFUSED))


@contextmanager
def lockstep(plane: ControlPlane, namespace: str, crowd: Crowd) -> Iterator[Lockstep]:
    """Create the nodes of the crowd; remove them and the pods in the end (the namespace goes when its controller finds time)."""
    api = plane.api
    pods = f"/api/v1/namespaces/{namespace}/pods"
    with Connections(api) as connections:
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        try:
            connections.create(crowd.nodes)
            api.wait(f"/api/v1/namespaces/{namespace}/serviceaccounts", bool, "the default service account")
            until_seen_to(api, "/api/v1/nodes", _usable(crowd), "all nodes being ready")
            with closing(Lockstep(plane, connections, namespace, crowd.pods)) as together:
                yield together
                together.clear()
                until_seen_to(api, pods, lambda left: not left, "deletion of the pods")
        finally:
            connections.send(Request("DELETE", f"/api/v1/nodes/{item['metadata']['name']}") for item in crowd.nodes)
            api.call("DELETE", f"/api/v1/namespaces/{namespace}")


def _usable(crowd: Crowd) -> Callable[[list[Object]], bool]:
    """Do the nodes have the taints that they should have, and no others, and are they ready?"""
    expected = {item["metadata"]["name"]: _taint_keys(item) for item in crowd.nodes}
    for item in crowd.nodes:
        if item["spec"].get("unschedulable"):
            expected[item["metadata"]["name"]].add("node.kubernetes.io/unschedulable")

    def holds(nodes: list[Object]) -> bool:
        seen = {item["metadata"]["name"]: _taint_keys(item) for item in nodes if _ready(item)}
        return all(seen.get(name) == keys for name, keys in expected.items())

    return holds


def _taint_keys(node: Object) -> set[str]:
    return {taint["key"] for taint in node["spec"].get("taints") or ()}


def _ready(node: Object) -> bool:
    return any(item["type"] == "Ready" and item["status"] == "True" for item in node["status"].get("conditions") or ())


def _with_pending(files: dict[str, bytes], pods: list[Object]) -> World:
    """The World that was captured, with these pods pending."""
    status = {"phase": "Pending"}
    items = [pod | {"metadata": pod["metadata"] | {"uid": pod["metadata"]["name"]}, "status": status} for pod in pods]
    wanted = {"apiVersion": "v1", "kind": "List", "items": items}
    return read_snapshot(files | {"wanted.json": msgspec.json.encode(wanted)})
