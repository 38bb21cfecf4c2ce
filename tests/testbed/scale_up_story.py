"""Carries plans out on a real control plane: the nodes that the facts say come, and kube-scheduler binds."""

import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import msgspec
import yaml

from reconciler.control.capture import Clusters, capture
from reconciler.kube.connection.transport import connect
from tests.properties.carried_out import Carried, Story, faults
from tests.properties.node_facts import NOW, Group, Node, Pod
from tests.properties.node_manifests import KINDS, platform_files
from tests.testbed.control_plane import ControlPlane
from tests.testbed.facts_cluster import FactsCluster

# kube-scheduler waits at most ten seconds before it takes a pod again.
PATIENCE_SECONDS = 15


class ScaleUpStory(Story):
    """One cluster from its first plan on, as `Story`. `scale_ups` are the plans that added nodes.

    kube-scheduler takes pods in an order and prefers nodes that no plan can know: a small pod may take the place of a large one.
    Then all pods come anew, first those that were promised a node, each to the nodes that the plan means. A promise is broken
    if that does not make them run. `late` are the pods that ran only so, with what kube-scheduler said before;
    `disordered` counts the scale-ups with such pods. `outbid` are those of `late` instead of which pods ran that had no place in
    the plan. A promise is to any pod of a workload: nothing is lost if an equal pod runs instead.
    """

    def __init__(self, plane: ControlPlane, seed: int) -> None:
        super().__init__(seed)
        self.now = max(NOW, int(time.time()))
        self.facts.agents = f"agents-{seed}"
        self.facts.daemons = [
            replace(daemon, namespace=self.facts.agents) if daemon.namespace == "agents" else daemon
            for daemon in self.facts.daemons
        ]
        # kwok deletes by name, volumes are detached from a node of that name, and both may be late.
        self.facts.between = f"-{seed % 100:02d}"
        for group in self.facts.groups:
            for node in group.nodes:
                node.name = node.name.replace(group.name, f"{group.name}{self.facts.between}")
        for pod in [*self.facts.waiting, *(pod for group in self.facts.groups for node in group.nodes for pod in node.pods)]:
            pod.name += f"-{seed}"
        self.cluster = FactsCluster(plane, self.facts)
        self._api = connect(plane.kubeconfig, environment={})
        self.scale_ups = self.disordered = self.outbid = 0
        self.late: list[str] = []

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
        """All nodes are usable, and kube-scheduler's turn has come: first by its own choice, then by the plan's."""
        waiting = list(self.facts.waiting)
        unmade = [pod for pod in waiting if not pod.volume_zone]
        groups = {name.partition("/")[2]: group for name, group in new.items()}
        wanted = {pod.name: pod for pod in waiting if pod.name in groups or f"shop/{pod.name}" in self.placed}
        self.cluster.start_all()
        if not self.cluster.until_bound({*wanted}, PATIENCE_SECONDS):
            self.cluster.settle()
            if left := lost(wanted, waiting, self.cluster.places()):
                self.disordered += 1
                self.late.extend(self._said(pod) for pod in left)
                self.outbid += min(len(left), sum(pod.partition("/")[2] in self.cluster.places() for pod in self.unplaced))
                self.cluster.again(waiting, unmade, self._meant(groups, home))
                self.promised = {name: group for name, group in self.promised.items() if name.partition("/")[2] not in wanted}
                self.promised |= {f"shop/{wanted[pod].name}": group for pod, group in groups.items()}
                self.cluster.until_bound({pod.name for pod in wanted.values()}, PATIENCE_SECONDS)
        self.cluster.settle()
        places = self.cluster.places()
        by_name = {pod.name: pod for pod in wanted.values()}
        broken = lost(by_name, waiting, places)
        for pod in broken:
            self.broken(f"a promised pod does not run: {self._said(pod)}")
        for pod in by_name.keys() - places.keys() - {*broken}:
            self.promised.pop(f"shop/{pod}", None)
        bound = self.run(places)
        for group, node in {id(node): (group, node) for group, node in bound.values()}.values():
            # Zones that opened one after the other are no fault of a spread: kube-scheduler has judged it.
            for fault in faults(self.facts, group, node, ()):
                self.broken(fault)

    def _meant(self, groups: dict[str, str], home: dict[str, str]) -> dict[str, list[str]]:
        """The nodes that the plan means for each pod: new ones of its group, or one that was there, or those of its group."""
        meant = {pod: [node for node, of in home.items() if of == group] for pod, group in groups.items()}
        there = {group.name: [node.name for node in group.nodes if node.name not in home] for group in self.facts.groups}
        for name, (node, group) in self.placed.items():
            meant[name.partition("/")[2]] = [node] if node else there[group or ""]
        return meant

    def _said(self, pod: str) -> str:
        where = self.promised.get(f"shop/{pod}", "nodes that were there")
        return f"{pod} of {where}: {self.cluster.said(pod)}"


def lost(wanted: Mapping[str, Pod], waiting: Iterable[Pod], places: Container[str]) -> list[str]:
    """Of pods that are `wanted` to run (by name) those that do not, unless an equal pod that waited runs instead. The names are
    sorted. `places` has the names of pods that run."""
    running = Counter(id(pod.workload) for pod in waiting if pod.name in places)
    missing = Counter(id(pod.workload) for pod in wanted.values()) - running
    found = []
    for name in sorted(wanted):
        workload = id(wanted[name].workload)
        if name not in places and missing[workload] > 0:
            missing[workload] -= 1
            found.append(name)
    return found


@contextmanager
def told_story(plane: ControlPlane, seed: int) -> Iterator[tuple[ScaleUpStory, Carried]]:
    """The story of a seed, told; its objects are removed afterwards."""
    story = ScaleUpStory(plane, seed)
    try:
        yield story, story.told()
    finally:
        story.cluster.remove()
