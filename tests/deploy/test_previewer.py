"""The previewer as it is shipped: off unless asked for, with rights to list and nothing else, and those are enough."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import cli, main
from reconciler.cli.outputs.failure import guarded
from reconciler.kube.connection.token_review import may
from reconciler.kube.connection.transport import connect
from tests.deploy.installed import NAMESPACE, Installed
from tests.deploy.rendered import VALUES, Object, chart, helm_template, of_kind, with_component
from tests.deploy.test_manifests import by_identity
from tests.deploy.test_rights import CAPI, CLUSTERS, EVERYTHING, NEVER, TARGETS, WORKLOAD, Right
from tests.deploy.test_run_as_installed import REVIEWS, TEMPLATES, refused
from tests.gitops.conftest import first_commit, repo
from tests.gitops.hosts import TOKEN
from tests.gitops.previewing import MORE, Place, github
from tests.testbed.api import Api, ApiError, path_of
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group, Shape, namespace
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.stand_in.kinds import MACHINE_TEMPLATE

__all__ = ["first_commit", "github", "repo"]

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:reconciler-previewer"
GROUPS = ("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated")
WANTED = {
    "enabled": True, "repository": "platform/policies", "url": "https://github.com/platform/policies.git",
    "path": "clusters/prod", "cluster": "prod",
}  # fmt: skip
INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
LISTED: set[Right] = {
    *(("list", group, item, "") for group, items in WORKLOAD.items() if group != "reconciler.dev" for item in items),
    *(("list", CAPI, item, "") for item in TARGETS),
    # Through the role that gathers the kinds of all providers.
    *((verb, INFRASTRUCTURE, "awsmachinetemplates", "") for verb in ("get", "list", "watch")),
}
GATHERED = {"kubemarkmachinetemplates", "dockermachinetemplates"}


def named(objects: list[Object]) -> list[Object]:
    """What belongs to the previewer alone."""
    return [item for item in objects if item["metadata"]["name"].startswith("reconciler-previewer")]


def container(objects: list[Object]) -> Object:
    (found,) = of_kind(named(objects), "Deployment")
    (only,) = found["spec"]["template"]["spec"]["containers"]
    return dict(only)


def test_nobody_gets_it_unasked(tmp_path: Path) -> None:
    """The chart's defaults leave it out."""
    assert named(chart(VALUES["enforce"], tmp_path)) == []


def test_kustomize_and_helm_give_equal_objects(tmp_path: Path) -> None:
    """The component beside an overlay, and the value of the chart."""
    left = by_identity(with_component("observe", "previewer", tmp_path), "Namespace", "CustomResourceDefinition")
    right = by_identity(chart({**VALUES["observe"], "previewer": WANTED}, tmp_path), "CustomResourceDefinition")
    assert sorted(left) == sorted(right)
    assert [key for key in left if left[key] != right[key]] == []
    assert len([key for key in left if key[2].startswith("reconciler-previewer")]) == 9


def test_the_arguments_are_those_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every option is one that `reconciler previewer` has, and the probes ask where it listens."""
    with pytest.raises(SystemExit):
        main(["previewer", "--help-all"])
    known = capsys.readouterr().out
    only = container(with_component("observe", "previewer", tmp_path))
    command, *options = only["args"]
    assert command == "previewer"
    assert [option for option in options if f"{option.partition('=')[0]} " not in known] == []
    assert "--listen=:8080" in options
    assert only["ports"] == [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]
    probes = {name: only[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert probes == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}


@pytest.mark.parametrize(("change", "place"), [
    ({"repository": ""}, "/previewer/repository"),
    ({"url": "file:///etc"}, "/previewer/url"),
    ({"cluster": ""}, "/previewer/cluster"),
    ({"branch": "-x"}, "/previewer/branch"),
    ({"host": "bitbucket"}, "/previewer/host"),
    ({"extraArguments": ["rm"]}, "/previewer/extraArguments/0"),
    ({"token": "x"}, "token"),
], ids=str)  # fmt: skip
def test_nonsense_is_refused_with_its_place(change: dict[str, Any], place: str, tmp_path: Path) -> None:
    """helm ends with an error that names the value; a token has no place in values."""
    done = helm_template({**VALUES["observe"], "previewer": {**WANTED, **change}}, tmp_path)
    assert done.returncode != 0
    assert place in done.stderr


def test_target_namespaces_bind_there_only(tmp_path: Path) -> None:
    """Two RoleBindings in each, none of the targets cluster-wide, and the argument that goes with them."""
    objects = chart({**VALUES["namespaced"], "targetNamespaces": ["a", "b"], "previewer": WANTED}, tmp_path)
    mine = named(objects)
    bound = sorted((item["metadata"]["namespace"], item["metadata"]["name"]) for item in of_kind(mine, "RoleBinding"))
    names = ("reconciler-previewer-targets", "reconciler-previewer-templates")
    assert bound == [(where, name) for where in ("a", "b") for name in names]
    assert [item["metadata"]["name"] for item in of_kind(mine, "ClusterRoleBinding")] == ["reconciler-previewer-workload"]
    assert [one for one in container(objects)["args"] if "target" in one] == ["--target-namespace=a", "--target-namespace=b"]


@pytest.fixture(scope="module")
def installed(cluster_api: ClusterApi, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The overlay observe without what would run, and the component with all that it has, its pod made."""
    plane = cluster_api.plane
    plane.api.apply(namespace(CLUSTERS), "kubectl")
    base = Installed(plane, "observe")
    mine = named(with_component("observe", "previewer", tmp_path_factory.mktemp("component")))
    for item in mine:
        plane.api.apply(item, "kubectl", force=True)
    plane.api.create(TEMPLATES)
    user = Api(plane.kubeconfig_of(ACCOUNT, *GROUPS))
    wanted = ("/api/v1/pods?limit=1", f"{MACHINE_TEMPLATE.path}?limit=1")
    plane.api.wait("/api/v1/namespaces", lambda _: all(readable(user, path) for path in wanted), "the rights being in force")
    yield plane
    plane.api.delete(TEMPLATES)
    for item in reversed(mine):
        body = {"propagationPolicy": "Foreground", "gracePeriodSeconds": 0} if item["kind"] == "Deployment" else None
        plane.api.call("DELETE", path_of(item), body)
    base.remove()
    plane.api.wait(f"/api/v1/namespaces/{NAMESPACE}/pods", lambda items: not items, "the pod being gone")


def readable(user: Api, path: str) -> bool:
    try:
        user.get(path)
    except ApiError:
        return False
    return True


def test_the_api_server_makes_the_pod(installed: ControlPlane) -> None:
    """Which the namespace's restricted Pod Security level would refuse otherwise."""
    pods = installed.api.wait(f"/api/v1/namespaces/{NAMESPACE}/pods", lambda items: len(items) == 1, "the pod being made")
    assert [pod["spec"]["serviceAccountName"] for pod in pods] == ["reconciler-previewer"]


def test_it_may_list_and_nothing_else(installed: ControlPlane) -> None:
    """Asked as the account itself: all that a World is made of, and nothing that the loop or anybody may do besides."""
    api = connect(installed.kubeconfig_of(ACCOUNT, *GROUPS), environment={})

    def allowed(right: Right) -> bool:
        verb, group, resource, where = right
        return may(api, verb, group, resource, where)

    assert [right for right in sorted(LISTED) if not allowed(right)] == []
    watched = {(verb, group, item, "") for group, items in WORKLOAD.items() for verb, item in product(("get", "watch"), items)}
    reviews = {right for right in EVERYTHING if right[2] == "selfsubjectaccessreviews"}  # everybody may ask about itself
    beyond = {
        right
        for right in EVERYTHING | NEVER | watched
        if (*right[:3], "") not in LISTED and right not in reviews and right[2] not in GATHERED
    }
    assert [right for right in sorted(beyond) if allowed(right)] == []


def test_a_round_needs_no_more(
    installed: ControlPlane, new_cluster: NewCluster, github: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """`previewer --once` as the account, on a pull request: the comment is written, and no request was refused or a write."""
    cluster = new_cluster()
    cluster.machine_deployment(Group("general", replicas=0), Shape(labels={"test": cluster.namespace}))
    github.push(7, MORE)
    (github.tmp_path / "token").write_text(TOKEN)
    before = len(installed.audit(ACCOUNT, mutating=False))
    words = (
        "previewer", "--api-url", github.host.url, "--repository", "team/policies", "--git", github.url, "--git-protocol", "http",
        "--token-file", github.tmp_path / "token", "--kubeconfig", installed.kubeconfig_of(ACCOUNT, *GROUPS),
        "--cluster-name", "small", "--git-cache", github.tmp_path / "cache", "--once",
    )  # fmt: skip
    code = guarded(cli, [str(word) for word in words])
    out, err = capsys.readouterr()
    assert (code, out[:16], "cannot be listed" in err) == (0, "#7 small Created", False), err
    requests = installed.audit(ACCOUNT, mutating=False)[before:]
    assert refused(requests) == []
    assert {"pods", "nodes", "machinedeployments", "machines", MACHINE_TEMPLATE.plural} <= {one.resource for one in requests}
    assert {one.verb for one in requests if one.resource not in REVIEWS} <= {"get", "list"}
