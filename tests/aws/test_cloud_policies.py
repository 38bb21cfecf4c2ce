"""A loop begins on a cluster that keeps no targets itself where its policy asks for targets of a cloud."""

from pathlib import Path
from typing import cast

import pytest

from reconciler.cli.inputs.connections import Connections
from reconciler.cli.outputs.failure import InputError
from reconciler.cli.processes.sized import Sized, check_sized, in_clouds
from reconciler.kube.connection.transport import KubernetesApi
from reconciler.kube.watching.collection import Served, cluster_api
from reconciler.policy.unread_targets import unread_targets
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


def test_targets_that_nobody_has_asked_for() -> None:
    """They are kept by the cloud: files alone cannot tell whether they are there."""
    (note,) = unread_targets([policy_set(NAMED_ONLY), policy_set(CLUSTER_API)])
    assert (note.code, note.object) == ("TargetsNotRead", "aws")
    assert note.message.startswith("1 group (a) names targets of which none was read")


def test_files_that_cannot_be_meant(tmp_path: Path) -> None:
    """Whoever follows them says what is wrong; here it is no policy of a cloud."""
    (tmp_path / "policy.yaml").write_text("kind: [")
    assert (in_clouds(tmp_path), in_clouds(tmp_path / "none")) == (False, False)


class _Server:
    server = "https://one.example"


def connections(*served: Served) -> Connections:
    """One server that keeps targets of these platforms; nothing of it is asked."""
    only = cast(KubernetesApi, _Server())
    return Connections(only, only, served)


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in the environment names a cloud."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("nowhere")
def test_files_that_size_nothing_are_refused(tmp_path: Path) -> None:
    """What a repository or a cluster will say is not known when the process begins: there it does begin."""
    file = tmp_path / "policy.yaml"
    file.write_text(CLUSTER_API)
    with pytest.raises(InputError, match="has nothing whose replicas could be changed"):
        check_sized(connections(), file)
    check_sized(connections(), None)
    check_sized(connections(cluster_api()), file)
    file.write_text(NAMED_ONLY)
    check_sized(connections(), file)


@pytest.mark.usefixtures("nowhere")
def test_a_policy_in_force_that_sizes_nothing_is_told_once() -> None:
    """And again after one that had something; never where the server keeps targets."""
    told: list[str] = []
    sized = Sized(connections(), told.append)
    for text, count in ((CLUSTER_API, 1), (CLUSTER_API, 1), (NAMED_ONLY, 1), (CLUSTER_API, 2)):
        sized.look(policy_set(text))
        assert len(told) == count
    assert "https://one.example" in told[0]
    assert "names no target of a cloud" in told[0]
    Sized(connections(cluster_api()), told.append).look(policy_set(CLUSTER_API))
    assert len(told) == 2
