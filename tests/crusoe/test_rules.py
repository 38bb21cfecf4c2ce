"""What decisions ask about node pools: whom discovery takes, and whose autoscaler is at work."""

import pytest

from reconciler.cluster.target import TargetRef
from reconciler.cluster.values.selection import label_pairs
from reconciler.decisions.memory import Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.finding import Finding
from reconciler.platforms.crusoe.kinds import NODE_POOL
from reconciler.platforms.crusoe.lints import LINTS
from reconciler.platforms.crusoe.rules import RULES, takes
from reconciler.policy.documents import Discovery
from tests.aws.documents import REGION
from tests.aws.documents import group as scaling_group
from tests.aws.documents import world as aws_world
from tests.aws.policies import policy_set
from tests.cluster.objects import Object, obj
from tests.crusoe.documents import LOCATION, facts, pool, world
from tests.crusoe.loops import HEAD, group_text

AUTOSCALER = "ghcr.io/crusoecloud/cluster-autoscaler-crusoecloud:v1.30.3"
OF_AWS = f"""---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: workers, namespace: r}}
spec: {{policyRef: {{name: prod}}, target: {{aws: {{autoScalingGroup: workers, region: {REGION}}}}}}}
"""


@pytest.mark.parametrize(
    ("region", "tags", "taken"),
    [
        ("", {}, True),
        (LOCATION, {}, True),
        ("us-west1-a", {}, False),
        ("", {"team": "a"}, True),
        ("", {"team": ""}, True),
        ("", {"team": "b"}, False),
        ("", {"other": ""}, False),
        ("", {"team": "a", "other": "x"}, False),
        ("us-west1-a", {"team": "a"}, False),
    ],
)
def test_discovery(region: str, tags: dict[str, str], *, taken: bool) -> None:
    """In the location and with every label, AND; an empty value takes any."""
    item = Discovery(name="d", provider="crusoe", region=region, tags=label_pairs(tags))
    assert takes(item, facts(pool(node_labels={"team": "a", "zone": "1"}))) is taken


def test_the_target_in_a_policy() -> None:
    """As it is written there."""
    target = TargetRef(kind=NODE_POOL, region=LOCATION, name="h100")
    assert RULES.policy_value(target) == {"crusoe": {"nodePool": "h100", "location": LOCATION}}
    assert RULES.provider == "crusoe"


def deployment(
    name: str = "cluster-autoscaler", namespace: str = "crusoe-system", replicas: int = 1, image: str = "any:v1", kind: str = ""
) -> Object:
    spec = {"replicas": replicas, "template": {"spec": {"containers": [{"name": "c", "image": image}]}}}
    return obj(kind or "Deployment", "apps/v1", name, namespace, spec=spec)


def found(policy: str, *objects: Object) -> list[Finding]:
    seen = world(pool(), objects=objects)
    return list(LINTS.findings(View.of(seen, policy_set(policy), Memory(), seen.captured_seconds, Work(1_000_000))))


@pytest.mark.parametrize(
    ("there", "told"),
    [
        (deployment(), True),
        (deployment("crusoe-autoscaler-v2"), True),
        (deployment("sizer", image=AUTOSCALER), True),
        (deployment("sizer"), False),
        (deployment(namespace="kube-system"), False),
        (deployment(replicas=0), False),
        (deployment(kind="StatefulSet"), False),
    ],
)
def test_the_autoscaler_of_the_platform(there: Object, *, told: bool) -> None:
    """By its name or by what it runs, in the platform's own namespace, while it has replicas."""
    name = there["metadata"]["name"]
    expected = Finding(
        code="AutoscalerOfPlatform",
        object=f"Deployment crusoe-system/{name}",
        message="it has 1 replica and sizes every node pool of the cluster",
        advice="run one autoscaler: hold these groups with a reason and an end while it runs, or scale it to 0 for good",
    )
    assert found(HEAD + group_text(), there) == ([expected] if told else [])


def test_whose_groups_it_concerns() -> None:
    """A policy without node pools is none of its business; one with others beside them is."""
    assert found(HEAD, deployment()) == []
    assert len(found(HEAD + group_text() + OF_AWS, deployment())) == 1
    elsewhere = aws_world(scaling_group("workers"))
    view = View.of(elsewhere, policy_set(HEAD + OF_AWS), Memory(), elsewhere.captured_seconds, Work(1_000_000))
    assert list(LINTS.findings(view)) == []
