"""The loop over Auto Scaling groups on our own service: bought, joined, removed, settled. Nodes and pods are documents of the
test."""

import json
from typing import Any

import msgspec
import pytest

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
from reconciler.plan.plan import ActionKind
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from reconciler.policy.documents import PolicySet
from reconciler.values.instant import instant_text
from tests.aws.documents import REGION, TEMPLATE
from tests.aws.policies import policy_set
from tests.aws.service.server import Service
from tests.aws.service.state import Group
from tests.aws.test_asking import Polled
from tests.aws.writes import Writer, workers
from tests.cluster.objects import container, node, pod

POLICY = f"""
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: prod}}
spec:
  mode: Enforce
  tiers: [{{name: spot}}, {{name: general}}]
  budgets: [{{nodes: 10}}]
  pace: {{delayAfterAdd: 0s, delayAfterFailure: 0s}}
  defaults: {{scaleDown: {{unneededTime: 0s}}}}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: spot, namespace: r}}
spec: {{policyRef: {{name: prod}}, tier: spot, target: {{aws: {{autoScalingGroup: spot, region: {REGION}}}}}}}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: general, namespace: r}}
spec: {{policyRef: {{name: prod}}, tier: general, target: {{aws: {{autoScalingGroup: general, region: {REGION}}}}}}}
"""
NO_HUMAN_HOLD = POLICY.replace("  mode: Enforce", "  mode: Enforce\n  humanHoldTime: 0s")
"""What somebody else sets is a second writer's, and no person's."""
_KINDS = (
    "Node", "Pod", "PodDisruptionBudget", "PriorityClass", "Namespace", "ReplicaSet", "StatefulSet", "Job", "DaemonSet",
    "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSINode",
)  # fmt: skip


class Cluster:
    """What the loop sees: the poll's documents, a node for every instance in service, pods as asked for. It is the drain too."""

    def __init__(self, service: Service, policy: PolicySet) -> None:
        self.service = service
        self.policy = policy
        self.polled = Polled(service, policy)
        self.pods: list[dict[str, Any]] = []
        self.leaving: dict[str, str] = {}
        self.remaining = 0
        """Pods of a node that leaves which do not go."""
        self.joins: set[str] | None = None
        """The instances that become nodes; None: all."""
        self.joins_after = 0
        """So many seconds after their launch."""

    def current(self) -> PolicySet:
        return self.policy

    def now(self) -> int:
        return int(self.service.account.now)

    def observe(self) -> World:
        whole = Intake()
        for document in self.polled.poll.documents():
            whole.read(document, stamps=False)
        items = [*self._nodes(), *self.pods]
        for document in documents("all.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()):
            whole.read(document, stamps=False)
        return assemble(whole, Manifest(captured_seconds=self.now(), kinds=frozenset(_KINDS)))

    def _nodes(self) -> list[dict[str, Any]]:
        found = []
        for group in self.service.account.groups.values():
            for one in group.instances.values():
                if one.state != "InService" or (self.joins is not None and one.instance_id not in self.joins):
                    continue
                name = f"n-{one.instance_id}"
                taints = [{"key": "reconciler.dev/deleting", "value": self.leaving.get(name, ""), "effect": "NoSchedule"}]
                spec = {"providerID": f"aws:///{one.zone}/{one.instance_id}"} | (
                    {"taints": taints} if name in self.leaving else {}
                )
                found.append(node(name, cpu="2", memory="7Gi", spec=spec, labels=self._labels(group)))
                found[-1]["metadata"]["creationTimestamp"] = instant_text(int(one.launched_at) + self.joins_after)
        return found

    def _labels(self, group: Group) -> dict[str, str]:
        """What the tags of the group promise is what its nodes carry."""
        start = f"{TEMPLATE}label/"
        return {"team": "a"} | {key.removeprefix(start): value for key, value in group.tags.items() if key.startswith(start)}

    def begin(self, name: str, seen: SeenNode | None = None) -> None:
        self.leaving[name] = f"prod.{self.now()}"

    def step(self, _: str) -> DrainStep:
        return DrainStep(remaining=self.remaining)

    def undo(self, name: str) -> None:
        self.leaving.pop(name, None)


class Loop:
    """`more` is what its port gets beside what every one needs."""

    def __init__(self, service: Service, **more: Any) -> None:
        self.more = more
        tags = {f"{TEMPLATE}label/team": "a"}
        self.groups = {
            name: service.account.add(workers(name, desired=0, max_size=5, tags=dict(tags))) for name in ("spot", "general")
        }
        self.cluster = Cluster(service, policy_set(POLICY))
        self.store = InMemoryStore()
        self._start()

    def _start(self) -> None:
        writer = Writer(self.cluster.service, accounts=self.cluster.polled.accounts)
        writer.accounts.on_write(self.cluster.polled.poll._wrote)
        providers = {AUTO_SCALING_GROUP: writer.provider}
        port = LivePort(self.cluster, self.cluster.now, self.cluster, providers, self.cluster, "prod", **self.more)
        self.loop = ControlLoop(port, self.cluster, self.store)

    def restart(self, policy: str = "") -> None:
        """Another process, with the memory that was stored, and with this policy if one is given."""
        if policy:
            self.cluster.policy = policy_set(policy)
            known = tuple(self.store.load().known_groups)
            self.cluster.polled = Polled(self.cluster.service, self.cluster.policy, lambda: known)
        self._start()

    def turn(self, seconds: float = 10) -> LoopReport:
        self.cluster.polled.turn(seconds)
        return self.loop.turn()

    def turns(self, count: int) -> LoopReport:
        for _ in range(count):
            report = self.turn()
        return report


def pending(count: int, stem: str = "web") -> list[dict[str, Any]]:
    containers = [container("1500m", "1Gi")]
    return [pod(f"{stem}-{number}", containers=containers, nodeSelector={"team": "a"}) for number in range(count)]


def sizes(loop: Loop) -> tuple[int, int]:
    return loop.groups["spot"].desired, loop.groups["general"].desired


def told(report: LoopReport) -> object:
    return report.unavailable or (
        report.plan.summary if report.plan else "",
        [(one.action.kind, one.state, one.code, one.message) for one in report.results],
        [
            (line.name, line.owner.state, [reason.message for reason in line.reasons])
            for line in (report.plan.groups if report.plan else ())
        ],
    )


def bind(loop: Loop, group: Group) -> None:
    """The scheduler's work: each pod on a node of the group."""
    names = [f"n-{one.instance_id}" for one in group.counted]
    for item, name in zip(loop.cluster.pods, names, strict=True):
        item["spec"]["nodeName"] = name
        item["status"] = {"phase": "Running"}


def test_s42_bought_joined_removed_settled(service: Service) -> None:
    """S42: instances of the first tier join by their provider id; when the pods are gone exactly they go, and it settles."""
    loop = Loop(service)
    loop.cluster.pods = pending(2)
    report = loop.turn()
    assert sizes(loop) == (2, 0), told(report)
    loop.turns(6)
    assert sizes(loop) == (2, 0)
    bought = {one.instance_id for one in loop.groups["spot"].counted}
    bind(loop, loop.groups["spot"])
    assert loop.turns(3).results == ()
    loop.cluster.pods = []
    report = loop.turns(12)
    assert sizes(loop) == (0, 0), told(report)
    assert {name for _, name in service.account.ended} == bought
    assert loop.turns(3).results == ()
    assert service.count("TerminateInstance") == 2


def test_s85_stock_out_and_the_next_tier(service: Service) -> None:
    """S85: no stock in the first tier: the second one grows by the next turns. What was asked for is taken back once
    no read can be older than that write."""
    loop = Loop(service)
    loop.groups["spot"].instance_type = "c5.large"
    service.account.stock[f"{REGION}a", "c5.large"] = 0
    loop.cluster.pods = pending(2)
    loop.turn()
    assert sizes(loop) == (2, 0)
    report = loop.turns(2)
    assert sizes(loop) == (2, 2), told(report)
    loop.turns(6)
    assert (sizes(loop), len(loop.groups["general"].counted)) == ((0, 2), 2)
    assert service.account.ended == []


def test_a_process_that_ends_between_write_and_memory(service: Service) -> None:
    """Killed after the write and before it could remember it: nothing is bought twice, nobody's instance is lost."""
    loop = Loop(service)
    loop.cluster.pods = pending(2)
    before = msgspec.json.encode(loop.store.load())
    loop.turn()
    loop.store = InMemoryStore()
    assert before
    loop.restart()
    for _ in range(8):
        loop.turn()
        loop.restart()
    assert (sizes(loop), len(loop.groups["spot"].counted)) == ((2, 0), 2)
    assert service.account.ended == []


@pytest.mark.parametrize("mode", ["Enforce", "Observe"])
@pytest.mark.usefixtures("at_once")
def test_a_group_that_left_while_no_process_ran(service: Service, mode: str) -> None:
    """Its tags of ours go and its size stays; in mode Observe the plan says so and nothing is written."""
    loop = Loop(service)
    loop.cluster.pods = pending(2)
    loop.turns(7)
    bind(loop, loop.groups["spot"])
    loop.turn()
    theirs = {key: text for key, text in loop.groups["spot"].tags.items() if not key.startswith("reconciler.dev/")}
    loop.groups["spot"].tags["reconciler.dev/policy"] = "prod"
    marked = dict(loop.groups["spot"].tags)
    assert sizes(loop) == (2, 0)
    before, _, after = POLICY.partition("---")
    loop.restart(f"{before.replace('Enforce', mode)}---{after.partition('---')[2]}")
    report = loop.turn()
    assert report.plan is not None, told(report)
    assert [(one.kind, one.group) for one in report.plan.actions] == [(ActionKind.RELEASE, "spot")]
    for _ in range(12):
        report = loop.turn()
    assert (sizes(loop), service.account.ended) == ((2, 0), [])
    assert loop.groups["spot"].tags == (theirs if mode == "Enforce" else marked)
    assert service.count("DeleteTags") == (mode == "Enforce")
    assert report.plan is not None
    assert bool(report.plan.actions) is (mode == "Observe")


def test_a_target_that_is_lost_from_the_view_for_a_turn(service: Service) -> None:
    """Its drains are given up and told; when it is there again its empty nodes are removed as before."""
    loop = Loop(service)
    loop.cluster.pods = pending(2)
    loop.turns(7)
    bind(loop, loop.groups["spot"])
    loop.turns(2)
    loop.cluster.pods = []
    loop.turn()
    assert len(loop.cluster.leaving) == 2
    loop.restart()
    poll = loop.cluster.polled.poll
    kept, poll._documents = poll._documents, {}
    report = loop.loop.turn()
    assert [(one.state, one.target) for one in report.removals] == [("Failed", None)] * 2
    assert (loop.cluster.leaving, loop.store.load().leaving) == ({}, {})
    poll._documents = kept
    report = loop.turns(12)
    assert sizes(loop) == (0, 0), told(report)
    assert len(service.account.ended) == 2


def test_lead_times_of_instances_are_learned(service: Service) -> None:
    """An instance has no creation time, so the write counts. Two nodes join 25 s after it, and the loop sees them later. A third
    instance never joins: it is late once, when the policy's 15 minutes are over."""
    loop = Loop(service)
    loop.cluster.joins, loop.cluster.pods = set(), pending(2)
    loop.turn()
    written = loop.cluster.now()
    loop.turns(3)
    loop.cluster.joins, loop.cluster.joins_after = None, 25
    loop.turn()
    found = loop.store.load().lead_times["AutoScalingGroup eu-central-1/spot"]
    assert [(one.joined_seconds, one.usable_seconds) for one in found.requests] == 2 * [(25, loop.cluster.now() - written)]
    bind(loop, loop.groups["spot"])
    loop.cluster.joins = {one.instance_id for one in loop.groups["spot"].counted}
    loop.cluster.pods += pending(1, "more")
    for _ in range(100):
        loop.turn()
    found = loop.store.load().lead_times["AutoScalingGroup eu-central-1/spot"]
    assert [one.usable_seconds for one in found.requests[2:]] == [-900]
