"""A cloud, or one region or account of it, that cannot be asked holds its own groups, by name, and no others."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.kube.watching.live_world import LiveWorld
from reconciler.kube.watching.stream_state import Phase
from reconciler.kube.watching.trust import PATIENCE_SECONDS
from reconciler.kube.watching.watch_pace import RealPace
from reconciler.plan.plan import OwnerState, Plan
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.calls import AwsError
from reconciler.platforms.aws.writing.polling import AwsPoll
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.notes import InMemoryKeeper
from reconciler.platforms.crusoe.writing.polling import CrusoePoll
from tests.aws.documents import REGION
from tests.aws.documents import group as scaling_group
from tests.aws.policies import policy_set
from tests.aws.scripted import Scripted
from tests.crusoe.documents import CLUSTER, instance, machine_id
from tests.crusoe.documents import pool as node_pool
from tests.crusoe.scripted import Scripted as ScriptedCrusoe
from tests.kube import objects
from tests.kube.api_server import FakeApiServer
from tests.kube.cluster import eventually

NOW = 1_795_000_000
FAR, ROLE = "us-east-1", "arn:aws:iam::123456789012:role/other"
POLICY = f"""
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: prod}}
spec:
  mode: Enforce
  discovery:
    - {{name: near, aws: {{region: {REGION}, tags: {{team: x}}}}}}
    - {{name: far, aws: {{region: {FAR}, tags: {{team: x}}}}}}
"""
TARGETS = {
    "other": f"aws: {{autoScalingGroup: other, region: {REGION}, roleARN: '{ROLE}'}}",
    "pool": "crusoe: {nodePool: h100, location: us-east1-a}",
}
GROUP = """---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: {name}, namespace: r}}
spec:
  policyRef: {{name: prod}}
  target: {{{target}}}
  size: {{min: 0, max: 5}}
  template: {{capacity: {{cpu: 4, memory: 16Gi}}}}
"""
OWN = """\
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: capi, namespace: r}
spec:
  policyRef: {name: prod}
  target: {clusterAPI: {kind: MachineDeployment, namespace: prod, name: capi}}
  size: {min: 0, max: 5}
  template: {capacity: {cpu: 4, memory: 16Gi}, labels: {pool: capi}}
"""
GROUPS = "DescribeAutoScalingGroups"
PLACES = {"far": (FAR, ""), "near": (REGION, ""), "other": (REGION, ROLE)}
AWS_FAULTS: dict[str, Any] = {
    "403": AwsError("AccessDenied", "not authorized", status=403),
    "500": AwsError("InternalFailure", "an internal error", status=500),
    "unreachable": AwsError("Unreachable", "could not connect"),
    "garbage": {"AutoScalingGroups": ["<html>"]},
    "slow": None,
}
"""Of a slow one, no answer is there yet."""
CRUSOE_FAULTS: dict[str, Any] = {
    "403": CrusoeError("unauthorized", "no", status=403),
    "500": CrusoeError("internal", "an internal error", status=500),
    "unreachable": CrusoeError("unreachable", "could not connect"),
    "garbage": {"items": ["<html>"]},
}


class Clock(RealPace):
    """A clock that only the test moves."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class Polled:
    """A source that asks when the test says."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.ask: Callable[[], bool] = source.ask
        self._changed: Callable[[], None] = lambda: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def start(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    def stop(self) -> None:
        return

    def turn(self) -> None:
        if self.ask():
            self._changed()


class Clouds:
    """Three places of AWS, the pools of Crusoe, and one group of Cluster API."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.seconds = 0.0
        """The clock of the clouds."""
        self.answering = threading.Event()
        tags = {"team": "x"}
        self.aws = {
            name: Scripted(DescribeAutoScalingGroups=[{"AutoScalingGroups": [scaling_group(name, region=place[0], tags=tags)]}])
            for name, place in PLACES.items()
        }
        by_place = {place: self.aws[name] for name, place in PLACES.items()}
        accounts = Accounts(lambda region, role: by_place[region, role], lambda: self.seconds)
        one = machine_id(1)
        self.crusoe = ScriptedCrusoe(
            {
                "/nodepools": {"items": [node_pool(count=1, machines=(one,))]},
                "/vms": {"items": [instance(one)]},
                f"/clusters/{CLUSTER}": {"id": CLUSTER, "location": "us-east1-a"},
            }
        )
        self.policy = policy_set(
            POLICY + OWN + "".join(GROUP.format(name=name, target=target) for name, target in TARGETS.items())
        )
        self.polled = (
            Polled(AwsPoll(accounts, lambda: self.policy, lambda: self.seconds)),
            Polled(CrusoePoll(self.crusoe.account, InMemoryKeeper(), lambda: self.policy, lambda: self.seconds)),
        )

        self.asking = self.polled

    def fail(self, where: str, fault: str) -> None:
        """Let one place answer so from now on."""
        if (where, fault) == ("pool", "slow"):
            self.asking = self.polled[:1]
        elif where == "pool":
            self.crusoe.answers["/nodepools"] = [CRUSOE_FAULTS[fault]]
        elif fault == "slow":
            self.aws[where].answers[GROUPS] = self._slow
        else:
            self.aws[where].answers[GROUPS] = [AWS_FAULTS[fault]]

    def _slow(self, **_: Any) -> Any:
        self.answering.wait(60)
        return {"AutoScalingGroups": []}

    def turn(self, seconds: float) -> None:
        self.seconds += seconds
        for source in self.asking:
            source.turn()


@pytest.fixture
def clouds(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clouds]:
    """None of their rounds waits long for a slow region."""
    monkeypatch.setattr("reconciler.platforms.aws.writing.polling._ROUND_SECONDS", 0.1)
    made = Clouds()
    yield made
    made.answering.set()


@contextmanager
def following(clouds: Clouds) -> Iterator[LiveWorld]:
    """A cluster with a pod that only the group of Cluster API has room for."""
    server = FakeApiServer()
    for item in objects.definitions():
        server.define(item)
    server.put("/api/v1/nodes/n1", objects.node("n1"))
    server.put("/api/v1/namespaces/shop/pods/big", objects.pod("shop", "big", cpu="2", nodeSelector={"pool": "capi"}))
    own = f"/apis/{objects.GROUP}/v1beta2/namespaces/prod"
    server.put(f"{own}/clusters/c", {"kind": "Cluster", "metadata": {"namespace": "prod", "name": "c"}, "spec": {}})
    item = objects.machine_deployment("prod", "capi", 0)
    item["metadata"]["managedFields"] = [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:metadata": {}}}]
    server.put(f"{own}/machinedeployments/capi", item)
    server.put(
        f"/apis/{objects.INFRASTRUCTURE}/v1beta2/namespaces/prod/testmachinetemplates/small",
        objects.machine_template("prod", "small"),
    )
    polled: Any = clouds.polled
    world = LiveWorld(server, now_seconds=lambda: NOW, capi_group=objects.GROUP, pace=clouds.clock, polled=polled)
    world.start()
    try:
        yield world
    finally:
        clouds.clock.stop()
        assert world.stop()


def seen(live: LiveWorld, clouds: Clouds, *missing: str) -> World:
    """The view once everything has answered but what is missing, and as long was waited for that as a view waits at most."""

    def read() -> bool:
        clouds.turn(0)
        live.doubts()
        states = {one.collection: one.phase for one in live.freshness()}
        return "TestMachineTemplate" in states and all(
            phase in (Phase.SYNCED, Phase.ABSENT) for name, phase in states.items() if name not in missing
        )

    eventually(read, f"a view of all but {missing}", 60)
    clouds.clock.now += PATIENCE_SECONDS
    return live.observe()


def held(plan: Plan) -> dict[str, str]:
    """Why each group that is held is so, by its name."""
    return {line.name: line.owner.evidence[0] for line in plan.groups if line.owner.state is not OwnerState.OURS}


def grown(plan: Plan) -> list[str]:
    return [action.group for action in plan.actions if action.kind == "Resize"]


COLLECTIONS = {
    "far": f"Auto Scaling groups of {FAR}",
    "near": f"Auto Scaling groups of {REGION}",
    "other": f"Auto Scaling groups of {REGION} as {ROLE}",
    "pool": "node pools of Crusoe",
}


@pytest.mark.parametrize("fault", AWS_FAULTS)
@pytest.mark.parametrize("where", COLLECTIONS)
def test_one_that_never_answers(clouds: Clouds, where: str, fault: str) -> None:
    """The groups that the policy names there are held, and the others are decided. What was known of it stays remembered."""
    with following(clouds) as live:
        whole, memory = decide(seen(live, clouds), clouds.policy, Memory(), NOW)
        assert held(whole) == {}
    after_restart = Clouds()
    after_restart.fail(where, fault)
    with following(after_restart) as live:
        plan, after = decide(seen(live, after_restart, COLLECTIONS[where]), clouds.policy, memory, NOW)
        after_restart.answering.set()
    assert sorted(held(plan)) == ([where] if where in TARGETS else [])
    assert all(" cannot be read: waiting" in why for why in held(plan).values())
    assert grown(plan) == ["capi"]
    # Of one of two roles in a region, nobody knows which groups it would have told.
    lost = set() if where != "near" else {f"AutoScalingGroup {REGION}/near"}
    assert memory.known_groups.keys() - after.known_groups.keys() == lost


@pytest.mark.parametrize("fault", AWS_FAULTS)
@pytest.mark.parametrize("where", COLLECTIONS)
def test_one_that_answers_no_more(clouds: Clouds, where: str, fault: str) -> None:
    """Its last answer counts for as long as any, and without another wait its groups are held with the size that they had."""
    with following(clouds) as live:
        _, memory = decide(seen(live, clouds), clouds.policy, Memory(), NOW)
        clouds.fail(where, fault)
        for _ in range(4):
            clouds.turn(31)
            assert live.doubts() == ()
        plan, after = decide(live.observe(), clouds.policy, memory, NOW)
        clouds.answering.set()
    why = held(plan)
    assert list(why) == [where]
    assert " cannot be read: the server has been silent for more than 120 s" in why[where]
    assert fault == "slow" or why[where].endswith(")"), "what it answers instead is told"
    assert grown(plan) == ["capi"]
    assert (after.known_groups, after.claims) == (memory.known_groups, memory.claims)


@pytest.mark.parametrize("where", ["far", "near", "other"])
def test_one_that_does_not_tell_who_else_sizes_its_groups(clouds: Clouds, where: str) -> None:
    """That another place tells it of its own groups proves nothing there."""
    clouds.aws[where].answers["DescribePolicies"] = [AWS_FAULTS["403"]]
    with following(clouds) as live:
        plan, _ = decide(seen(live, clouds), clouds.policy, Memory(), NOW)
    assert list(held(plan)) == [where]
    assert "AWS does not tell each ScalingPolicy there" in held(plan)[where]
    assert grown(plan) == ["capi"]
