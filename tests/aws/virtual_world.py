"""The product's loop, poll and provider against an account in virtual time: the clock jumps from one event to the next.

Nothing here waits, listens or uses threads, so a run of hours takes seconds, and the same seed gives the same run.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from reconciler.cluster.pods.pod_table import FINISHED_PHASES
from reconciler.cluster.snapshots.assembly import assemble
from reconciler.cluster.snapshots.document import documents
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.manifest import Manifest
from reconciler.cluster.world import World
from reconciler.control.live.live_port import LivePort
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.control.turn.turn_report import LoopReport
from reconciler.kube.drain import DrainStep, SeenNode
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.call_rate import Metered
from reconciler.platforms.aws.writing.calls import Answer, AwsError
from reconciler.platforms.aws.writing.polling import AwsPoll
from reconciler.platforms.aws.writing.provider import AwsProvider
from reconciler.policy.documents import PolicySet
from reconciler.scheduling.state import SchedulingState
from reconciler.values.instant import instant_text
from tests.aws.documents import REGION, TEMPLATE
from tests.aws.policies import policy_set
from tests.aws.service import reading
from tests.aws.service.answering import Answering, NoAnswerError
from tests.aws.service.protocol import ServiceError
from tests.aws.service.state import Group, Instance
from tests.cluster.objects import container, node, pod

KEY = "AKIATEST"
_LABEL = f"{TEMPLATE}label/"
ZONE, TYPE = "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type"
_KINDS = (
    "Node", "Pod", "PodDisruptionBudget", "PriorityClass", "Namespace", "ReplicaSet", "StatefulSet", "Job", "DaemonSet",
    "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSINode",
)  # fmt: skip
SIZES = {"m5.large": ("2", "7Gi"), "m5.xlarge": ("4", "15Gi"), "m5.2xlarge": ("8", "31Gi")}
"""What nodes of a machine type show: whole processors, and a little less memory than the type has."""


class InProcess:
    """An `Aws` without a network."""

    def __init__(self, service: Answering, region: str, key: Callable[[], str] = lambda: KEY) -> None:
        self._service = service
        self._region = region
        self._key = key

    def call(self, service: str, action: str, **parameters: Any) -> Answer:
        """One call, as the client of the SDK would end it."""
        try:
            if service == "arc-zonal-shift":
                body = reading.managed_resources(self._service.account, self._region, parameters)
            else:
                body = self._service.answer(service, self._region, action, parameters, self._key())
        except ServiceError as error:
            raise AwsError(error.code, error.message, status=error.status, sent=error.status >= 500) from None
        except NoAnswerError:
            raise AwsError("Unreachable", "Read timeout on endpoint URL", sent=True) from None
        return Answer(json.loads(json.dumps(body, default=lambda one: one.isoformat())), int(self._service.account.now))


def one_by_one(call: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Threads would run in another order each time."""
    return [call(item) for item in items]


def group_policy(name: str, *lines: str, tier: str = "general") -> str:
    """A NodeGroup for the Auto Scaling group of that name; `lines` are more of its spec."""
    more = "".join(f"\n  {line}" for line in lines)
    return f"""
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: {name}, namespace: r}}
spec:
  policyRef: {{name: prod}}
  tier: {tier}
  target: {{aws: {{autoScalingGroup: {name}, region: {REGION}}}}}{more}"""


def policy_text(*groups: str, tiers: str = "general", more: str = "") -> str:
    """A policy that removes nodes as soon as nobody needs them."""
    names = ", ".join(f"{{name: {tier}}}" for tier in tiers.split())
    return f"""
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: prod}}
spec:
  mode: Enforce
  tiers: [{names}]
  budgets: [{{nodes: 10}}]
  pace: {{delayAfterAdd: 0s, delayAfterFailure: 0s}}
  defaults: {{scaleDown: {{unneededTime: 1m}}}}
  {more}""" + "".join(groups)


class VirtualWorld:
    """One cluster with its Auto Scaling groups and its loop. `pods` are Kubernetes objects; a scheduler binds them."""

    def __init__(self, policy: str, *groups: Group, interval_seconds: float = 10) -> None:
        self.service = Answering()
        self.account = self.service.account
        self.groups = {group.name: self.account.add(group) for group in groups}
        self.policy = policy_set(policy)
        self.pods: list[dict[str, Any]] = []
        self.objects: list[dict[str, Any]] = []
        """Other objects of the cluster."""
        self.interval_seconds = interval_seconds
        self.joins_after_seconds = 40.0
        """From the launch of an instance until its Node is there."""
        self.joins: Callable[[Group, Instance], bool] = lambda _group, _instance: True
        self.is_ready: Callable[[Group, Instance], bool] = lambda _group, _instance: True
        self.events: list[Callable[[], None]] = []
        """Called before every iteration of the loop."""
        self.store = InMemoryStore()
        self.reports: list[LoopReport] = []
        self.leaving: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._next_turn = self.account.now
        self._next_poll = self.account.now
        self.start()

    def start(self) -> None:
        """A process begins, with the memory that was stored."""
        self.accounts = Accounts(lambda region, _role: InProcess(self.service, region))
        aws = InProcess(self.service, REGION)
        self.accounts.put(REGION, "", Metered(aws, monotonic=self._seconds, sleep=self._sleep))
        known = tuple(self.store.load().known_groups)
        self.poll = AwsPoll(self.accounts, self.current, self._seconds, lambda: known, self._seconds, pods_wait=self._pods_wait)
        self.accounts.on_write(self._wrote)
        providers = {AUTO_SCALING_GROUP: AwsProvider(self.accounts)}
        port = LivePort(self, self.now, self, providers, self, "prod", several=one_by_one)
        self.loop = ControlLoop(port, self, self.store)
        self._next_poll = self.account.now

    def run(self, seconds: float) -> None:
        """Time passes; whatever is due happens in its order."""
        end = self.account.now + seconds
        while (due := min(self._next_poll, self._next_turn)) < end:
            self._until(due)
            if self._next_poll <= self._next_turn:
                self.poll.ask()
                self._next_poll = self.account.now + self.poll._pause_seconds()
            else:
                self._next_turn = self.account.now + self.interval_seconds
                self._turn()
        self._until(end)

    def _turn(self) -> None:
        for happen in self.events:
            happen()
        self.schedule()
        self.reports.append(self.loop.turn())
        self.schedule()

    def _until(self, instant: float) -> None:
        if instant > self.account.now:
            self.service.advance(instant - self.account.now)

    def _wrote(self, *_: object) -> None:
        self._next_poll = self.account.now

    def _seconds(self) -> float:
        return self.account.now

    def _sleep(self, seconds: float) -> None:
        self.service.advance(seconds)

    def _pods_wait(self) -> bool:
        plan = self.reports[-1].plan if self.reports else None
        return plan is not None and plan.pods_wait

    def current(self) -> PolicySet:
        return self.policy

    def now(self) -> int:
        return int(self.account.now)

    def add_pods(self, stem: str, count: int, cpu: str = "1500m", **spec: Any) -> None:
        """Pods of one controller."""
        for _ in range(count):
            self._numbers[stem] = number = self._numbers.get(stem, -1) + 1
            meta = {"creationTimestamp": instant_text(self.now() - 60), "labels": {"app": stem}}
            self.pods.append(
                pod(f"{stem}-{number}", containers=[container(cpu, "1Gi")], meta=meta, **json.loads(json.dumps(spec)))
            )

    def remove_pods(self, stem: str) -> None:
        """A controller is scaled to zero."""
        self.pods = [item for item in self.pods if item["metadata"]["labels"]["app"] != stem]

    @property
    def waiting(self) -> list[str]:
        """The names of the pods without a node."""
        return [item["metadata"]["name"] for item in self.pods if "nodeName" not in item["spec"]]

    def zones(self, name: str) -> list[str]:
        """The zones of the instances of a group, by their last letter."""
        return sorted(one.zone[-1] for one in self.groups[name].counted)

    def sizes(self) -> dict[str, int]:
        """Desired capacity by group."""
        return {name: group.desired for name, group in self.groups.items()}

    def told(self) -> list[str]:
        """Every reason of the last plan."""
        plan = self.reports[-1].plan
        if plan is None:
            return [self.reports[-1].unavailable]
        return [f"{line.name}: {reason.code} {reason.message}" for line in plan.groups for reason in line.reasons] + [
            f"{line.pod} {line.outcome}: {reason.code} {reason.message}" for line in plan.pods for reason in line.reasons
        ]

    # What the loop sees.

    def observe(self) -> World:
        return self._assembled([*(list(self.poll.documents()))])

    def _assembled(self, found: list[Any]) -> World:
        whole = Intake()
        items = [*self._nodes(), *self.objects, *self.pods]
        found += documents("all.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode())
        for document in found:
            whole.read(document, stamps=False)
        return assemble(whole, Manifest(captured_seconds=self.now(), kinds=frozenset(_KINDS)))

    def nodes_of(self, group: Group) -> list[Instance]:
        """The instances whose Nodes are there."""
        return [
            one
            for one in group.instances.values()
            if self.joins(group, one)
            and not one.state.startswith("Warmed")
            and self.account.now >= one.launched_at + self.joins_after_seconds
        ]

    def _nodes(self) -> list[dict[str, Any]]:
        found = []
        for group in self.groups.values():
            for one in self.nodes_of(group):
                name = f"n-{one.instance_id}"
                taint = {"key": "reconciler.dev/deleting", "value": self.leaving.get(name, ""), "effect": "NoSchedule"}
                spec = {"providerID": f"aws:///{one.zone}/{one.instance_id}"}
                spec |= {"taints": [taint]} if name in self.leaving else {}
                cpu, memory = SIZES[one.instance_type]
                labels = {ZONE: one.zone, TYPE: one.instance_type, "topology.kubernetes.io/region": REGION}
                labels |= {key.removeprefix(_LABEL): text for key, text in group.tags.items() if key.startswith(_LABEL)}
                found.append(node(name, cpu=cpu, memory=memory, spec=spec, labels=labels))
                created = instant_text(int(one.launched_at + self.joins_after_seconds))
                found[-1]["metadata"]["creationTimestamp"] = created
                condition = found[-1]["status"]["conditions"][0]
                condition |= {"lastTransitionTime": created, "status": str(self.is_ready(group, one))}
        return found

    # The scheduler and the controllers of the pods.

    def schedule(self) -> None:
        """Pods whose node is gone are made again; pods that wait go where they fit."""
        names = {item["metadata"]["name"] for item in self._nodes()}
        for item in self.pods:
            if item["spec"].get("nodeName", "") not in ("", *names):
                self._again(item)
        if not self.waiting:
            return
        world = self._assembled([])
        state = SchedulingState(world)
        by_name = {item["metadata"]["name"]: item for item in self.pods}
        for index in world.pods.pending():
            if world.pods.phase[index] in FINISHED_PHASES:
                continue
            for place, _ in state.place(world.pods.shape[index], 1, range(len(world.nodes))):
                item = by_name[world.pods.key(index).partition("/")[2]]
                item["spec"]["nodeName"] = state.name(place)
                item["status"] = {"phase": "Running"}

    def _again(self, item: dict[str, Any]) -> None:
        item["spec"].pop("nodeName")
        item["status"] = {"phase": "Pending"}

    # The drain.

    def begin(self, name: str, _: SeenNode | None = None) -> None:
        self.leaving[name] = f"prod.{self.now()}"

    def step(self, name: str) -> DrainStep:
        for item in self.pods:
            if item["spec"].get("nodeName") == name:
                self._again(item)
        return DrainStep(remaining=0)

    def undo(self, name: str) -> None:
        self.leaving.pop(name, None)
