"""Random stories: a random cluster, the real loop on it, and things that happen, with every rule checked after each turn."""

import random

import msgspec

from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.control.turn.turn_report import LoopReport
from reconciler.decisions.decide import decide
from reconciler.plan.plan import Plan
from reconciler.plan.summary import canonical_json
from reconciler.policy.documents import Consolidation, PolicySet, Toggle
from reconciler.providers.simulated import SimulatedPort
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import MachineBehaviour
from reconciler.simulation.embedded.field_owner import Via
from reconciler.simulation.embedded.journal import Happened
from reconciler.simulation.embedded.rules import RuleBook
from reconciler.simulation.embedded.workloads import Workload
from tests.properties.random_clusters import RandomCluster, random_cluster

EVENTFUL_TURNS = 30
QUIET_TURNS = 30
EVERY_TWICE = 10


class Told(msgspec.Struct, frozen=True):
    """How many turns a story had, what was broken in it, and what happened, in the order in which it did."""

    seed: int
    turns: int
    broken: tuple[str, ...]
    happened: tuple[str, ...]


def tell(seed: int, *, disturbed: bool = False) -> Told:
    """One story; the same for the same seed. In a `disturbed` one pods give way to others and are evicted all the time, most
    of all at the instant of a purchase."""
    return Story(seed, disturbed=disturbed).told()


class Story:
    """A random cluster, the loop on it, and what happens. Other kinds of stories change what the policy is and what happens."""

    def __init__(self, seed: int, *, disturbed: bool = False) -> None:
        self.seed = seed
        self.rng = random.Random(f"disturbed story {seed}" if disturbed else f"story {seed}")
        self.disturbed = disturbed
        start = random_cluster(
            seed,
            headroom=self.rng.random() < 0.2,
            expendable=self.rng.random() < 0.2,
            protected=self.rng.random() < 0.7,
        )
        self.policy = self._rules(start)
        self.cluster = SimulatedCluster(
            start.world,
            self.policy,
            start.world.captured_seconds,
            behaviours=self._behaviours(),
            otherwise=MachineBehaviour(join_seconds=self.rng.choice((0, 30, 120, 300)), fail_first=self.rng.choice((0, 0, 0, 1))),
        )
        self.port, self.store = SimulatedPort(self.cluster), InMemoryStore()
        self.loop = ControlLoop(self.port, self, self.store)
        self.book = RuleBook(self.cluster)
        self.broken: list[str] = []
        self.happened: list[str] = []
        self.turn_count = 0

    def _rules(self, start: RandomCluster) -> PolicySet:
        """Half of the policies consolidate, with prices for all groups."""
        rules = start.policy
        if self.rng.random() < 0.5:
            return rules
        on = Consolidation(mode=Toggle.ENABLED, min_saving_percent=self.rng.choice((1, 15, 40)))
        groups = tuple(
            msgspec.structs.replace(
                one,
                price_per_hour=one.price_per_hour or "0.30",
                scale_down=msgspec.structs.replace(one.scale_down, consolidation=on),
            )
            for one in rules.groups
        )
        return msgspec.structs.replace(rules, groups=groups)

    def _behaviours(self) -> dict[str, MachineBehaviour]:
        """How machines of single targets behave."""
        return {}

    def current(self) -> PolicySet:
        """The policy in force."""
        return self.policy

    def told(self) -> Told:
        """All of it: turns in which things happen, then turns in which nothing does and the loop comes to rest."""
        while self.turn_count < EVENTFUL_TURNS:
            if self.disturbed and self.rng.random() < 0.5:
                self.happened.append(f"{self.turn_count}: {self._disturbance()}")
                self._turn(self.rng.choice((0, 5, 10)))
            elif self.rng.random() < 0.3:
                self._something_happens()
            self._turn(self.rng.choice((10, 30, 60, 60, 300, 700)))
        changes = [self._turn(700) for _ in range(QUIET_TURNS)]
        if any(changes[-3:]):
            self.broken.append(f"NotAtRest: still acting after {QUIET_TURNS} turns without any event")
        return Told(self.seed, self.turn_count, tuple(self.broken), tuple(self.happened))

    def _turn(self, seconds: int) -> bool:
        self.cluster.advance_to(self.cluster.now_seconds + seconds)
        self.turn_count += 1
        if self.turn_count % EVERY_TWICE == 0:
            self._check_bytes()
        report = self._decide()
        plan = report.plan
        if plan is None:
            self.broken.append(f"NoPlan: {report.unavailable}")
            return False
        self._note(report)
        found = self.book.check(self.policy, plan)
        self.broken += [f"{one.rule} {one.object} at {self.turn_count}: {one.message}" for one in found]
        self._check_reasons(plan)
        return bool(plan.actions)

    def _decide(self) -> LoopReport:
        return self.loop.turn()

    def _note(self, report: LoopReport) -> None:
        for result in report.results:
            action = result.action
            nodes = ",".join(action.nodes)
            what = f"{action.kind.value} {action.group} {action.from_}->{action.to} {nodes} {result.state.value} {result.code}"
            self.happened.append(f"{self.turn_count} +{self.cluster.now_seconds - self.book_start}: {what} {action.reason.code}")

    @property
    def book_start(self) -> int:
        """The first instant."""
        return 1_800_000_000

    def _check_bytes(self) -> None:
        """Same input, same bytes, and a memory that is stored and read is the same memory."""
        world, memory, now = self.cluster.world(), self.store.load(), self.cluster.now_seconds
        first, after = decide(world, self.policy, memory, now)
        again, after_again = decide(world, self.policy, memory, now)
        if canonical_json(first) != canonical_json(again) or after != after_again:
            self.broken.append(f"OtherBytes at {self.turn_count}")
        if msgspec.json.decode(msgspec.json.encode(after), type=type(after)) != after:
            self.broken.append(f"MemoryNotStored at {self.turn_count}")

    def _check_reasons(self, plan: Plan) -> None:
        """Rule 5, and sizes that add up."""
        leaving = {node for action in plan.actions for node in action.nodes}
        for pod in plan.pods:
            if not pod.reasons:
                self.broken.append(f"NoReason {pod.pod} at {self.turn_count}")
        for node in plan.nodes:
            if not node.blockers and node.node not in leaving:
                self.broken.append(f"NoReason {node.node} at {self.turn_count}")
        groups = {line.name for line in plan.groups}
        if groups != {one.name for one in self.policy.groups}:
            self.broken.append(f"GroupMissing at {self.turn_count}: {groups}")

    def _something_happens(self) -> None:
        happen = self.rng.choice(
            (self._scale, self._scale, self._scale, self._scale, self._unready, self._ready, self._die, self._somebody_writes,
             self._hold, self._restart, self._other_bounds)
        )  # fmt: skip
        what = happen()
        if what:
            self.happened.append(f"{self.turn_count}: {what}")
            if happen not in (self._scale, self._restart):
                self.cluster.journal.add(self.cluster.now_seconds, Happened.SCENARIO, "story", detail=what)

    def _scale(self) -> str:
        workloads = [one for _, one in sorted(self.cluster.workloads.by_key.items())]
        if not workloads:
            return ""
        workload = self.rng.choice(workloads)
        wanted = max(
            0, self.rng.choice((0, workload.desired - 2, workload.desired + 1, workload.desired + 4, 2 * workload.desired))
        )
        before = workload.desired
        self._set(workload, wanted)
        return f"{workload.key} scales from {before} to {wanted}"

    def _disturbance(self) -> str:
        """Pods are evicted, often while a workload grows past what there is room for, at the expense of others where it may."""
        told = []
        workloads = [one for _, one in sorted(self.cluster.workloads.by_key.items())]
        if workloads and self.rng.random() < 0.6:
            shapes = self.cluster.objects.pod_shapes
            highest = max(shapes[one.shape].priority for one in workloads)
            workload = self.rng.choice([one for one in workloads if shapes[one.shape].priority == highest])
            self._set(workload, workload.desired + self.rng.randint(1, 6))
            told.append(f"{workload.key} grows to {workload.desired}")
        made_again = [
            pod
            for _, pod in sorted(self.cluster.objects.pods.items())
            if pod.node is not None and pod.active and self.cluster.workloads.of(pod) is not None
        ]
        unlucky = self.rng.sample(made_again, min(len(made_again), self.rng.randint(1, 3)))
        told.extend(f"{pod.key} is evicted" for pod in unlucky if not self.cluster.pods.evict(pod))
        return ", ".join(told)

    def _set(self, workload: Workload, wanted: int) -> None:
        cluster = self.cluster
        cluster.journal.add(cluster.now_seconds, Happened.DEMAND_CHANGED, workload.key[2], before=workload.desired, after=wanted)
        cluster.workloads.scale(workload, wanted)
        controller = cluster.objects.controllers.get(workload.key)
        if controller is not None:
            cluster.objects.controllers[workload.key] = msgspec.structs.replace(controller, replicas=wanted)
        cluster.disruption.scaled(workload.key[1])
        cluster.objects.touch()

    def _any_node(self, *, ready: bool) -> str:
        names = sorted(name for name, node in self.cluster.objects.nodes.items() if node.value.ready is ready)
        return self.rng.choice(names) if names else ""

    def _unready(self) -> str:
        name = self._any_node(ready=True)
        return f"{name} is not ready" if name and self.cluster.set_ready(name, ready=False) else ""

    def _ready(self) -> str:
        name = self._any_node(ready=False)
        return f"{name} is ready again" if name and self.cluster.set_ready(name, ready=True) else ""

    def _die(self) -> str:
        name = self._any_node(ready=True)
        return f"{name} dies" if name and self.cluster.kill_node(name) else ""

    def _somebody_writes(self) -> str:
        target = self.rng.choice(sorted(self.cluster.objects.targets))
        replicas = self.rng.randint(0, 6)
        self.cluster.write_replicas(target, replicas, "kubectl", Via.SCALE)
        return f"somebody scales {target} to {replicas}"

    def _hold(self) -> str:
        target = self.rng.choice(sorted(self.cluster.objects.targets))
        reason = "" if self.cluster.objects.targets[target].owner.hold else "repair"
        self.cluster.hold(target, reason)
        return f"hold of {target}: {reason!r}"

    def _restart(self) -> str:
        self.loop = ControlLoop(self.port, self, self.store)
        return "the loop restarts"

    def _other_bounds(self) -> str:
        index = self.rng.randrange(len(self.policy.groups))
        low = self.rng.choice((0, 1, 3))
        size = msgspec.structs.replace(self.policy.groups[index].size, min=low, max=low + self.rng.choice((1, 5, 12)))
        groups = [*self.policy.groups]
        groups[index] = msgspec.structs.replace(groups[index], size=size)
        self.policy = msgspec.structs.replace(self.policy, groups=tuple(groups), digest=f"sha256:{self.turn_count}")
        self.cluster.follow(self.policy)
        return f"bounds of {groups[index].name} are {size.min}..{size.max}"
