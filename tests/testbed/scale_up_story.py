"""Carries plans out on a real control plane: the nodes that the facts say come, and kube-scheduler binds."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import msgspec
import yaml

from reconciler.control.capture import Clusters, capture
from reconciler.kube.connection.transport import connect
from tests.properties.carried_out import Carried, Story, faults, places_taken
from tests.properties.node_facts import NOW, Group, Node, Pod
from tests.properties.node_manifests import KINDS, platform_files
from tests.testbed.control_plane import ControlPlane
from tests.testbed.facts_cluster import FactsCluster

# kube-scheduler waits at most ten seconds before it takes a pod again.
PATIENCE_SECONDS = 15


class ScaleUpStory(Story):
    """One cluster from its first plan on, as `Story`. `scale_ups` are the plans that added nodes. `late` are promises that were
    kept only when the pods came anew, the larger first, to nodes that were there. `displaced` are pods whose place was taken by
    others that the plan could not place, as nobody knew the zone of the node."""

    def __init__(self, plane: ControlPlane, seed: int) -> None:
        super().__init__(seed)
        self.now = max(NOW, int(time.time()))
        self.facts.agents = f"agents-{seed}"
        self.facts.daemons = [
            replace(daemon, namespace=self.facts.agents) if daemon.namespace == "agents" else daemon
            for daemon in self.facts.daemons
        ]
        # kwok deletes by name, and may be late.
        for pod in [*self.facts.waiting, *(pod for group in self.facts.groups for node in group.nodes for pod in node.pods)]:
            pod.name += f"-{seed}"
        self.cluster = FactsCluster(plane, self.facts)
        self._api = connect(plane.kubeconfig, environment={})
        self.scale_ups = 0
        self.late: list[str] = []
        self.displaced: list[str] = []

    def before(self) -> None:
        """All that is there, and whatever pods find a place by themselves."""
        self.cluster.create()
        self.cluster.wait(self.facts.waiting)
        self.run(self.cluster.places())

    def view(self) -> dict[str, bytes]:
        """What the API server has, as the product reads it, and the targets."""
        read = capture(Clusters(workload=self._api, management=self._api, served=()), "c1", self.now)
        files = read.files()
        said = yaml.safe_load(files["snapshot.yaml"])
        said["kinds"] = sorted({*said["kinds"], *KINDS})
        return files | {"snapshot.yaml": msgspec.json.encode(said)} | platform_files(self.facts)

    def came(self, born: list[tuple[Group, Node]]) -> None:
        """Nodes register."""
        self.scale_ups += 1
        self.cluster.came(born)

    def bind(self, new: dict[str, str], home: dict[str, str]) -> None:
        """All nodes are usable, and kube-scheduler's turn has come."""
        new = new | dict.fromkeys(self.placed, "nodes that were there")
        waiting = list(self.facts.waiting)
        unmade = [pod for pod in waiting if not pod.volume_zone]
        wanted = {name.partition("/")[2] for name in new}
        self.cluster.start_all()
        if not self.cluster.until_bound(wanted, PATIENCE_SECONDS):
            self.cluster.settle()
            if told := self._left(new):
                names = {f"shop/{pod.name}": pod for pod in waiting}
                self.cluster.again(waiting, unmade)
                renamed = {name: f"shop/{pod.name}" for name, pod in names.items()}
                new = {renamed[name]: group for name, group in new.items()}
                self.promised = {renamed.get(name, name): group for name, group in self.promised.items()}
                self.unplaced = {renamed.get(name, name) for name in self.unplaced}
                left = self._left(new)
                self.late.extend(what for name, what in told.items() if renamed[name] not in left)
                self._judge(left, waiting, home)
        self.cluster.settle()
        bound = self.run(self.cluster.places())
        for group, node in {id(node): (group, node) for group, node in bound.values()}.values():
            for fault in faults(self.facts, group, node, bound):
                self.broken(fault)

    def _left(self, new: dict[str, str]) -> dict[str, str]:
        """Promised pods that are not bound, and what kube-scheduler says of each."""
        bound = {f"shop/{pod}" for pod in self.cluster.places()}
        return {name: f"{name} of {new[name]}: {self.cluster.said(name)}" for name in sorted(new.keys() - bound)}

    def _judge(self, left: dict[str, str], waiting: list[Pod], home: dict[str, str]) -> None:
        """A pod that no plan could place may run on a new node once it is there, in the place of one that was promised it."""
        places = self.cluster.places()
        taken = [pod.workload for pod in waiting if f"shop/{pod.name}" in self.unplaced and places.get(pod.name) in home]
        needed = [pod for pod in waiting if f"shop/{pod.name}" in left]
        many = places_taken(taken, [pod.workload for pod in needed])
        for pod in needed[:many]:
            self.displaced.append(left[f"shop/{pod.name}"])
            self.promised.pop(f"shop/{pod.name}", None)
        for pod in needed[many:]:
            self.broken(f"{left[f'shop/{pod.name}']} (does not run)")


@contextmanager
def told_story(plane: ControlPlane, seed: int) -> Iterator[tuple[ScaleUpStory, Carried]]:
    """The story of a seed, told; its objects are removed afterwards."""
    story = ScaleUpStory(plane, seed)
    try:
        yield story, story.told()
    finally:
        story.cluster.remove()
