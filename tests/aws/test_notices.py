"""What AWS announces for an instance: recognised by the taint of whoever heard it, told, and waited for."""

import json
from typing import Any

import pytest

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from tests.aws.documents import REGION, group, template_version
from tests.aws.policies import policy_set
from tests.aws.test_once import EXAMPLE
from tests.aws.test_stock_out import PICK
from tests.cluster.objects import container, node, pod

HANDLER = "aws-node-termination-handler/"
NAME = "i-00000000000000001"
POLICY = f"""
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: prod}}
spec:
  mode: Enforce
  budgets: [{{nodes: 10}}]
  pace: {{delayAfterAdd: 0s}}
  defaults: {{scaleDown: {{unneededTime: 0s}}}}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: spot, namespace: r}}
spec: {{policyRef: {{name: prod}}, target: {{aws: {{autoScalingGroup: workers, region: {REGION}}}}}}}
"""


def world(
    *, taint: str = "", state: str = "InService", activities: tuple[Any, ...] = (), running: int = 1, pods: bool = True
) -> World:
    """One group of so many instances, the first of which bears the taint and runs a pod of one and a half processors, or none."""
    names = [f"i-{number + 1:017x}" for number in range(running)]
    instances = [
        {
            "InstanceId": name, "AvailabilityZone": f"{REGION}a", "InstanceType": "m5.large",
            "LifecycleState": state if name == NAME else "InService",
        }
        for name in names
    ]  # fmt: skip
    taints = [{"key": taint, "value": "1", "effect": "NoSchedule"}] if taint else []
    nodes = [
        node(
            f"n-{name}", cpu="1930m", memory="6903Mi",
            spec={"providerID": f"aws:///{REGION}a/{name}", **({"taints": taints} if name == NAME and taints else {})},
        )
        for name in names
    ]  # fmt: skip
    runs = pod("web", status={"phase": "Running"}, nodeName=f"n-{NAME}", containers=[container("1500m", "1Gi")])
    files = {
        "asg.json": {"AutoScalingGroups": [group("workers", DesiredCapacity=running, Instances=instances, **PICK)]},
        "lt.json": {"LaunchTemplateVersions": [template_version({"InstanceType": "m5.large"})]},
        "policies.json": {"ScalingPolicies": []},
        "schedules.json": {"ScheduledUpdateGroupActions": []},
        "refreshes.json": {"InstanceRefreshes": []},
        "activities.json": {"Activities": list(activities)},
        "all.json": {"apiVersion": "v1", "kind": "List", "items": [*nodes, *([runs] if pods else [])]},
    }
    manifest = (EXAMPLE / "cluster" / "snapshot.yaml").read_bytes()
    return read_snapshot({"snapshot.yaml": manifest, **{name: json.dumps(content).encode() for name, content in files.items()}})


def plan(found: World) -> Plan:
    return decide(found, policy_set(POLICY), Memory(), found.captured_seconds + 60)[0]


def told(found: World) -> set[str]:
    return {caution.code for caution in found.targets[0].cautions}


@pytest.mark.parametrize(("taint", "code"), [("spot-itn", "SpotInterruption"), ("asg-lifecycle-termination", "InstanceLeaves")])
def test_one_that_is_certain_to_go_is_waited_for(taint: str, code: str) -> None:
    """Desired capacity stays, so that AWS makes another: nothing is bought beside it and nothing is removed; the pod has its
    place on the successor."""
    found = world(taint=HANDLER + taint)
    decided = plan(found)
    assert (code in told(found), decided.actions) == (True, ())
    assert [(line.name, line.current, line.desired) for line in decided.groups] == [("spot", 1, 1)]
    assert [line.state for line in decided.nodes] == ["Leaving"]
    assert plan(world(taint=HANDLER + taint, pods=False)).actions == ()
    assert len(plan(world(pods=False)).actions) == 1, "without the notice the empty node goes"


@pytest.mark.parametrize(
    ("taint", "code"),
    [("rebalance-recommendation", "RebalanceRecommendation"), ("scheduled-maintenance", "ScheduledMaintenance")],
)
def test_one_that_may_go_is_told(taint: str, code: str) -> None:
    """Its node is none that leaves: it may stay for weeks, and nothing is bought for it."""
    found = world(taint=HANDLER + taint)
    decided = plan(found)
    assert (code in told(found), decided.actions) == (True, ())
    assert [line.state for line in decided.nodes] == ["InUse"]


def test_without_a_notice_nothing_is_told() -> None:
    """Taints of others say nothing of AWS."""
    found = world(taint="example.com/maintenance")
    assert told(found) & {"SpotInterruption", "RebalanceRecommendation", "TakenByAws"} == set()


def terminating(cause: str) -> dict[str, Any]:
    return {
        "ActivityId": "a", "AutoScalingGroupName": "workers", "Description": f"Terminating EC2 instance: {NAME}",
        "Cause": f"At 2026-11-22T06:00:00Z {cause}", "StartTime": "2026-11-22T06:00:00Z", "StatusCode": "InProgress",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (
            "an instance was taken out of service in response to an EC2 health check indicating it has been terminated.",
            "a health",
        ),
        ("instances were launched to balance instances in zones eu-central-1a; an instance was taken out of service", "AZ rebal"),
        ("an instance was taken out of service in response to an EC2 instance rebalance recommendation.", "capacity rebalancing"),
        ("an instance was terminated in response to an instance refresh.", "an instance refresh"),
        ("something that nobody knows.", "something that nobody knows"),
    ],
)
def test_incident_11_what_aws_takes_is_attributed(cause: str, words: str) -> None:
    """Who has ended it, in a few words, and its place is kept: the group does not shrink for it."""
    found = world(state="Terminating", activities=(terminating(cause),), running=2)
    messages = [caution.message for caution in found.targets[0].cautions if caution.code == "TakenByAws"]
    assert (len(messages), words in messages[0], NAME in messages[0]) == (1, True, True)
    assert plan(found).groups[0].desired == 2


def test_what_we_asked_for_is_ours() -> None:
    """A termination by a user's request is no doing of AWS."""
    found = world(state="Terminating", activities=(terminating("an instance was taken out in response to a user request."),))
    assert "TakenByAws" not in told(found)
