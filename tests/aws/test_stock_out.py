"""A launch that AWS refuses, in the decision: back-off and the other group in the same plan, and what never came taken back."""

import json

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind, Plan
from tests.aws.documents import REGION, SIZERS, group, template_version
from tests.aws.policies import policy_set
from tests.aws.test_launch_failures import activity
from tests.cluster.objects import pod

PICK = {"LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "$Default"}}
POLICY = f"""
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: prod}}
spec:
  mode: Enforce
  tiers: [{{name: first}}, {{name: second}}]
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: first, namespace: r}}
spec: {{policyRef: {{name: prod}}, tier: first, target: {{aws: {{autoScalingGroup: workers, region: {REGION}}}}}}}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: second, namespace: r}}
spec: {{policyRef: {{name: prod}}, tier: second, target: {{aws: {{autoScalingGroup: spare, region: {REGION}}}}}}}
"""


def plan(*activities: object) -> tuple[Plan, Memory]:
    first = group("workers", DesiredCapacity=1, **PICK)
    files = {
        "asg.json": json.dumps({"AutoScalingGroups": [first, group("spare", **PICK)]}).encode(),
        "lt.json": json.dumps({"LaunchTemplateVersions": [template_version({"InstanceType": "m5.large"})]}).encode(),
        **{f"{key}.json": json.dumps({key: []}).encode() for key in SIZERS},
        "act.json": json.dumps({"Activities": activities}).encode(),
        "pods.json": json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [pod()]}).encode(),
    }
    world = read_snapshot(files)
    return decide(world, policy_set(POLICY), Memory(), world.captured_seconds + 60)


def test_s85_the_next_tier_in_the_same_plan() -> None:
    """S85: what AWS cannot give is not waited for: the pod buys of the next tier, and the request is taken back."""
    found, memory = plan(activity(1))
    kinds = {(action.kind, action.group, action.to) for action in found.actions}
    assert kinds == {(ActionKind.RESIZE, "second", 1), (ActionKind.CANCEL, "first", 0)}
    assert "InsufficientInstanceCapacity" in memory.backoffs["first"].reason
    line = next(line for line in found.groups if line.name == "first")
    assert any("InsufficientInstanceCapacity" in reason.message for reason in line.reasons)


def test_what_is_on_its_way_is_waited_for() -> None:
    """The same without an answer of AWS: the instance is on its way."""
    found, memory = plan()
    assert (found.actions, memory.backoffs) == ((), {})


def test_configuration_waits_longest() -> None:
    """No launch will succeed until a person mends the template: the first wait is the longest."""
    _, stock = plan(activity(1))
    _, broken = plan(activity(1, StatusMessage="The image id '[ami-0]' does not exist. Launching EC2 instance failed."))
    waits = [memory.backoffs["first"].until_seconds - memory.backoffs["first"].failed_seconds for memory in (stock, broken)]
    assert waits == [300, 1800]


def test_a_quota_waits_as_a_lack_of_stock_does() -> None:
    """The account may have no more: the next tier buys, and the cause is told."""
    message = (
        "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity than your current limit"
    )
    found, memory = plan(activity(1, StatusMessage=message))
    assert {(action.kind, action.group) for action in found.actions} == {
        (ActionKind.RESIZE, "second"),
        (ActionKind.CANCEL, "first"),
    }
    backoff = memory.backoffs["first"]
    assert ("VcpuLimitExceeded" in backoff.reason, backoff.until_seconds - backoff.failed_seconds) == (True, 300)
