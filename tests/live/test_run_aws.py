"""`reconciler run` with Auto Scaling groups beside MachineDeployments: one policy, both kinds, on a real control plane."""

import http.client
from pathlib import Path

import yaml

from tests.aws.documents import REGION
from tests.gitops.repositories import GitRepo
from tests.kube.custom_resources import definitions
from tests.live.aws_cloud import AwsCloud
from tests.live.demand import deployment as spread
from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import all_bound, deployment, group, pods, replicas
from tests.live.run_requests import changes
from tests.testbed.api import Object
from tests.testbed.control_plane import ControlPlane
from tests.testbed.work_cluster import WorkCluster

_TOKEN = "a secret of this test alone"
_GROUP = f"""\
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{{{name: spot, namespace: {{namespace}}}}}}
spec:
  policyRef: {{{{name: prod}}}}
  tier: first
  target: {{{{aws: {{{{autoScalingGroup: spot, region: {REGION}}}}}}}}}
"""


def policy(directory: Path, namespace: str) -> Path:
    """The Auto Scaling group `spot` in the higher tier, the MachineDeployment `general` in the lower one."""
    text = policy_text("prod", namespace, {"general": (0, 5)}, tiers={"spot": "first", "general": "second"}, unneeded="0s")
    file = directory / "policy.yaml"
    file.write_text(text + _GROUP.format(namespace=namespace))
    return file


def nodes_of_pods(cluster: WorkCluster, count: int) -> set[str]:
    """Where this cluster's pods run, once so many are bound."""
    return {str(pod["spec"]["nodeName"]) for pod in all_bound(cluster, count)}


def scale(cluster: WorkCluster, item: Object, count: int) -> None:
    """Another demand."""
    cluster.api.merge(item, {"spec": {"replicas": count}})


def test_both_kinds_in_one_policy(aws: AwsCloud, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Pending pods buy in the higher tier; what has no stock there is bought of the other kind; when demand is gone the nodes are
    drained, exactly the instances that the plan chose are terminated, and nothing moves any more."""
    cluster = aws.cluster
    spot = aws.group("spot")
    group(cluster, "general")
    big = deployment(cluster, "big", 2, "1500m")
    with Reconciler(
        user(control_plane, "run-aws"), policy(tmp_path, cluster.namespace), f"--namespace={cluster.namespace}", "--period=1",
        environment=aws.environment,
    ) as process:  # fmt: skip
        first = nodes_of_pods(cluster, 2)
        assert first == {aws.node(name) for name in spot.instances}
        assert (spot.desired, replicas(cluster, "general")) == (2, 0)
        # One beside each big pod.
        small = spread(cluster, "small", 2, "100m", beside=2)
        aws.stock(1)
        scale(cluster, big, 5)
        there = nodes_of_pods(cluster, 7)
        # One more instance, and the other two pods fit on one machine of four processors.
        assert len(there & {aws.node(name) for name in spot.instances}) == 3
        assert replicas(cluster, "general") == 1
        aws.until(lambda: spot.desired == 3, "what has no stock being taken back")
        assert aws.ended() == []
        general = {str(node["metadata"]["name"]) for node in cluster.nodes()}
        scale(cluster, big, 0)
        aws.until(lambda: len(spot.instances) == 1, "all instances but one being gone", lambda: process.page("/plan"))
        cluster.until_nodes(0)
        nodes_of_pods(cluster, 2)
        scale(cluster, small, 0)
        aws.until(lambda: not spot.instances, "the last instance being gone", lambda: process.page("/plan"))
        turns, writes = process.turns(), len(aws.writes())
        process.until_page("/metrics", lambda *_: process.turns() >= turns + 5)
        assert (len(aws.writes()), replicas(cluster, "general"), spot.desired) == (writes, 0, 0)
    removed = [line for line in process.lines if line["code"] == "RemoveNode" and line["result"] == "Done"]
    # A removal that was judged on a read from before the cancellation is refused, and begins once more.
    assert {name for line in removed for name in line["nodes"]} == {*map(aws.node, aws.ended()), *general}
    assert {line["reason"] for line in removed} == {"Empty", "Underutilized"}
    terminated = [given["InstanceId"] for action, given in aws.writes() if action == "TerminateInstanceInAutoScalingGroup"]
    assert sorted(aws.ended()) == sorted(terminated)
    assert "create pods/eviction" in changes(control_plane, "run-aws")


def unnamed(aws: AwsCloud, directory: Path) -> dict[str, str]:
    """An environment in which AWS can be asked, though nothing says that it is to be, and a server that keeps no targets."""
    given = directory / "credentials"
    given.write_text("[default]\naws_access_key_id = AKIATEST\naws_secret_access_key = secret\n")
    return {
        "AWS_SHARED_CREDENTIALS_FILE": str(given), "AWS_ENDPOINT_URL": aws.service.url, "AWS_EC2_METADATA_DISABLED": "true",
        "CAPI_GROUP": "absent.example.org",
    }  # fmt: skip


def test_only_the_policy_names_the_cloud(aws: AwsCloud, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Policies are custom resources, the server keeps no targets, nothing in the environment names AWS: the loop begins, says
    that there is nothing to size, asks AWS from the first policy that names a group, and no more when none names it, once its
    marks are off the group."""
    cluster = aws.cluster
    spot = aws.group("spot")
    environment = unnamed(aws, tmp_path)
    text = policy_text("prod", cluster.namespace, {"elsewhere": (0, 5)}, tiers={"spot": "first", "elsewhere": "second"})
    *others, named = yaml.safe_load_all(text + _GROUP.format(namespace=cluster.namespace))
    arguments = ("--custom-resources", "--name=prod", f"--namespace={cluster.namespace}", "--period=1")
    with (
        definitions(cluster.api),
        Reconciler(user(control_plane, "run-named"), None, *arguments, environment=environment) as process,
    ):
        cluster.api.create(*others)
        assert "names no target of a cloud" in process.said("NothingToSize")["message"]
        assert aws.account.calls == []
        pods(cluster, "p", 1, "1500m")
        cluster.api.create(named)
        assert nodes_of_pods(cluster, 1) == {aws.node(name) for name in spot.instances}
        assert spot.tags["reconciler.dev/policy"] == "prod"
        cluster.api.delete(named)
        aws.until(lambda: "reconciler.dev/policy" not in spot.tags, "the group being released", lambda: process.page("/plan"))
        asked = _quiet(aws, process)
        process.until_page("/metrics", lambda *_: process.turns() >= asked[1] + 5)
        assert (len(aws.account.calls), spot.desired) == (asked[0], 1)


def test_a_commit_names_the_cloud_while_the_loop_runs(aws: AwsCloud, control_plane: ControlPlane, tmp_path: Path) -> None:
    """The policy lies in git and names nothing of AWS: nothing is asked there. The next commit names a group, which grows and
    bears our mark; another one names none, and the mark goes though the size stays. A group that leaves while no process runs
    loses its mark by the next process, which knows it from the memory of the first."""
    cluster = aws.cluster
    spot = aws.group("spot")
    without = policy_text("prod", cluster.namespace, {"elsewhere": (0, 5)}, tiers={"spot": "first", "elsewhere": "second"})
    named = without + _GROUP.format(namespace=cluster.namespace)
    repo = GitRepo(tmp_path / "served")
    repo.commit({"policy.yaml": without})
    secret = tmp_path / "secret"
    secret.write_text(_TOKEN)
    arguments = (
        f"--git=file://{repo.root}", "--git-protocol=file", f"--git-cache={tmp_path / 'cache'}", "--name=prod",
        f"--webhook-secret-file={secret}", f"--namespace={cluster.namespace}", "--period=1",
    )  # fmt: skip
    kubeconfig, environment = user(control_plane, "run-commit"), unnamed(aws, tmp_path)

    def is_marked() -> bool:
        return "reconciler.dev/policy" in spot.tags

    def push(text: str, process: Reconciler) -> None:
        """A commit, and the word of the git host that there is one."""
        repo.commit({"policy.yaml": text})
        host = http.client.HTTPConnection("127.0.0.1", process.port(), timeout=120)
        host.request("POST", "/webhook", body=b"{}", headers={"X-Gitlab-Token": _TOKEN})
        assert host.getresponse().status == 202
        host.close()

    with Reconciler(kubeconfig, None, *arguments, environment=environment) as process:
        assert "names no target of a cloud" in process.said("NothingToSize")["message"]
        assert aws.account.calls == []
        pods(cluster, "p", 1, "1500m")
        push(named, process)
        assert nodes_of_pods(cluster, 1) == {aws.node(name) for name in spot.instances}
        assert is_marked()
        push(without, process)
        aws.until(lambda: not is_marked(), "the group being released", lambda: process.page("/plan"))
        pods(cluster, "q", 1, "1500m")
        push(named, process)
        aws.until(lambda: is_marked() and spot.desired == 2, "the group being sized again", lambda: process.page("/plan"))
    repo.commit({"policy.yaml": without})
    with Reconciler(kubeconfig, None, *arguments, environment=environment) as process:
        aws.until(lambda: not is_marked(), "the group being released", lambda: process.page("/plan"))
        assert spot.desired == 2


def _quiet(aws: AwsCloud, process: Reconciler) -> tuple[int, int]:
    """Calls and turns, once a few turns have asked nothing."""
    while True:
        before, turns = len(aws.account.calls), process.turns()
        process.until_page("/metrics", lambda *_, turns=turns: process.turns() >= turns + 3)
        if len(aws.account.calls) == before:
            return before, process.turns()
