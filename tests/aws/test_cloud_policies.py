"""A loop begins on a cluster that keeps no targets itself where its policy asks for targets of a cloud."""

from pathlib import Path

import pytest

from reconciler.cli.processes.sized import in_clouds
from reconciler.providers.live_platforms import names_clouds
from tests.aws.documents import REGION
from tests.aws.policies import policy_set
from tests.aws.test_asking import NAMED, POLICY

_HEAD = """
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec:
"""
NAMED_ONLY = f"""{_HEAD}  mode: Observe
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: a, namespace: r}}
spec: {{policyRef: {{name: prod}}, target: {{aws: {{autoScalingGroup: a, region: {REGION}}}}}}}
"""
CLUSTER_API = f"{_HEAD}  discovery: [{{name: capi, clusterAPI: {{}}}}]\n"


@pytest.mark.parametrize(
    ("text", "named"),
    [(POLICY, True), (NAMED, True), (NAMED_ONLY, True), (CLUSTER_API, False), (f"{_HEAD}  mode: Observe\n", False)],
)
def test_named_or_discovered(tmp_path: Path, text: str, *, named: bool) -> None:
    """By its groups or by its discovery; as read, and from files."""
    (tmp_path / "policy.yaml").write_text(text)
    assert (names_clouds(policy_set(text)), in_clouds(tmp_path), in_clouds(tmp_path / "policy.yaml")) == (named,) * 3


def test_files_that_cannot_be_meant(tmp_path: Path) -> None:
    """Whoever follows them says what is wrong; here it is no policy of a cloud."""
    (tmp_path / "policy.yaml").write_text("kind: [")
    assert (in_clouds(tmp_path), in_clouds(tmp_path / "none")) == (False, False)
