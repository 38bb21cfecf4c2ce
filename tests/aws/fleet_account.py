"""Loops of several clusters on one service: each has its own nodes, pods, memory and role, in one process or in several.

All turn at the same time, in threads. What each one writes is kept with its name.
"""

import random
import threading
from collections.abc import Callable, Iterable
from typing import Any

from reconciler.control.live.live_port import LivePort
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.control.turn.turn_report import LoopReport
from reconciler.decisions.groups.cluster_names import CLUSTER_MARK
from reconciler.decisions.ownership.owner import POLICY_MARK
from reconciler.kube.drain import SeenNode
from reconciler.kube.leading.loop_name import LoopName
from reconciler.kube.leading.target_holders import TargetHolders
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.calls import Answer, Aws
from reconciler.platforms.aws.writing.polling import AwsPoll
from reconciler.platforms.aws.writing.provider import AwsProvider
from reconciler.platforms.aws.writing.wanted_groups import role_of
from reconciler.values.cluster_identity import ClusterIdentity, FleetPlace
from tests.aws.documents import REGION, TEMPLATE
from tests.aws.policies import policy_set
from tests.aws.service.server import Service
from tests.aws.service.state import Group, Instance
from tests.aws.test_asking import Clock
from tests.aws.test_loop import Cluster
from tests.aws.virtual_world import one_by_one
from tests.aws.writes import client, workers
from tests.kube.api_server import FakeApiServer

ENABLED = "k8s.io/cluster-autoscaler/enabled"
HOME = "reconciler"
_READS = ("Describe", "List", "Get")


def tags(**more: str) -> dict[str, str]:
    """Those of discovery, and what a new node has."""
    return {ENABLED: "true", f"{TEMPLATE}label/team": "a", **more}


def of(cluster: str) -> dict[str, str]:
    """The tag of a cluster."""
    return {f"kubernetes.io/cluster/{cluster}": "owned"}


def role(cluster: str) -> str:
    return f"arn:aws:iam::123456789012:role/{cluster}"


def policy(cluster: str, *, roles: bool) -> str:
    assumed = f", roleARN: '{role(cluster)}'" if roles else ""
    return f"""
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: fleet}}
spec:
  mode: Enforce
  discovery:
    - {{name: all, aws: {{region: {REGION}, tags: {{{ENABLED}: ""}}{assumed}}}}}
  budgets: [{{nodes: 10}}]
  pace: {{delayAfterAdd: 0s, delayAfterFailure: 0s}}
  defaults: {{scaleDown: {{unneededTime: 0s}}}}
"""


class Recorded:
    """An `Aws` that keeps who wrote what: the thread of a loop has its name."""

    def __init__(self, aws: Aws, account: "FleetAccount") -> None:
        self._aws = aws
        self._account = account

    def call(self, service: str, action: str, **parameters: Any) -> Answer:
        if not action.startswith(_READS):
            self._account.tried(threading.current_thread().name, action, parameters)
        return self._aws.call(service, action, **parameters)


class Member(Cluster):
    """The loop of one cluster, and what it sees."""

    def __init__(self, account: "FleetAccount", cluster: ClusterIdentity, accounts: Accounts, *, roles: bool) -> None:
        self.account, self.identity, self.service = account, cluster, account.service
        self.policy = policy_set(policy(cluster.name, roles=roles))
        self.pods, self.leaving, self.remaining, self.joins, self.joins_after = [], {}, 0, None, 0
        name = LoopName("fleet", cluster.namespace, cluster.name)
        self.poll = AwsPoll(
            accounts, self.current, account.clock, None, lambda: self.service.account.now, name.text, self.place
        )  # fmt: skip
        self.polled = self  # type: ignore[assignment] - a poll is all that is asked of it
        provider = AwsProvider(
            accounts, lambda target: role_of(self.policy, target.region, target.name), lambda: None, cluster.title, name.text
        )
        marks = {POLICY_MARK: "fleet", CLUSTER_MARK: cluster.title}
        holders = TargetHolders(account.api, HOME, cluster.title, {})  # type: ignore[arg-type]
        self.port = LivePort(
            self, self.now, self, {AUTO_SCALING_GROUP: provider}, self, "fleet", lambda _: marks, fleet=self.place,
            holders=holders, several=one_by_one,
        )  # fmt: skip
        self.loop = ControlLoop(self.port, self, InMemoryStore())
        self.reports: list[LoopReport] = []

    def place(self) -> FleetPlace:
        return FleetPlace(cluster=self.identity, others=tuple(one for one in self.account.clusters if one != self.identity))

    def turn(self) -> None:
        self.poll.ask()
        self.reports.append(self.loop.turn())

    def begin(self, name: str, _: SeenNode | None = None) -> None:
        self.leaving[name] = f"fleet.{self.now()}"

    def observe(self) -> Any:
        with self.service.lock:
            return super().observe()

    def _nodes(self) -> list[dict[str, Any]]:
        self.joins = {
            instance.instance_id
            for group in self.service.account.groups.values()
            for instance in group.instances.values()
            if self.account.home(group, instance) == self.identity.name
        }
        return super()._nodes()


class FleetAccount:
    """`processes`: how many there are; the loops are dealt to them in turn. `roles`: each cluster has its own role. `home` is the
    cluster that an instance of a group joins."""

    def __init__(
        self, service: Service, clusters: Iterable[ClusterIdentity], *, processes: int = 1, roles: bool = False,
        home: Callable[[Group, Instance], str] = lambda group, _: group.name.partition("-")[0],
    ) -> None:  # fmt: skip
        self.service, self.home = service, home
        self.clusters = tuple(clusters)
        self.api = FakeApiServer()
        self.clock = Clock()
        self.writes: list[tuple[str, str, str]] = []
        """Who, what, on which group."""
        self._lock = threading.Lock()
        made = [
            Accounts(lambda region, as_role: Recorded(client(region, as_role, service.url), self), self.clock)
            for _ in range(processes)
        ]
        for accounts in made:
            for one in {"", *(role(cluster.name) for cluster in self.clusters)}:
                # On the test's clock, so that nobody waits for a token.
                metered = accounts.of(REGION, one)
                metered._bucket._monotonic, metered._bucket._sleep = self.clock, self.clock.sleep
                metered._bucket._at = 0.0
        self.members = [
            Member(self, cluster, made[number % processes], roles=roles) for number, cluster in enumerate(self.clusters)
        ]

    def turn(self, seconds: float = 10) -> None:
        """Time passes, and all loops turn at once."""
        self.clock.seconds += seconds
        self.service.advance(seconds)
        threads = [threading.Thread(target=one.turn, name=one.identity.title) for one in self.members]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def tried(self, who: str, action: str, parameters: dict[str, Any]) -> None:
        with self._lock:
            self.writes.append((who, action, self._group(parameters)))

    def writers(self) -> dict[str, set[str]]:
        """Who has written, or tried to, by group."""
        found: dict[str, set[str]] = {}
        for who, _, group in self.writes:
            found.setdefault(group, set()).add(who)
        return found

    def _group(self, parameters: dict[str, Any]) -> str:
        if "Tags" in parameters:
            return str(parameters["Tags"][0]["ResourceId"])
        if "AutoScalingGroupName" in parameters:
            return str(parameters["AutoScalingGroupName"])
        groups = self.service.account.groups.values()
        return next(group.name for group in groups if parameters["InstanceId"] in group.instances)


def cluster(name: str, namespace: str = "infra") -> ClusterIdentity:
    return ClusterIdentity(name=name, namespace=namespace)


def add(service: Service, name: str, more: dict[str, str] | None = None, *, desired: int = 0, **rest: Any) -> Group:
    return service.account.add(workers(name, desired=desired, max_size=6, tags=tags(**(more or {})), **rest))


def unkind(service: Service, dice: random.Random) -> None:
    """Slow answers, old descriptions, and things that take their time."""
    slowest, oldest = dice.uniform(0, 3), dice.uniform(0, 25)
    service.latency, service.lag = (lambda: dice.uniform(0, slowest)), (lambda: dice.uniform(0, oldest))
    service.account.timing.launch, service.account.timing.terminate = dice.uniform(5, 60), dice.uniform(1, 30)


def told(member: Member) -> object:
    report = member.reports[-1]
    return (
        report.unavailable,
        [(one.action.kind, one.action.group, one.state, one.message) for one in report.results],
        [
            (line.name, line.held, [reason.message for reason in line.reasons])
            for line in (report.plan.groups if report.plan else ())
        ],
    )


def by_group(member: Member) -> dict[str, tuple[str, ...]]:
    """The codes of the reasons of each group in the last plan."""
    plan = member.reports[-1].plan
    assert plan is not None, told(member)
    return {line.name: tuple(reason.code for reason in line.reasons) for line in plan.groups}
