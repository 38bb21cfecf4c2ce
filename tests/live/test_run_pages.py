"""Who may see the pages of `reconciler run` from outside of its machine: real tokens, judged by the real API server."""

import http.client
import json
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from reconciler.kube.connection.token_review import Refusal, refusal
from reconciler.kube.connection.transport import connect
from tests.live import rights
from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import Object, group
from tests.testbed.api import Api
from tests.testbed.certificates import Authority
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.control_plane import ControlPlane
from tests.testbed.work_cluster import WorkCluster

RBAC = "rbac.authorization.k8s.io"
DETAILS = ["/plan", "/", "/snapshot", "/explain/group/general"]
PATIENCE_SECONDS = 120
OPEN = ["/healthz", "/readyz", "/metrics"]


class Outside:
    """A loop that listens on every address, and who asks it over one that is not loopback."""

    def __init__(self, process: Reconciler, api: Api, namespace: str, authority: Path) -> None:
        self.process, self.api, self.namespace, self._authority = process, api, namespace, authority
        self._host = own_address()

    def ask(self, path: str, token: str = "", *, scheme: str = "Bearer") -> tuple[int, str, str]:
        """Status, body, and what the page wants to be shown."""
        headers = {"Authorization": f"{scheme} {token}"} if token else {}
        trust = ssl.create_default_context(cafile=str(self._authority))
        trust.check_hostname = False  # the certificate names loopback, and who asks comes from elsewhere
        with closing(http.client.HTTPSConnection(self._host, self.process.port(), timeout=60, context=trust)) as connection:
            # Without another address the name does the same: a request that names no loopback is not taken for a local one.
            host = {"Host": "reconciler.example:8080"} if self._host == "127.0.0.1" else {}
            connection.request("GET", path, headers=headers | host)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.getheader("WWW-Authenticate", "")

    def wait_until_ready(self) -> None:
        """Until a turn has ended: then there is a plan."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.ask("/readyz")[:2] != (200, "ok\n"):
            assert time.monotonic() < deadline, self.process.lines
            time.sleep(0.1)

    def account(self, name: str) -> Object:
        """A service account of its own."""
        metadata = {"name": name, "namespace": self.namespace}
        return self.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})[0]

    def token(self, account: str, **spec: object) -> str:
        """As `kubectl create token` gets it."""
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{account}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        return str(self.api.call("POST", path, request)["status"]["token"])

    def allow(self, account: str, *paths: str) -> None:
        """Let it get these pages, once that is in force."""
        role = f"{self.namespace}-{account}"
        rules = [{"nonResourceURLs": [*paths], "verbs": ["get"]}]
        subject = {"kind": "ServiceAccount", "name": account, "namespace": self.namespace}
        self.api.create(
            {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": role}, "rules": rules},
            binding(role, role, subject),
        )
        review: Object = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
        review["spec"] = {
            "user": f"system:serviceaccount:{self.namespace}:{account}",
            "nonResourceAttributes": {"path": paths[0], "verb": "get"},
        }
        reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        self.api.wait(
            "/api/v1/namespaces", lambda _: self.api.call("POST", reviews, review)["status"]["allowed"], "the rights in force"
        )


def binding(name: str, role: str, subject: Object) -> Object:
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
    fields = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", **fields}


def own_address() -> str:
    """An address of this machine that is not loopback; loopback where there is none. Connecting a datagram socket sends nothing:
    it only asks the routes which address one would come from (192.0.2.0/24 is for documentation)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


@pytest.fixture(scope="module")
def outside(cluster_api: ClusterApi, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    cluster = WorkCluster(cluster_api.api, "pages")
    group(cluster, "general")
    directory = tmp_path_factory.mktemp("pages")
    file = directory / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 9)}))
    kubeconfig: Path = user(control_plane, "run-pages")
    # What Kubernetes ships for servers that let the API server judge who asks.
    everybody = {"apiGroup": RBAC, "kind": "Group", "name": rights.GROUP}
    control_plane.api.create(binding("pages-delegates", "system:auth-delegator", everybody))
    authority = Authority(directory)
    chain, key = authority.server("pages")
    chain.rename(directory / "tls.crt")
    key.rename(directory / "tls.key")
    options = (f"--namespace={cluster.namespace}", "--listen=0.0.0.0:0", f"--tls-certificate={directory}")
    with Reconciler(kubeconfig, file, *options) as process:
        found = Outside(process, cluster_api.api, cluster.namespace, authority.certificate)
        found.wait_until_ready()
        yield found
    control_plane.api.delete(binding("pages-delegates", "system:auth-delegator", everybody))
    cluster.delete()


@pytest.mark.parametrize("path", OPEN)
def test_probes_and_metrics_ask_for_nothing(outside: Outside, path: str) -> None:
    """Kubelets and Prometheus carry no token."""
    assert outside.ask(path)[0] == 200


@pytest.mark.parametrize("path", DETAILS)
def test_without_a_token_there_is_nothing_to_see(outside: Outside, path: str) -> None:
    """401, which scheme is wanted, and not a word of the plan."""
    status, body, wanted = outside.ask(path)
    assert (status, wanted) == (401, "Bearer")
    assert body == "send a bearer token (kubectl create token), or use kubectl port-forward\n"


@pytest.mark.parametrize("path", DETAILS)
def test_a_token_of_nobody_is_refused(outside: Outside, path: str) -> None:
    """401: the API server knows nobody by it."""
    assert outside.ask(path, "not.a.token")[:2] == (401, "invalid token\n")


def test_a_token_for_somebody_else_is_refused(outside: Outside) -> None:
    """A token that was made for another service to see says nothing here."""
    outside.account("elsewhere")
    assert outside.ask("/plan", outside.token("elsewhere", audiences=["vault"]))[0] == 401


def test_another_scheme_is_no_token(outside: Outside) -> None:
    """What stands behind `Basic` is not taken for a bearer's."""
    outside.account("basic")
    assert outside.ask("/plan", outside.token("basic"), scheme="Basic")[0] == 401


@pytest.mark.parametrize("path", DETAILS)
def test_somebody_without_the_right_is_told_so(outside: Outside, path: str) -> None:
    """403 with the name: the token is good, its account may not see this page."""
    name = f"stranger-{DETAILS.index(path)}"
    outside.account(name)
    status, body, wanted = outside.ask(path, outside.token(name))
    assert (status, wanted) == (403, "")
    assert body == f"system:serviceaccount:{outside.namespace}:{name} may not get {path}\n"


def test_somebody_with_the_right_sees_what_it_is_for(outside: Outside) -> None:
    """The pages that the account may get, and no other."""
    outside.account("auditor")
    outside.allow("auditor", "/plan", "/", "/report", "/explain/*")
    token = outside.token("auditor")
    status, body, _ = outside.ask("/plan", token)
    assert (status, [line["name"] for line in json.loads(body)["groups"]]) == (200, ["general"])
    assert 'id="live"' in outside.ask("/", token)[1]
    assert 'class="picture' in outside.ask("/report", token)[1]
    assert outside.ask("/explain/group/general", token)[0] == 200
    assert outside.ask("/snapshot", token)[0] == 403


def test_where_the_api_server_does_not_judge_nobody_gets_in(control_plane: ControlPlane) -> None:
    """A loop that may not ask who somebody is says that it cannot tell."""
    api = connect(control_plane.kubeconfig_of("pages-no-rights"))
    assert refusal(api, "not.a.token", "/plan") == Refusal(503, "the API server could not review the token")
