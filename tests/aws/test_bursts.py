"""Many groups that are asked at once and have nothing to give: how many calls that costs until the pods have nodes elsewhere."""

from collections import Counter
from typing import Any

from reconciler.platforms.aws.writing.beside_groups import TOGETHER_SECONDS, BesideGroups
from tests.aws.documents import REGION, TEMPLATE
from tests.aws.scripted import Scripted
from tests.aws.service.server import Service
from tests.aws.test_asking import Clock
from tests.aws.test_loop import Loop, told
from tests.aws.writes import workers
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
    # 12 groups grow, and the one with stock grows: 13 writes. Before each, the group and its instance refreshes are read, and a
    # tag tells of it. Around groups: policies and schedules, and the lists of a few iterations.
    assert calls["SetDesiredCapacity"] == 13
    assert calls["DescribePolicies"] == calls["DescribeScheduledActions"] <= 6
    assert sum(calls.values()) <= 13 * 4 + 12 + 12, calls
    assert seconds <= 12
    # What was asked for in vain is taken back a minute after it was asked for: 12 writes, each after two reads of the group.
    service.account.calls.clear()
    for _ in range(20):
        loop.turn(4)
    assert sum(group.desired for name, group in loop.groups.items() if name != "general") == 0
    calls = Counter(action for action, _ in service.account.calls)
    assert calls["SetDesiredCapacity"] == 12
    assert calls["DescribeAutoScalingGroups"] <= 2 * 12 + 20, calls


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
