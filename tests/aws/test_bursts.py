"""Many groups that are asked at once and have nothing to give: how many calls that costs until the pods have nodes elsewhere."""

import threading
from bisect import bisect_left
from collections import Counter
from typing import Any

import pytest

from reconciler.cluster.target import TargetRef
from reconciler.control.live.live_port import LivePort
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.beside_groups import TOGETHER_SECONDS, BesideGroups
from reconciler.platforms.aws.writing.call_rate import Bucket
from reconciler.platforms.aws.writing.provider import AwsProvider
from tests.aws.documents import REGION, TEMPLATE, group
from tests.aws.scripted import Scripted
from tests.aws.service.server import Service
from tests.aws.test_asking import Clock
from tests.aws.test_loop import Loop, told
from tests.aws.virtual_world import VirtualWorld, group_policy, policy_text
from tests.aws.writes import bound_by, workers
from tests.cluster.objects import container, pod

GROUPS = 12
HEAD = """
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec:
  mode: Enforce
  tiers: [{name: spot}, {name: general}]
  pace: {delayAfterAdd: 0s, delayAfterFailure: 0s}
"""


def named(name: str, tier: str) -> str:
    target = f"{{aws: {{autoScalingGroup: {name}, region: {REGION}}}}}"
    return f"""---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: {name}, namespace: r}}
spec: {{policyRef: {{name: prod}}, tier: {tier}, target: {target}}}
"""


def burst(service: Service) -> Loop:
    """Twelve spot groups of one zone and type that is out of stock, each asked for by a pod of its own; one that has all."""
    loop = Loop(service)
    service.account.groups.clear()
    loop.groups.clear()
    for number in range(GROUPS):
        group = workers(f"spot-{number}", desired=0, max_size=5, tags={f"{TEMPLATE}label/n{number}": "a"})
        group.instance_type = "c5.large"
        loop.groups[group.name] = service.account.add(group)
    tags = {f"{TEMPLATE}label/n{number}": "a" for number in range(GROUPS)}
    loop.groups["general"] = service.account.add(workers("general", desired=0, max_size=20, tags=tags))
    service.account.stock[f"{REGION}a", "c5.large"] = 0
    loop.restart(HEAD + "".join(named(name, "general" if name == "general" else "spot") for name in loop.groups))
    loop.turn()
    return loop


def pods() -> list[dict[str, Any]]:
    return [
        pod(f"web-{number}", containers=[container("1500m", "1Gi")], nodeSelector={f"n{number}": "a"}) for number in range(GROUPS)
    ]


def test_twelve_groups_without_stock(service: Service) -> None:
    loop = burst(service)
    loop.cluster.pods = pods()
    service.account.calls.clear()
    seconds = 0
    while loop.groups["general"].desired < GROUPS and seconds < 120:
        report = loop.turn(4)
        seconds += 4
    calls = Counter(action for action, _ in service.account.calls)
    assert loop.groups["general"].desired == GROUPS, told(report)
    # 12 groups grow, and the one with stock grows: 13 writes. Before each, its instance refreshes are read, and a tag is written.
    # Groups, policies and schedules are read together. The rest is of a few iterations.
    assert calls["SetDesiredCapacity"] == 13
    assert calls["DescribePolicies"] == calls["DescribeScheduledActions"] <= 3
    assert sum(calls.values()) <= 13 * 3 + 16, calls
    assert seconds <= 12
    # What was asked for in vain is taken back from a minute after it was asked for on, when AWS is asked for little else.
    service.account.calls.clear()
    for _ in range(40):
        loop.turn(4)
    assert sum(group.desired for name, group in loop.groups.items() if name != "general") == 0
    calls = Counter(action for action, _ in service.account.calls)
    assert calls["SetDesiredCapacity"] == 12
    # One more read of each group, few of all together, and one for each iteration.
    assert calls["DescribeAutoScalingGroups"] <= 12 + 8 + 40, calls


def storm(there: int) -> VirtualWorld:
    """Twelve groups of as many instances with a pod each. One more pod of each waits, and only the next tier has stock."""
    labels = [f"n{number}" for number in range(GROUPS)]
    groups = [
        workers(
            f"spot-{number:02}", desired=there, max_size=5, tags={f"{TEMPLATE}label/n{number}": "a"}, instance_type="m5.xlarge"
        )
        for number in range(GROUPS)
    ]
    groups.append(workers("general", desired=0, tags={f"{TEMPLATE}label/{label}": "a" for label in labels}))
    policies = [group_policy(group.name, tier="spot" if group.name.startswith("spot") else "general") for group in groups]
    world = VirtualWorld(policy_text(*policies, tiers="spot general"), *groups)
    world.account.stock[f"{REGION}a", "m5.xlarge"] = 0
    for label in labels:
        world.add_pods(f"there-{label}", there, "3", nodeSelector={label: "a"})
    world.run(180)
    assert world.waiting == []
    for label in labels:
        world.add_pods(f"more-{label}", 1, nodeSelector={label: "a"})
    return world


@pytest.mark.parametrize(("there", "seconds", "lag"), [(0, 2, 0), (1, 10, 0), (1, 10, 10)])
def test_sixty_calls_in_any_minute(there: int, seconds: float, lag: float) -> None:
    """All pods have nodes elsewhere within a minute of the first report of a failure, and all is taken back within minutes."""
    world = storm(there)
    world.interval_seconds = seconds
    if lag:
        world.service.latency, world.service.lag = (lambda: 0.3), (lambda: lag)
    calls: list[float] = []
    world.account.before.append(lambda _action, _parameters: calls.append(world.account.now))
    failed = served = 0.0
    for _ in range(50):
        world.run(10)
        if not failed and any(one["StatusCode"] == "Failed" for one in world.account.activities):
            failed = world.account.now
        if not served and world.groups["general"].desired == GROUPS:
            served = world.account.now
    most = max(bisect_left(calls, at + 60) - number for number, at in enumerate(calls))
    assert most <= 60
    assert failed
    assert 0 < served <= failed + 60
    assert world.sizes() == {**{f"spot-{number:02}": there for number in range(GROUPS)}, "general": GROUPS}
    assert not any(one.protected for group in world.groups.values() for one in group.counted)


def test_groups_are_written_side_by_side() -> None:
    """Eight writes are under way at once: each of them waits for the others, so that one after the other would fail."""
    together = threading.Barrier(8)
    names = [f"g{number}" for number in range(8)]
    items = {name: group(name, MaxSize=5) for name in names}

    def sized(**_: Any) -> dict[str, Any]:
        together.wait(60)
        return {}

    aws = Scripted(
        DescribeAutoScalingGroups=lambda **asked: {"AutoScalingGroups": [items[one] for one in asked["AutoScalingGroupNames"]]},
        SetDesiredCapacity=sized,
    )
    accounts = Accounts(lambda _region, _role: aws)
    provider = AwsProvider(accounts)
    targets = [TargetRef(kind=AUTO_SCALING_GROUP, region=REGION, name=name) for name in names]
    bounds = [bound_by(aws, target) for target in targets]
    aws.told()
    port = LivePort(None, lambda: 0, None, {AUTO_SCALING_GROUP: provider}, None, "prod")  # type: ignore[arg-type]
    results = port.together(targets, lambda number: port.resize(targets[number], 1, bounds[number]))
    assert [result.code for result in results] == [""] * 8
    asked = [parameters for action, parameters in aws.told() if action == "DescribeAutoScalingGroups"]
    assert [sorted(parameters["AutoScalingGroupNames"]) for parameters in asked] == [names]


def test_what_is_read_together_counts_for_one_write() -> None:
    """And for five seconds; a group that is gone is gone."""
    clock = Clock()
    aws = Scripted(
        DescribeAutoScalingGroups=lambda **asked: {
            "AutoScalingGroups": [{"AutoScalingGroupName": name} for name in asked["AutoScalingGroupNames"] if name != "gone"]
        }
    )
    around = BesideGroups(clock)
    around.expect(["a", "gone", "b", "c"])
    assert [around.described(aws, name)[0] is not None for name in ("b", "gone", "a")] == [True, False, True]
    assert [parameters["AutoScalingGroupNames"] for _, parameters in aws.told()] == [["b", "a", "gone", "c"]]
    around.described(aws, "b")
    clock.seconds += TOGETHER_SECONDS
    around.described(aws, "c")
    assert [parameters["AutoScalingGroupNames"] for _, parameters in aws.told()] == [["b"], ["c"]]


def test_what_can_wait_waits_for_half_a_minute_at_most() -> None:
    clock = Clock()
    bucket = Bucket(monotonic=clock, sleep=clock.sleep)
    assert [bucket.spare(5) for _ in range(11)] == [True] * 10 + [False]
    clock.seconds += 10
    for _ in range(48):
        bucket.take()
    began = clock.seconds
    assert not bucket.spare(5)
    clock.seconds = began + 30
    assert [bucket.spare(5), bucket.spare(5)] == [True, False]
    clock.seconds = began + 60
    assert bucket.spare(5)


def test_what_is_listed_for_all_is_not_kept() -> None:
    """Two groups are asked for alone; then all are listed, which counts for five seconds, and no longer."""
    clock = Clock()
    aws = Scripted(
        DescribePolicies=lambda **asked: {
            "ScalingPolicies": [
                {"AutoScalingGroupName": name, "PolicyName": "p"}
                for name in ("a", "c")
                if asked.get("AutoScalingGroupName") in (None, name)
            ]
        }
    )
    around = BesideGroups(clock)
    assert [len(around.of(aws, name).policies) for name in "abcdc"] == [1, 0, 1, 0, 1]
    alone = [parameters.get("AutoScalingGroupName") for action, parameters in aws.told() if action == "DescribePolicies"]
    assert alone == ["a", "b", None]
    clock.seconds += TOGETHER_SECONDS
    assert len(around.of(aws, "a").policies) == 1
    assert [parameters.get("AutoScalingGroupName") for _, parameters in aws.told()] == ["a", "a"]
