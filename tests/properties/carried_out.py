"""Carries plans out on the facts of a cluster: nodes come as they really are, and pods are bound in the embedded cluster.

Every view is a snapshot of the facts, read anew, so that nothing of a plan's templates gets into a node. The embedded cluster
binds by the product's own filters, which `tests/differential` compares with kube-scheduler. `faults` asks arithmetic as well.
Pods are bound in the order in which a plan serves them, the larger first, to the emptiest node or to the first one. What
kube-scheduler does beside that no plan can know.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from itertools import accumulate

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.decisions.decide import decide, settle
from reconciler.decisions.memory import Memory, Outcome
from reconciler.plan.plan import ActionKind, Plan, PodOutcome
from reconciler.policy.documents import PolicySet
from reconciler.policy.tree import read_tree
from reconciler.scheduling.state import SchedulingState
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import AT_ONCE, NO_DELAY
from reconciler.simulation.embedded.pod_object import NodeObject
from tests.properties.node_facts import NOW, ZONE_KEY, Facts, Group, Node, Pod, Stage, Workload, random_facts
from tests.properties.node_manifests import policy_text, snapshot

ROUNDS = 4
SIZES: tuple[Callable[[Workload], int], ...] = (
    lambda work: work.request.cpu,
    lambda work: work.request.memory,
    lambda work: work.gpus,
    lambda work: int(bool(work.volume)),
    lambda _: 1,
)
PLACED = (PodOutcome.FITS_EXISTING, PodOutcome.FITS_UPCOMING)


@dataclass
class Carried:
    """What one cluster came to: how many pods were promised a new node, how many `nodes` were added, and what was `broken`."""

    seed: int
    promises: int = 0
    nodes: int = 0
    broken: list[str] = field(default_factory=list)


def carry_out(seed: int) -> Carried:
    """Decide, let the nodes come, start and take pods, and decide again at each step, until a plan adds nothing."""
    return Story(seed).told()


class Story:
    """One cluster from its first plan on. `view`, `before`, `came` and `bind` say what happens to it: here, in the embedded
    cluster; `tests/testbed/scale_up_story.py` has the real one."""

    def __init__(self, seed: int) -> None:
        self.facts = random_facts(seed)
        tree = read_tree({"p.yaml": policy_text(self.facts, seed)}, now_seconds=NOW)
        assert not tree.problems, tree.problems
        self.policy: PolicySet = tree.sets[0]
        self.told_of = Carried(seed)
        self.memory = Memory()
        self.now = NOW
        self.promised: dict[str, str] = {}
        self.unplaced: set[str] = set()
        self.placed: dict[str, tuple[str | None, str | None]] = {}

    def told(self) -> Carried:
        """The whole of it."""
        self.before()
        for _ in range(ROUNDS):
            plan = self._decide(30)
            new = self._promises(plan)
            grown = self._resize(plan)
            if not grown:
                break
            self._no_pod_twice("before its node came", self._decide(60))
            born = [(group, self.facts.add_node(group, self.now)) for group, many in grown for _ in range(many)]
            for _, node in born:
                node.ready = self.facts.rng.random() < 0.5
            self.came(born)
            self._no_pod_twice("while its node started", self._decide(60))
            for group in self.facts.groups:
                for node in group.nodes:
                    node.stage, node.ready = Stage.USABLE, True
            self.bind(new, {node.name: group.name for group, node in born})
        return self.told_of

    def view(self) -> dict[str, bytes]:
        """What the next plan sees: the files of a snapshot."""
        return snapshot(self.facts, self.now)

    def came(self, born: list[tuple[Group, Node]]) -> None:
        """Nodes have registered, and start."""

    def _decide(self, seconds: int) -> Plan:
        self.now += seconds
        world = read_snapshot(self.view())
        plan, self.memory = decide(world, self.policy, self.memory, self.now)
        return plan

    def _no_pod_twice(self, when: str, plan: Plan) -> None:
        """Pods that were promised a node are promised no other one; but one that was told that nobody can say whether a node
        comes where it may run takes a place there once one has come, and the pod whose place it was needs another."""
        sizes = {f"shop/{pod.name}": pod.workload for pod in self.facts.waiting}
        placed = [sizes[line.pod] for line in plan.pods if line.pod in self.unplaced and line.outcome in PLACED]
        again = [line for line in plan.pods if line.outcome is PodOutcome.TRIGGERS_SCALE_UP and line.pod in self.promised]
        for line in again[max(_as_large(placed, [sizes[line.pod] for line in again], size) for size in SIZES) :]:
            self.broken(f"{line.pod} was promised a node of {self.promised[line.pod]}, and {when} another of {line.group}")

    def _promises(self, plan: Plan) -> dict[str, str]:
        self._no_pod_twice("when it had come", plan)
        new = {line.pod: line.group or "" for line in plan.pods if line.outcome is PodOutcome.TRIGGERS_SCALE_UP}
        self.promised |= new
        self.unplaced = {line.pod for line in plan.pods if line.outcome is PodOutcome.UNPLACEABLE}
        self.placed = {line.pod: (line.node, line.group) for line in plan.pods if line.outcome in PLACED}
        self.told_of.promises += len(new)
        return new

    def _resize(self, plan: Plan) -> list[tuple[Group, int]]:
        """Write the sizes; how many nodes each group is to get."""
        groups = {group.name: group for group in self.facts.groups}
        found, outcomes = [], []
        for action in plan.actions:
            if action.kind is not ActionKind.RESIZE:
                self.broken(f"{action.kind} {action.group}")
                continue
            group = groups[action.group]
            found.append((group, action.to - group.replicas))
            self.told_of.nodes += action.to - group.replicas
            outcomes.append(
                Outcome(
                    kind=action.kind,
                    group=action.group,
                    target=action.target,
                    to=action.to,
                    before=group.replicas,
                    done=True,
                    at_seconds=self.now,
                )
            )
            group.replicas = action.to
        self.memory = settle(self.memory, tuple(outcomes))
        return found

    def _cluster(self) -> SimulatedCluster:
        world = read_snapshot(snapshot(self.facts, self.now))
        return SimulatedCluster(world, self.policy, self.now, durations=NO_DELAY, otherwise=AT_ONCE)

    def before(self) -> None:
        """kube-scheduler's turn before the first plan: whoever has room on a node that is there runs by now. Limits of a driver
        that has not registered are nobody's promise."""
        usable = {node.name for group in self.facts.groups for node in group.nodes if node.stage is Stage.USABLE}

        def placing(state: SchedulingState, shape: int, count: int, nodes: list[NodeObject]) -> tuple[tuple[int, int], ...]:
            attaches = bool(state.pod_shape(shape).volumes)
            return state.place(shape, count, [at for at, node in enumerate(nodes) if node.name in usable or not attaches])

        cluster = self._cluster()
        cluster.scheduler.placing = placing
        cluster.advance_to(self.now)
        self.run(_places(cluster))

    def bind(self, new: dict[str, str], home: dict[str, str]) -> None:
        """kube-scheduler's turn, on nodes as they are: the emptiest node first, as by default, or the first by name, as one that
        packs. A promise that either of them keeps is kept: which one decides, and who comes first, no plan can know."""
        for emptiest in (True, False):
            cluster = self._bound(new, home, emptiest=emptiest)
            if all(cluster.objects.pods[namespace, pod].node for namespace, _, pod in (name.partition("/") for name in new)):
                break
        bound = self.run(_places(cluster))
        for name, group in new.items():
            if name.partition("/")[2] not in bound:
                self.broken(f"{name} does not run on the new nodes of {group}")
        for group, node in {id(node): (group, node) for group, node in bound.values()}.values():
            for fault in faults(self.facts, group, node, bound):
                self.broken(fault)

    def _bound(self, new: dict[str, str], home: dict[str, str], *, emptiest: bool) -> SimulatedCluster:
        """A pod goes to a new node of the group that it was promised."""
        cluster = self._cluster()
        wanted: dict[int, Counter[str]] = defaultdict(Counter)
        for name, group in new.items():
            namespace, _, pod = name.partition("/")
            wanted[cluster.objects.pods[namespace, pod].shape][group] += 1

        def place(state: SchedulingState, shape: int, count: int, there: list[int]) -> tuple[tuple[int, int], ...]:
            if not emptiest:
                return state.place(shape, count, there)
            placed = Counter[int]()
            for _ in range(count):
                placed.update(dict(state.place(shape, 1, sorted(there, key=lambda node: _fullness(state, node)))))
            return tuple(placed.items())

        def placing(state: SchedulingState, shape: int, count: int, nodes: list[NodeObject]) -> tuple[tuple[int, int], ...]:
            placed: list[tuple[int, int]] = []
            moved = True
            while moved:
                # A pod more in one zone frees a place in the others.
                moved = False
                for group, many in sorted(wanted[shape].items()):
                    there = [index for index, node in enumerate(nodes) if home.get(node.name) == group]
                    for index, bound in place(state, shape, min(many, count), there):
                        placed.append((index, bound))
                        wanted[shape][group] -= bound
                        count -= bound
                        moved = True
            if count:
                placed.extend(place(state, shape, count, [at for at, node in enumerate(nodes) if node.name not in home]))
            return tuple(placed)

        cluster.scheduler.placing = placing
        cluster.advance_to(self.now)
        # Whoever is left goes wherever there is room: two pods under a spread may change their places.
        cluster.scheduler.placing = None
        cluster.objects.touch()
        cluster.advance_to(self.now)
        return cluster

    def run(self, places: dict[str, str]) -> dict[str, tuple[Group, Node]]:
        """Pods that were bound run (`places`: the node of each by its name): where, by name."""
        nodes = {node.name: (group, node) for group in self.facts.groups for node in group.nodes}
        bound = {}
        for pod in list(self.facts.waiting):
            if pod.name in places:
                _, node = bound[pod.name] = nodes[places[pod.name]]
                self.facts.waiting.remove(pod)
                node.pods.append(pod)
                if pod.workload.volume and not pod.volume_zone:
                    pod.volume_zone = node.zone
        return bound

    def broken(self, what: str) -> None:
        """A promise was."""
        self.told_of.broken.append(f"seed {self.told_of.seed}: {what}")


def _places(cluster: SimulatedCluster) -> dict[str, str]:
    found = cluster.objects.pods.items()
    return {name: pod.node.name for (namespace, name), pod in found if namespace == "shop" and pod.node is not None}


def _fullness(state: SchedulingState, node: int) -> float:
    """As kube-scheduler's LeastAllocated sees it: cpu and memory alike."""
    used, offered = state.used(node), state.shape_of(node).allocatable
    return used.cpu_milli / max(1, offered.cpu_milli) + used.memory_bytes / max(1, offered.memory_bytes)


def _as_large(taken: list[Workload], needed: list[Workload], size: Callable[[Workload], int]) -> int:
    """How many of those that need a place had one together in those that others took."""
    left = sum(map(size, taken))
    return sum(0 < total <= left for total in accumulate(map(size, needed))) if all(map(size, needed)) else 0


def faults(facts: Facts, group: Group, node: Node, bound: Container[str]) -> list[str]:
    """What kube-scheduler's rules have against the pods that are on a node, by arithmetic on the facts alone.

    A spread holds for pods when they are `bound`, by name: none of those that run moves for a domain that opens later.
    """
    found, free = [], facts.free(group, node)
    if free.cpu < 0 or free.memory < 0:
        found.append(f"{node.name} lacks {-free.cpu}m cpu, {-free.memory}Mi")
    own = sum(daemon.runs_on(group) for daemon in facts.daemons) + (group.static is not None)
    if len(node.pods) + own > group.most_pods:
        found.append(f"{node.name} has too many pods")
    if sum(pod.workload.gpus for pod in node.pods) > group.gpus:
        found.append(f"{node.name} has too few devices")
    if group.limit is not None and sum(bool(pod.workload.volume) for pod in node.pods) > group.limit:
        found.append(f"{node.name} attaches {group.limit} volumes")
    labels = group.labels_in(node.zone)
    for pod in node.pods:
        work = pod.workload
        if work.name.startswith("fill-"):
            continue
        if any(taint[0] not in work.tolerations for taint in group.taints):
            found.append(f"{pod.name} does not tolerate {node.name}")
        if any(labels.get(key) != value for key, value in work.selector.items()):
            found.append(f"{pod.name} does not want {node.name}")
        if pod.volume_zone not in ("", node.zone):
            found.append(f"{pod.name} has a volume in {pod.volume_zone}, {node.name} is in {node.zone}")
        if work.alone and sum(other.workload is work for other in node.pods) > 1:
            found.append(f"{pod.name} is not alone on {node.name}")
        if work.together and pod.name in bound and node.zone not in _zones_of_others(facts, pod):
            found.append(f"{pod.name} is in {node.zone}, all others of {work.name} are elsewhere")
        if work.spread and pod.name in bound and (skew := _skew(facts, pod, node)) > 1:
            found.append(f"{pod.name}: a skew of {skew} at {node.name}")
    return found


def _zones_of_others(facts: Facts, pod: Pod) -> set[str]:
    """Zones with pods of the same workload; all where it has no other one."""
    nodes = [node for group in facts.groups for node in group.nodes]
    found = {node.zone for node in nodes for other in node.pods if other.workload is pod.workload and other is not pod}
    return found or {node.zone for node in nodes}


def _skew(facts: Facts, pod: Pod, node: Node) -> int:
    work, there = pod.workload, Counter[str]()
    for group in facts.groups:
        for one in group.nodes:
            taints = (*group.taints, *one.passing, *(("node.kubernetes.io/unschedulable",) if one.cordoned else ()))
            tainted = one.cordoned or any(
                (taint[0] if isinstance(taint, tuple) else taint) not in work.tolerations for taint in taints
            )
            if not (work.honor_taints and tainted):
                there[one.zone if work.spread == ZONE_KEY else one.name] += sum(other.workload is work for other in one.pods)
    return there[node.zone if work.spread == ZONE_KEY else node.name] - min(there.values())
