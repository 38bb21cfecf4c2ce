"""Random clusters as facts: what machines, DaemonSets and volumes really are, and the manifests that a snapshot has of them.

Nothing here asks the product. Admission is written out as the API server does it: a container without requests gets its limits,
else the LimitRange's default; a RuntimeClass adds its overhead and its node selector.
"""

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any

NOW = int(datetime(2026, 11, 25, 12, tzinfo=UTC).timestamp())
OLD = NOW - 4 * 3600
ZONES = ("eu-central-1a", "eu-central-1b", "eu-central-1c")
ZONE_KEY = "topology.kubernetes.io/zone"
TAG = "k8s.io/cluster-autoscaler/node-template/"
KINDS = [
    *(
        "CSIDriver",
        "CSINode",
        "CSIStorageCapacity",
        "StorageClass",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "VolumeAttachment",
    ),
    *("Cluster", "ClusterClass", "Machine", "MachineAutoscaler", "MachineDeployment", "MachinePool", "MachineSet"),
    *("DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet", "PodDisruptionBudget"),
    *("Namespace", "Node", "Pod", "PriorityClass", "LimitRange", "RuntimeClass", "DeviceClass", "ResourceClaim", "ResourceSlice"),
    *("VolumeAttachment", "InstanceRefresh", "ScalingPolicy", "ScheduledAction"),
]
Json = dict[str, Any]
Taint = tuple[str, str, str]


class Stage(Enum):
    """How far a node is: it registers with the taints of its start, then it is usable."""

    STARTING = "starting"
    USABLE = "usable"


@dataclass(frozen=True)
class Amount:
    """What is asked for or offered: cpu in milli, memory in MiB."""

    cpu: int
    memory: int

    def plus(self, other: "Amount") -> "Amount":
        return Amount(self.cpu + other.cpu, self.memory + other.memory)

    def listed(self) -> dict[str, str]:
        return {"cpu": f"{self.cpu}m", "memory": f"{self.memory}Mi"}


NOTHING = Amount(0, 0)


@dataclass(frozen=True)
class Daemon:
    """A DaemonSet: what its template says, and what one pod of it `really` requests: a VerticalPodAutoscaler has `added` some."""

    name: str
    namespace: str
    containers: tuple[tuple[str, Amount], ...]
    runtime_class: str
    selector: dict[str, str]
    tolerates_all: bool
    really: Amount
    added: Amount = NOTHING

    def is_on(self, group: "Group", node: "Node") -> bool:
        """Whether a pod of it is on a node. The DaemonSet controller asks about taints alone, whatever else the node still
        lacks, and a pod that runs stays."""
        started = node.stage is Stage.USABLE or (node.ready and not group.startup)
        return self.runs_on(group) and (self.tolerates_all or started)

    def runs_on(self, group: "Group") -> bool:
        """Whether a node of the group gets a pod of it, once it has started."""
        labels = group.labels_in(group.zones[0])
        hard = any(effect != "PreferNoSchedule" for _, _, effect in group.taints)
        return all(labels.get(key) == value for key, value in self.selector.items()) and (self.tolerates_all or not hard)


@dataclass
class Node:
    """One node with its workload pods."""

    name: str
    zone: str
    created: int
    stage: Stage = Stage.USABLE
    ready: bool = True
    cordoned: bool = False
    passing: tuple[Taint, ...] = ()
    pods: list["Pod"] = field(default_factory=list)


@dataclass
class Group:
    """A group and the machine that each new node of it is. `declared` is what its target says: cpu and memory, pods, limit."""

    name: str
    on_aws: bool
    zones: tuple[str, ...]
    capacity: Amount
    kept: Amount
    most_pods: int
    gpus: int
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    startup: tuple[Taint, ...]
    limit: int | None
    declared: tuple[Amount, int, int | None] | None
    driver_key: str
    static: Amount | None = None
    """What a pod requests that the kubelet of each node makes from a file."""
    replicas: int = 0
    nodes: list[Node] = field(default_factory=list)
    made: int = 0

    def offered(self) -> Amount:
        """What the machine leaves to pods."""
        return Amount(self.capacity.cpu - self.kept.cpu, self.capacity.memory - self.kept.memory)

    def labels_in(self, zone: str) -> dict[str, str]:
        """The labels of a node, but for those of the node alone."""
        own = {ZONE_KEY: zone, "topology.kubernetes.io/region": "eu-central-1", self.driver_key: zone}
        return {**self.labels, **own, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}


@dataclass
class Workload:
    """Pods of one kind, and the rules that all of them are under."""

    name: str
    request: Amount
    gpus: int = 0
    selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[str, ...] = ()
    spread: str = ""
    honor_taints: bool = False
    alone: bool = False
    together: bool = False
    volume: str = ""


@dataclass
class Pod:
    """One pod. `volume_zone` is where its volume is; empty: nobody has made it yet, or it has none."""

    name: str
    workload: Workload
    volume_zone: str = ""


@dataclass
class Facts:
    """A cluster."""

    rng: random.Random
    on_aws: bool
    driver: str
    driver_key: str
    groups: list[Group]
    daemons: list[Daemon]
    limit_range: Amount | None
    overheads: dict[str, tuple[Amount, dict[str, str]]]
    agents: str = "agents"
    """The namespace with the limit range."""
    between: str = ""
    """What the name of a new node has between the group and its number."""
    waiting: list[Pod] = field(default_factory=list)

    def admitted(self, namespace: str, says: str, amount: Amount) -> Amount:
        """What a container requests that `says` so much in its requests, its limits or nowhere."""
        defaults = (self.limit_range or NOTHING) if namespace == self.agents else NOTHING
        return amount if says else defaults

    def left(self, group: Group) -> Amount:
        """What an empty node of a group has for workloads."""
        used = self.own_pods(group)
        return Amount(group.offered().cpu - used.cpu, group.offered().memory - used.memory)

    def free(self, group: Group, node: Node) -> Amount:
        """What is left on a node once all that belongs there runs."""
        left = self.left(group)
        for pod in node.pods:
            left = Amount(left.cpu - pod.workload.request.cpu, left.memory - pod.workload.request.memory)
        return left

    def own_pods(self, group: Group) -> Amount:
        """What DaemonSets and a static pod request on each node of a group."""
        used = group.static or NOTHING
        for daemon in self.daemons:
            used = used.plus(daemon.really) if daemon.runs_on(group) else used
        return used

    def add_node(self, group: Group, now: int, stage: Stage = Stage.STARTING) -> Node:
        """The next machine of a group: in the zone with the fewest of its nodes, in any of them where several have as few."""
        there = Counter(node.zone for node in group.nodes)
        fewest = min(there[zone] for zone in group.zones)
        zone = self.rng.choice([zone for zone in group.zones if there[zone] == fewest])
        group.made += 1
        node = Node(f"{group.name}{self.between}-{group.made:03d}", zone, now, stage)
        group.nodes.append(node)
        return node


def _amount(rng: random.Random, cpu: tuple[int, ...], memory: tuple[int, ...]) -> Amount:
    return Amount(rng.choice(cpu), rng.choice(memory))


def random_facts(seed: int) -> Facts:
    """One cluster; the same for the same seed."""
    rng = random.Random(f"facts {seed}")
    on_aws = rng.random() < 0.5
    driver = "ebs.csi.aws.com" if on_aws else "disk.example.com"
    key = "topology.ebs.csi.aws.com/zone" if on_aws else rng.choice((ZONE_KEY, "topology.disk.example.com/zone"))
    overheads = {"kata": (_amount(rng, (250, 500, 1000), (128, 512)), rng.choice(({}, {"kata": "yes"})))}
    limits = _amount(rng, (100, 500, 1500), (64, 512, 1024)) if rng.random() < 0.6 else None
    facts = Facts(rng, on_aws, driver, key, [], [], limits, overheads)
    for number in range(rng.randint(1, 4)):
        facts.groups.append(_group(rng, facts, f"group-{'abcd'[number]}"))
    files = random.Random(f"files {seed}")
    for group in facts.groups:
        if group.replicas and files.random() < 0.2:
            group.static = _amount(files, (50, 200, 400), (64, 256))
    for number in range(rng.randint(0, 3)):
        facts.daemons.append(_daemon(rng, facts, f"agent-{number}"))
        # Where not all of them fit, which of them run is a matter of luck.
        if any(min(facts.left(group).cpu, facts.left(group).memory) < 200 for group in facts.groups):
            facts.daemons.pop()
    for group in facts.groups:
        _members(facts, group)
    for number in range(rng.randint(2, 7)):
        _workload(facts, f"app-{number}")
    company = random.Random(f"company {seed}")
    works = {pod.workload.name: pod.workload for pod in facts.waiting}
    free = [work for work in works.values() if not (work.selector or work.spread or work.alone or work.volume)]
    if free and company.random() < 0.3:
        company.choice(free).together = True
    for group in facts.groups:
        for node in group.nodes:
            _fill(facts, group, node)
    return facts


def _group(rng: random.Random, facts: Facts, name: str) -> Group:
    cpu, memory = rng.choice(((2000, 8192), (4000, 16384), (8000, 16384), (8000, 65536)))
    many = rng.choice((1, 2, 3)) if facts.on_aws else 1
    from_zero = rng.random() < 0.35
    driver_starts = (f"{facts.driver}/agent-not-ready", "", "NoExecute")
    starts = (
        ("startup-taint.cluster-autoscaler.kubernetes.io/net", "", "NoSchedule"),
        ("readiness.k8s.io/net", "", "NoSchedule"),
        ("node.cilium.io/agent-not-ready", "true", "NoExecute"),
        driver_starts if facts.on_aws else ("node.cluster.x-k8s.io/uninitialized", "", "NoSchedule"),
    )
    group = Group(
        name=name,
        on_aws=facts.on_aws,
        zones=tuple(sorted(rng.sample(ZONES, many))),
        capacity=Amount(cpu, memory - rng.choice((0, 211))),
        kept=rng.choice((NOTHING, Amount(80, 574), Amount(500, 1024))),
        most_pods=rng.choice((8, 29, 58, 110)),
        gpus=rng.choice((0, 0, 0, 2)),
        labels={"pool": name, **({"kata": "yes"} if rng.random() < 0.5 else {}), "disk": rng.choice(("ssd", "hdd"))},
        taints=(("dedicated", "batch", "NoSchedule"),) if rng.random() < 0.2 else (),
        startup=tuple(rng.sample(starts, rng.choice((0, 1, 2)))),
        limit=rng.choice((None, 1, 2, 3)),
        declared=None,
        driver_key=facts.driver_key,
    )
    if from_zero:
        # Nothing but its target tells what a node will be: what it declares is true.
        group.declared = (group.capacity, group.most_pods, group.limit)
    elif rng.random() < 0.5:
        # Nodes that are there tell more than a declaration that promises too much.
        more = rng.choice((1, 1, 2))
        said = Amount(group.capacity.cpu * more, group.capacity.memory * more)
        group.declared = (said, group.most_pods * more, group.limit * more if group.limit else None)
    group.replicas = 0 if from_zero else rng.randint(1, 4)
    return group


def _daemon(rng: random.Random, facts: Facts, name: str) -> Daemon:
    namespace = rng.choice(("kube-system", "agents"))
    runtime = "kata" if rng.random() < 0.25 else ""
    selector = rng.choice(({}, {}, {"pool": facts.groups[0].name}, {"disk": "ssd"}))
    containers, really = [], NOTHING
    for _ in range(rng.choice((1, 1, 2))):
        says, amount = rng.choice(("", "", "requests", "limits")), _amount(rng, (50, 200, 700), (64, 256))
        containers.append((says, amount))
        really = really.plus(facts.admitted(namespace, says, amount))
    if runtime:
        overhead, where = facts.overheads[runtime]
        really, selector = really.plus(overhead), {**selector, **where}
    made = Daemon(name, namespace, tuple(containers), runtime, selector, rng.random() < 0.6, really)
    seen = any(group.replicas and made.runs_on(group) for group in facts.groups)
    if seen and rng.random() < 0.3:
        # A VerticalPodAutoscaler has written other requests into all of its pods.
        more = _amount(rng, (100, 400, 900), (64, 512))
        made = Daemon(name, namespace, tuple(containers), runtime, selector, made.tolerates_all, really.plus(more), more)
    return made


def _members(facts: Facts, group: Group) -> None:
    rng = facts.rng
    for number in range(group.replicas):
        node = facts.add_node(group, OLD, Stage.USABLE)
        if number and rng.random() < 0.2:
            node.stage, node.created = Stage.STARTING, NOW - 60
        elif rng.random() < 0.1:
            node.cordoned = True
        elif rng.random() < 0.1:
            node.passing = (("cloud.google.com/impending-node-termination", "", "NoSchedule"),)


def _workload(facts: Facts, name: str) -> None:
    rng = facts.rng
    made = Workload(name, _amount(rng, (100, 400, 900, 1700, 3000), (128, 1024, 3000)))
    taste, group = rng.random(), rng.choice(facts.groups)
    if rng.random() < 0.3:
        made.tolerations = ("dedicated",)
    if taste < 0.1:
        made.selector = {"pool": group.name}
    elif taste < 0.2:
        made.selector = {ZONE_KEY: rng.choice(ZONES)}
    elif taste < 0.25:
        made.selector = {"disk": "ssd"}
    elif taste < 0.4:
        made.spread, made.honor_taints = ZONE_KEY, rng.random() < 0.5
    elif taste < 0.45:
        made.spread, made.honor_taints = "kubernetes.io/hostname", True
    elif taste < 0.52:
        made.alone = True
    elif taste < 0.65:
        made.volume = "bound"
    elif taste < 0.8:
        made.volume = "unbound"
    elif taste < 0.86:
        made.gpus = 1
    # Volumes and devices tell how many pods a node takes where their requests do not.
    if made.volume or made.gpus:
        made.request = Amount(100, 128)
    for number in range(rng.randint(1, 8)):
        zone = rng.choice(rng.choice(facts.groups).zones) if made.volume == "bound" else ""
        pod = Pod(f"{name}-{number}", made, zone)
        homes = [(one, node) for one in facts.groups for node in one.nodes if _may_run(facts, one, node, pod)]
        if homes and rng.random() < 0.3:
            rng.choice(homes)[1].pods.append(pod)
        else:
            facts.waiting.append(pod)


def _may_run(facts: Facts, group: Group, node: Node, pod: Pod) -> bool:
    """Whether it is credible that the pod runs there."""
    work, free = pod.workload, facts.free(group, node)
    if (
        node.stage is Stage.STARTING
        or work.gpus
        or work.volume
        or work.request.cpu > free.cpu
        or work.request.memory > free.memory
    ):
        return False
    labels = group.labels_in(node.zone)
    untolerated = [taint for taint in group.taints if taint[0] not in work.tolerations]
    company = any(other.workload is work for other in node.pods) and (work.alone or work.spread)
    return not untolerated and not company and all(labels.get(key) == value for key, value in work.selector.items())


def _fill(facts: Facts, group: Group, node: Node) -> None:
    """Most nodes are as good as full."""
    free = facts.free(group, node)
    left = facts.rng.choice((0, 0, 0, 300, 1000))
    if node.stage is Stage.USABLE and free.cpu > left:
        request = Amount(free.cpu - left, min(64, max(0, free.memory)))
        node.pods.append(Pod(f"fill-{node.name}", Workload(f"fill-{node.name}", request)))
