"""Clusters from a seed: groups of machine types in zones, apps on their nodes, DaemonSets, budgets, pods that wait."""

import random
from array import array
from collections.abc import Sequence

import msgspec

from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.pods.pod import Owner, PodPhase, PodShape, PodTraits, Toleration
from reconciler.cluster.pods.pod_table import PodTable, phase_code, pod_flags
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import DaemonPods, PodsOfSet, RequestPods, World
from reconciler.policy.documents import NodeGroup
from tests.benchmarks.mixed.apps import PLAIN, ZONE, App, Rules, draw_app
from tests.benchmarks.mixed.machines import MachineType
from tests.builders import NOW, ClusterBuilder, node_group

DAEMONS = (("cni", 50, 64), ("proxy", 100, 64), ("logs", 60, 200), ("metrics", 25, 50))
"""Name, millicores and MiB of what runs on every node."""
_BATCH = Taint("dedicated", "batch", "NoSchedule")


class Machine(msgspec.Struct, frozen=True):
    """One node: its name, what it is, and how old."""

    name: str
    type: MachineType
    batch: bool


_TURNED_AWAY = 1_000
"""Draws of apps that may not go to a machine, after which it is as full as it gets: maybe none may."""


class MixedCluster:
    """Collects nodes and pods. `daemons` says whether DaemonSets run; every tenth group is tainted under `rules` that pin."""

    def __init__(self, seed: int, rules: Rules = PLAIN, *, daemons: bool = True) -> None:
        self.rng = random.Random(seed)
        self._rules = rules
        self._builder = ClusterBuilder()
        self._daemons = DAEMONS if daemons else ()
        self.groups: list[NodeGroup] = []
        self.machines: list[Machine] = []
        self._apps: list[App] = []
        # (app, node name or None, how old)
        self._pods: list[tuple[int, str | None, int]] = []
        self._requests: list[tuple[RequestPods, tuple[tuple[PodShape, int], ...]]] = []

    def add_groups(self, types: Sequence[MachineType], counts: Sequence[int], *, zones: str = "abc") -> None:
        """A group a type, with so many nodes, the zones in turn."""
        for number, (kind, count) in enumerate(zip(types, counts, strict=True)):
            name = f"{kind.name.replace('.', '-')}-{len(self.groups):03d}"
            batch = bool(self._rules.pinned_pool) and number % 10 == 9
            labels = {"node.kubernetes.io/instance-type": kind.name, "pool-kind": "batch" if batch else "general"}
            labels[ZONE] = zones[number % len(zones)]
            # Nodes join in waves: a group is as old as its last upgrade, some nodes are from today.
            created = NOW - self.rng.choice((3_600, 86_400, 10 * 86_400, 40 * 86_400))
            names = self._builder.group(
                name, nodes=count, cpu=f"{kind.cpu_milli}m", memory=f"{kind.memory_mib}Mi", max_pods=kind.pods,
                labels=labels, taints=["dedicated=batch:NoSchedule"] if batch else (), created=created,
            )  # fmt: skip
            self.machines.extend(Machine(node, kind, batch) for node in names)
            price = f"{kind.price_micros / 1e6:.4f}"
            self.groups.append(node_group(name, max=10_000, price_per_hour=price))

    def add_apps(self, many: int, *, most_milli: int = 4000, scale: float = 1.0) -> list[int]:
        """So many more apps; their numbers."""
        first = len(self._apps)
        rng, rules = self.rng, self._rules
        self._apps += [draw_app(rng, first + n, rules, most_milli=most_milli, scale=scale) for n in range(many)]
        return list(range(first, first + many))

    def change(self, app: int, **fields: object) -> None:
        """Give the pods of an app other fields of PodShape."""
        old = self._apps[app]
        self._apps[app] = msgspec.structs.replace(old, shape=msgspec.structs.replace(old.shape, **fields))

    def app(self, number: int) -> App:
        """An app by number."""
        return self._apps[number]

    def wait(self, app: int, pods: int) -> None:
        """Pods of an app that have no node."""
        age = self.rng.randrange(60, 600)
        self._pods.extend([(app, None, age)] * pods)

    def ask(self, request: RequestPods, *sets: tuple[PodShape, int]) -> None:
        """A ProvisioningRequest for sets of (shape, pods)."""
        self._requests.append((request, sets))

    def fill(self, machine: Machine, apps: Sequence[int], share: float, *, most: int = 1000) -> int:
        """Pods of apps drawn at random onto a node until it is used by `share` of the larger of cpu and memory; how many."""
        cpu = sum(milli for _, milli, _ in self._daemons)
        memory = sum(mebi for _, _, mebi in self._daemons)
        placed, missed, turned, rng = 0, 0, 0, self.rng
        on_node: set[int] = set()
        room = min(most, machine.type.pods - len(self._daemons))
        while placed < room and missed < 3 and turned < _TURNED_AWAY:
            app = apps[min(int(rng.paretovariate(0.5)) - 1, len(apps) - 1)] if rng.random() < 0.3 else rng.choice(apps)
            shape = self._apps[app].shape
            full_cpu = cpu + shape.requests.cpu_milli > share * machine.type.cpu_milli
            if full_cpu or memory + (shape.requests.memory_bytes >> 20) > share * machine.type.memory_mib:
                missed += 1
                continue
            if bool(shape.node_selector) != machine.batch or (shape.anti_affinity and app in on_node):
                missed += machine.batch
                turned += 1
                continue
            cpu += shape.requests.cpu_milli
            memory += shape.requests.memory_bytes >> 20
            on_node.add(app)
            self._pods.append((app, machine.name, rng.randrange(60, 20 * 86_400)))
            placed += 1
        return placed

    def world(self) -> World:
        """The World in canonical order."""
        bare = self._builder.world()
        shapes: dict[PodShape, int] = {}
        traits: dict[PodTraits, int] = {}
        position = {node.name: index for index, node in enumerate(bare.nodes)}
        rows: list[tuple[str, str, int, int, int, int]] = []
        counts = [0] * len(self._apps)
        for app, on, age in self._pods:
            one = self._apps[app]
            counts[app] += 1
            shape, trait = shapes.setdefault(one.shape, len(shapes)), traits.setdefault(one.traits, len(traits))
            node = -1 if on is None else position[on]
            rows.append((one.shape.namespace, f"{one.name}-{counts[app]:06d}", shape, trait, node, NOW - age))
        daemon_pods = []
        for name, milli, mebi in self._daemons:
            shape, trait = shapes.setdefault(_daemon(name, milli, mebi), len(shapes)), len(traits)
            owner = Owner("apps", "DaemonSet", name, f"uid-{name}")
            traits[PodTraits(namespace="kube-system", controller=owner, daemonset=True)] = trait
            daemon_pods.append(DaemonPods(namespace="kube-system", name=name, shape=shape))
            rows.extend(
                ("kube-system", f"{name}-{node.name}", shape, trait, index, node.created_seconds)
                for index, node in enumerate(bare.nodes)
            )
        rows.sort()
        requests = tuple(
            msgspec.structs.replace(
                one, sets=tuple(PodsOfSet(shape=shapes.setdefault(shape, len(shapes)), count=count) for shape, count in sets)
            )
            for one, sets in sorted(self._requests, key=lambda pair: pair[0].key)
        )
        return msgspec.structs.replace(
            bare,
            provisioning_requests=requests,
            captured=(*bare.captured, "ProvisioningRequest"),
            pods=_table(rows),
            pod_shapes=tuple(shapes),
            pod_traits=tuple(traits),
            daemon_pods=tuple(sorted(daemon_pods)),
            budgets=self._budgets(counts),
            controllers=tuple(sorted(one.controller(count) for one, count in zip(self._apps, counts, strict=True) if count)),
            namespaces=tuple((name, ()) for name in sorted({row[0] for row in rows})),
        )

    def _budgets(self, counts: Sequence[int]):  # type: ignore[no-untyped-def]
        found = []
        for one, count in zip(self._apps, counts, strict=True):
            if one.budget is not None and count:
                most = one.budget.max_unavailable
                allowed = -(-count * int(most[:-1]) // 100) if most.endswith("%") else int(most)
                found.append(
                    msgspec.structs.replace(
                        one.budget, disruptions_allowed=allowed, current_healthy=count,
                        desired_healthy=count - allowed, expected_pods=count,
                    )
                )  # fmt: skip
        return tuple(sorted(found, key=lambda budget: (budget.namespace, budget.name)))


def _daemon(name: str, milli: int, mebi: int) -> PodShape:
    return PodShape(
        namespace="kube-system",
        labels=(("app", name),),
        requests=Resources(cpu_milli=milli, memory_bytes=mebi << 20, pods=1),
        tolerations=(Toleration("", "Exists", "", ""),),
    )


def _table(rows: list[tuple[str, str, int, int, int, int]]) -> PodTable:
    many = len(rows)
    running, pending = phase_code(PodPhase.RUNNING), phase_code(PodPhase.PENDING)
    nodes = array("i", [row[4] for row in rows])
    ready, waits = pod_flags(ready=True, gated=False), pod_flags(ready=False, gated=False)
    return PodTable.of_columns(
        namespace=[row[0] for row in rows],
        name=[row[1] for row in rows],
        uid=[f"uid-{row[1]}" for row in rows],
        shape=array("i", [row[2] for row in rows]),
        traits=array("i", [row[3] for row in rows]),
        node=nodes,
        nominated=array("i", [-1]) * many,
        phase=array("B", [running if node >= 0 else pending for node in nodes]),
        flags=array("B", [ready if node >= 0 else waits for node in nodes]),
        created_seconds=array("q", [row[5] for row in rows]),
        deletion_seconds=array("q", bytes(8 * many)),
        unschedulable_seconds=array("q", [row[5] if row[4] < 0 else 0 for row in rows]),
        unknown_node={},
    )
