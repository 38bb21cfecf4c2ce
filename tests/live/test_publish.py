"""A live cluster published to a branch and previewed from there; pull requests previewed inside the cluster."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from reconciler.cli.main import cli
from tests.gitops.hosts import TOKEN, Host, github_host
from tests.gitops.repositories import GitRepo
from tests.gitops.servers import http_host
from tests.live.command_line import CommandLine, Object
from tests.live.reconciler_process import policy_text
from tests.testbed.cluster_documents import Group
from tests.testbed.control_plane import ControlPlane
from tests.testbed.work_cluster import WorkCluster

SECRET = "s3cret"


@pytest.fixture(scope="module")
def command_line(control_plane: ControlPlane) -> CommandLine:
    return CommandLine(control_plane.kubeconfig)


@pytest.fixture(scope="module")
def cluster(paused: WorkCluster) -> WorkCluster:
    """A paused cluster with a group of two, and a pod whose environment is nobody's business."""
    paused.machine_deployment(Group("general", replicas=2, min_size=1, max_size=9))
    container = {"name": "c", "image": f"registry.example/{SECRET}", "env": [{"name": "A", "value": SECRET}]}
    paused.api.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "telling-name", "namespace": paused.namespace},
            "spec": {"containers": [container]},
        }
    )
    return paused


@pytest.fixture
def repo(tmp_path: Path, cluster: WorkCluster) -> GitRepo:
    """The cluster's policy on `main`, a change of it as pull request 7."""
    made = GitRepo(tmp_path / "repo")
    made.git("config", "http.receivepack", "true")
    made.commit({"policies/policy.yaml": policy_text("read", cluster.namespace, {"general": (1, 5)})})
    made.branch("change")
    head = made.commit({"policies/policy.yaml": policy_text("read", cluster.namespace, {"general": (4, 5)})})
    made.git("update-ref", "refs/pull/7/head", head)
    return made


@pytest.fixture
def url(tmp_path: Path, repo: GitRepo) -> Iterator[str]:
    with http_host(tmp_path) as host:
        yield f"{host.url}/repo/.git"


def test_published_and_previewed(command_line: CommandLine, cluster: WorkCluster, repo: GitRepo, url: str, tmp_path: Path):
    """The branch tells what the change would do to a paused group; environment, image and the pod's name are not in it."""
    narrowed = ("--target-namespace", cluster.namespace)
    told = command_line.done("snapshot", "--publish", url, "--git-protocol", "http", "--cluster-name", "prod", *narrowed)
    assert "published to refs/heads/reconciler-snapshots as " in told.stderr
    for name in repo.git("ls-tree", "-r", "--name-only", "reconciler-snapshots").splitlines():
        packed = subprocess.run(["git", "show", f"reconciler-snapshots:{name}"], cwd=repo.root, capture_output=True, check=True)
        (tmp_path / "one").write_bytes(packed.stdout)
        text = subprocess.run(["gzip", "-dcf", str(tmp_path / "one")], capture_output=True, check=True).stdout
        assert SECRET.encode() not in text, name
        assert b"telling-name" not in text, name
    where = ("--cluster-ref", "reconciler-snapshots", "--cluster-name", "prod")
    document = _files_only("preview", "--repo", repo.root, "--base", "main", "--head", "change", *where)
    assert (document["cluster"], document["changed"]) == ("prod", True)
    (pair,) = document["decision"]["groups"]
    sizes = [(pair[side]["current"], pair[side]["wanted"], pair[side]["min"]) for side in ("before", "after")]
    assert sizes == [(2, 2, 1), (2, 4, 4)]


def test_a_round_inside_the_cluster(command_line: CommandLine, cluster: WorkCluster, repo: GitRepo, url: str, tmp_path: Path):
    """The comment tells the plan on the live cluster. Nothing is written to it."""
    (tmp_path / "token").write_text(TOKEN)
    with github_host() as host:
        host.open(7, repo.git("rev-parse", "change"))
        told = _round(command_line, cluster, host, url, tmp_path)
        assert told.startswith("#7 prod Created")
        assert "general" in host.comments[0]["body"]
        assert _round(command_line, cluster, host, url, tmp_path) == "#7 Recent\n"
        listed = cluster.api.get(cluster.path("machinedeployments"))
        assert [item["spec"]["replicas"] for item in listed["items"]] == [2]


def _files_only(name: str, *arguments: object) -> Object:
    """What a command prints with `-o json` that is given no cluster but a published one."""
    result = CliRunner().invoke(cli, [name, *map(str, arguments), "-o", "json"], standalone_mode=False)
    assert result.exception is None, result.stderr
    document: Object = json.loads(result.stdout)
    return document


def _round(command_line: CommandLine, cluster: WorkCluster, host: Host, url: str, directory: Path) -> str:
    return command_line.done(
        "previewer", "--api-url", host.url, "--repository", "team/policies", "--git", url, "--git-protocol", "http",
        "--token-file", directory / "token", "--cluster-name", "prod", "--git-cache", directory / "cache", "--once",
        "--target-namespace", cluster.namespace,
    ).stdout  # fmt: skip
