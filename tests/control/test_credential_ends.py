"""`doctor` tells in time which certificate or token ends: of the kubeconfig, and of kubeconfig Secrets that may be read."""

import base64
import json
import os
import subprocess
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.cli.inputs.connections import IN_CLUSTER, ConnectionChoice
from reconciler.cli.inputs.kubeconfig_credentials import kubeconfig_credentials
from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from reconciler.control.credential_ends import Credentials, credentials_check, secrets_check
from reconciler.kube.connection.api import ApiError
from reconciler.providers.findings import Check, State
from reconciler.values.cluster_identity import ClusterIdentity
from tests.certificates import EC, ending, made, token
from tests.kube.local_server import LocalServer

DAY = 86_400
Made = tuple[bytes, int]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """One by OpenSSL, and its last second by OpenSSL's word."""
    file = made(tmp_path_factory.mktemp("tls"), *EC, "-days", "100")
    return file.read_bytes(), ending(file)


@pytest.fixture(scope="module")
def longer(tmp_path_factory: pytest.TempPathFactory) -> Made:
    file = made(tmp_path_factory.mktemp("tls"), *EC, "-days", "3650")
    return file.read_bytes(), ending(file)


def one(held: Credentials, now_seconds: int) -> Check:
    (check,) = credentials_check((held,), now_seconds)
    return check


@pytest.mark.parametrize(("days", "seconds", "state", "words"), [
    (31, 0, State.PASS, "in 31 days"), (30, 0, State.PASS, "in 30 days"), (30, 1, State.WARN, "in 29 days"),
    (0, -7200, State.WARN, "in 2 hours"), (0, -5, State.WARN, "in less than an hour"), (0, 0, State.FAIL, "ended on "),
    (-9, 0, State.FAIL, "ended on "),
])  # fmt: skip
def test_a_client_certificate(certificate: Made, longer: Made, days: int, seconds: int, state: State, words: str) -> None:
    """So many days and seconds before its end. The authority lives longer and is not named."""
    held = Credentials(where="kubeconfig f", certificate=certificate[0], authority=longer[0])
    check = one(held, certificate[1] - days * DAY + seconds)
    assert (check.code, check.state, words in check.message) == ("Credentials", state, True)
    assert check.message.startswith("the client certificate of kubeconfig f end")
    assert bool(check.advice) is (state is not State.PASS)


def test_of_several_certificates(certificate: Made, longer: Made) -> None:
    """The server needs each of the client's chain; one authority of a bundle is enough."""
    both, now = certificate[0] + longer[0], certificate[1] + 1
    assert one(Credentials(where="f", certificate=both), now).state is State.FAIL
    assert one(Credentials(where="f", authority=both), now).state is State.PASS


def test_a_token(certificate: Made) -> None:
    """In a kubeconfig, a token ends even if it lives for an hour only. Whoever keeps a Secret renews it there."""
    hour = token({"iat": 1_000_000, "exp": 1_003_600})
    assert one(Credentials(where="f", token=hour), 1_000_000).state is State.WARN
    assert one(Credentials(where="f", token=hour, renewed=True), 1_000_000).state is State.PASS
    assert one(Credentials(where="f", token=hour, renewed=True), 1_003_600).state is State.FAIL
    year = token({"iat": 1_000_000, "exp": 1_000_000 + 365 * DAY})
    assert one(Credentials(where="f", token=year, renewed=True), 1_000_000 + 340 * DAY).state is State.WARN
    check = one(Credentials(where="f", token="k8s-aws-v1.x"), 1_000_000)
    assert (check.state, check.message) == (State.PASS, "nothing in f ends")


def kubeconfig(directory: Path, cluster: object, user: object, **more: object) -> Path:
    content = {
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "here", "user": "me"}}],
        "clusters": [{"name": "here", "cluster": cluster}], "users": [{"name": "me", "user": user}], **more,
    }  # fmt: skip
    file = directory / "config"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    return file


def read(file: Path) -> Credentials:
    (held,) = kubeconfig_credentials(ConnectionChoice(kubeconfig=str(file)), {})
    return held


def test_embedded_and_linked_files(tmp_path: Path, certificate: Made, longer: Made) -> None:
    """A linked file is next to the kubeconfig; what is embedded comes first; a token in a file is renewed there."""
    (tmp_path / "client.pem").write_bytes(certificate[0])
    embedded = base64.b64encode(longer[0]).decode()
    cluster = {"server": "https://x", "certificate-authority-data": embedded, "certificate-authority": "nowhere.pem"}
    held = read(kubeconfig(tmp_path, cluster, {"client-certificate": "client.pem", "token": "abc"}))
    assert (held.certificate, held.authority, held.token, held.problems) == (certificate[0], longer[0], "abc", ())
    held = read(
        kubeconfig(tmp_path, cluster, {"client-certificate": str(tmp_path / "client.pem"), "token": "a", "tokenFile": "t"})
    )
    assert (held.certificate, held.token) == (certificate[0], "")


def test_the_first_of_several_files_wins(tmp_path: Path) -> None:
    """As in kubectl. The management cluster has its own."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        kubeconfig(tmp_path / name, {"server": "https://x"}, {"token": name})
    listed = os.pathsep.join(str(tmp_path / name / "config") for name in ("b", "a"))
    (held,) = kubeconfig_credentials(ConnectionChoice(), {"KUBECONFIG": listed})
    assert held.token == "b"
    both = ConnectionChoice(kubeconfig=str(tmp_path / "a" / "config"), management_kubeconfig=str(tmp_path / "b" / "config"))
    assert [held.token for held in kubeconfig_credentials(both, {})] == ["a", "b"]
    assert kubeconfig_credentials(ConnectionChoice(kubeconfig=IN_CLUSTER), {}) == ()


@pytest.mark.parametrize(("cluster", "user", "told"), [
    ({}, {"client-certificate": "nowhere.pem"}, "client-certificate: No such file or directory"),
    ({}, {"client-certificate": "."}, "client-certificate: Is a directory"),
    ({}, {"client-certificate-data": "*"}, "client-certificate-data is not base64"),
    ({}, {"client-certificate-data": "aGVsbG8="}, "the client certificate of kubeconfig"),
    ({"certificate-authority": "a\0b"}, {}, "certificate-authority: no such file"),
    ({"certificate-authority": "/dev/zero"}, {}, "more than the limit of 1048576"),
    ({"certificate-authority-data": ["x"]}, {"client-certificate-data": 5, "token": {"a": "b"}}, ""),
])  # fmt: skip
def test_what_cannot_be_read_is_told(tmp_path: Path, cluster: dict[str, object], user: dict[str, object], told: str) -> None:
    """Never an exception, and no content of any file."""
    check = one(read(kubeconfig(tmp_path, {"server": "https://x", **cluster}, user)), 1_000_000)
    assert (check.state, told in check.message) == (State.WARN if told else State.PASS, True)
    assert "hello" not in check.message


def secret(document: object) -> bytes:
    value = base64.b64encode(yaml.safe_dump(document).encode()).decode()
    return json.dumps({"kind": "Secret", "data": {"value": value}}).encode()


def fleet_secret(authority: bytes, user: dict[str, object]) -> bytes:
    cluster = {"server": "https://x", "certificate-authority-data": base64.b64encode(authority).decode()}
    return secret({
        "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "a", "user": "b"}}],
        "clusters": [{"name": "a", "cluster": cluster}], "users": [{"name": "b", "user": user}],
    })  # fmt: skip


class Server:
    """Secrets of the namespace `fleet`, by name of the cluster. Anything else is refused."""

    def __init__(self, **secrets: bytes | ApiError) -> None:
        self.secrets = {f"/api/v1/namespaces/fleet/secrets/{name}-kubeconfig": answer for name, answer in secrets.items()}
        self.asked: list[str] = []

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        self.asked.append(path)
        answer = self.secrets.get(path, ApiError(403, "Forbidden", "may not"))
        if isinstance(answer, ApiError):
            raise answer
        return answer


def look(server: Any, *names: str, now_seconds: int = 1_000_000) -> Check:
    (check,) = secrets_check(server, [ClusterIdentity(name=name, namespace="fleet") for name in names], now_seconds)
    return check


def test_secrets_of_workload_clusters(certificate: Made, longer: Made) -> None:
    """The first to end is told. What may not be read is counted, and nothing but these names is asked for."""
    key = base64.b64encode(b"key").decode()
    client = {"client-certificate-data": base64.b64encode(certificate[0]).decode(), "client-key-data": key}
    server = Server(eu=fleet_secret(longer[0], client), us=fleet_secret(longer[0], {"token": token({"iat": 1, "exp": 5})}))
    early = look(server, "eu", "zz", now_seconds=certificate[1] - 40 * DAY)
    assert (early.code, early.state) == ("KubeconfigSecrets", State.PASS)
    assert early.message.startswith("the client certificate of Secret fleet/eu-kubeconfig ends on ")
    assert early.message.endswith("in 40 days, and 1 more was not read")
    names = ("eu-reconciler-kubeconfig", "eu-kubeconfig", "zz-reconciler-kubeconfig", "zz-kubeconfig")
    assert server.asked == [f"/api/v1/namespaces/fleet/secrets/{name}" for name in names]
    late = look(server, "eu", "us", now_seconds=certificate[1] - 4 * DAY)
    assert late.state is State.FAIL
    assert "the token of Secret fleet/us-kubeconfig ended on 1970-01-01T00:00:05Z" in late.message
    assert "the client certificate of Secret fleet/eu-kubeconfig ends on" in late.message


def test_secrets_that_cannot_be_used(longer: Made) -> None:
    """Each with the reason, and without content; nobody is kept from the others."""
    program = fleet_secret(longer[0], {"exec": {"command": "sh"}})
    broken = ApiError(500, "InternalError", "unable to transform key")
    check = look(Server(a=b"{", b=program, c=secret("text"), d=broken), "a", "b", "c", "d", "e")
    assert check.state is State.WARN
    assert "Secret fleet/a-kubeconfig: the Secret cannot be read" in check.message
    assert "Secret fleet/b-kubeconfig: the user of the kubeconfig sets exec" in check.message
    assert check.message.endswith("and 1 more")
    assert look(Server(), "a").message == "no kubeconfig Secret can be read here"
    assert secrets_check(Server(), [ClusterIdentity(name="here")], 0) == ()  # type: ignore[arg-type]


def test_a_cluster_that_cannot_be_reached_with_an_ended_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The reason stands next to what the connection said. OpenSSL makes a certificate that has ended already."""
    file, config = tmp_path / "old.pem", tmp_path / "ca.cnf"
    (tmp_path / "index").touch()
    config.write_text(
        f"[ca]\ndefault_ca=c\n[c]\ndatabase={tmp_path}/index\nserial={tmp_path}/serial\nnew_certs_dir={tmp_path}\n"
        "default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n"
    )
    request = tmp_path / "request.pem"
    words = [
        "openssl",
        "req",
        "-new",
        *EC,
        "-nodes",
        "-subj",
        "/CN=a",
        "-keyout",
        str(tmp_path / "key.pem"),
        "-out",
        str(request),
    ]
    subprocess.run(words, check=True, capture_output=True)
    subprocess.run(
        ["openssl", "ca", "-batch", "-config", str(config), "-selfsign", "-keyfile", str(tmp_path / "key.pem"), "-in",
         str(request), "-rand_serial", "-startdate", "200101000000Z", "-enddate", "210101000000Z", "-notext", "-out", str(file)],
        check=True, capture_output=True,
    )  # fmt: skip
    user = {"client-certificate": "old.pem", "client-key": "key.pem"}
    place = kubeconfig(tmp_path, {"server": "https://127.0.0.1:1"}, user)
    assert guarded(cli, ["doctor", "--kubeconfig", str(place)]) == 1
    told = capsys.readouterr().err
    assert "does not answer" in told
    assert f"the client certificate of kubeconfig {place}, context c ended on 2021-01-01T00:00:00Z" in told


def test_doctor_tells_both(tmp_path: Path, capsys: pytest.CaptureFixture[str], certificate: Made) -> None:
    """On a server with one Cluster and its Secret: the kubeconfig in use, and the Secret. An ended token is an error."""
    cluster = {"metadata": {"name": "eu", "namespace": "fleet"}, "spec": {}}
    kinds = [{"name": f"{kind.lower()}s", "kind": kind, "namespaced": True, "verbs": ["list"]} for kind in
             ("MachineDeployment", "MachineSet", "Machine", "MachinePool", "Cluster")]  # fmt: skip
    answers: dict[str, object] = {
        "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.3"},
        "/apis": {"groups": [{"name": "cluster.x-k8s.io", "versions": [{"version": "v1beta2"}]}]},
        "/apis/cluster.x-k8s.io": {"versions": [{"version": "v1beta2"}], "preferredVersion": {"version": "v1beta2"}},
        "/apis/cluster.x-k8s.io/v1beta2": {"resources": kinds},
        "/apis/cluster.x-k8s.io/v1beta2/clusters": {"items": [cluster], "metadata": {"resourceVersion": "1"}},
        "/api/v1/namespaces/fleet/secrets/eu-kubeconfig": json.loads(
            fleet_secret(certificate[0], {"token": token({"iat": 1, "exp": 5})})
        ),
    }

    def answer(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        path = handler.path.partition("?")[0]
        found = answers.get(path, {"items": [], "metadata": {"resourceVersion": "1"}})
        if handler.command == "POST":
            found = {"status": {"allowed": True}}
        text = json.dumps(found).encode()
        # A group that is not there is not served.
        absent = path.endswith("-reconciler-kubeconfig") or (path.count("/") < 4 and path.startswith("/apis/"))
        handler.send_response(404 if absent and path not in answers else 200)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    with LocalServer(answer).running() as server:
        place = kubeconfig(tmp_path, {"server": server.url}, {"token": token({"iat": 1, "exp": 4_000_000_000})})
        assert guarded(cli, ["doctor", "--kubeconfig", str(place), "-o", "json"]) == 1
    told = capsys.readouterr()
    checks = {one["code"]: (one["state"], one["message"]) for one in json.loads(told.out)["checks"]}
    assert checks["Credentials"][0] == "Pass"
    assert checks["Credentials"][1].startswith(f"the token of kubeconfig {place}, context c ends on 2096-10-02T07:06:40Z, in ")
    assert checks["KubeconfigSecrets"] == ("Fail", "the token of Secret fleet/eu-kubeconfig ended on 1970-01-01T00:00:05Z")
