"""The client: signature, pages, errors, what is never told."""

import base64
import json
import logging
import socket
import threading
import traceback
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import pytest
from urllib3 import HTTPResponse

from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.client import HttpCrusoe, _decoded, _error
from reconciler.platforms.crusoe.writing.credentials import Credentials, CredentialsError, configured, read_credentials
from reconciler.platforms.crusoe.writing.request_signature import canonical, signed
from tests.crusoe.documents import PROJECT
from tests.crusoe.service.server import ACCESS_KEY, LOST, SECRET, Service


def account(service: Service, key: str = ACCESS_KEY) -> Account:
    client = HttpCrusoe(lambda: service.credentials(key=key))
    return Account(client, client.credentials)


def test_the_signature() -> None:
    """Of a fixed request. The value was made with `openssl dgst -sha256 -mac HMAC` over the lines of the message."""
    key = base64.urlsafe_b64decode("c2VjcmV0LWtleS1vZi10aGUtdGVzdA==")
    heads = signed("GET", "/v1/projects/p/kubernetes/nodepools", {"cluster_id": "c 1", "a": "b/c"}, 1_800_000_000.9, "KEY", key)
    assert heads["X-Crusoe-Timestamp"] == "2027-01-15T08:00:00Z"
    assert heads["Authorization"] == "Bearer 1.0:KEY:9NzZ7gXAfGLtQB2pN61NjSNgW1BA7eH-5co8yvOyAxk"
    assert canonical({"cluster_id": "c 1", "a": "b/c"}) == "a=b%2Fc&cluster_id=c+1"


def test_the_server_checks_it(service: Service) -> None:
    """A wrong secret, an unknown key and an old request are not let in; the right one is."""
    assert account(service).pools() == []
    wrong = {**service.environment(), "CRUSOE_SECRET_KEY": "d3Jvbmc"}
    for client in (
        HttpCrusoe(lambda: Credentials(wrong)),
        HttpCrusoe(lambda: Credentials({**wrong, "CRUSOE_ACCESS_KEY": "other"})),
        HttpCrusoe(service.credentials, wall_seconds=lambda: 1_000_000_000.0),
    ):
        with pytest.raises(CrusoeError) as raised:
            Account(client, client.credentials).pools()
        assert (raised.value.status, raised.value.denied, raised.value.sent) == (401, True, False)


def test_a_clock_that_is_wrong_is_told(service: Service) -> None:
    """Requests are signed with the time, so that a refusal may come of it."""
    client = HttpCrusoe(service.credentials, wall_seconds=lambda: 1_000_000_000.0)
    with pytest.raises(CrusoeError, match="our clock and Crusoe's differ by"):
        Account(client, client.credentials).pools()


def test_renewed_credentials_are_read_again(service: Service, tmp_path: Path) -> None:
    """A Secret that is mounted as files changes in place: a refusal reads it anew, once."""
    environment = {**service.environment(), "CRUSOE_CREDENTIALS_DIRECTORY": str(tmp_path)}
    (tmp_path / "CRUSOE_SECRET_KEY").write_text("b2xk\n")
    client = HttpCrusoe(lambda: read_credentials(environment))
    found = Account(client, client.credentials)
    with pytest.raises(CrusoeError):
        found.pools()
    (tmp_path / "CRUSOE_SECRET_KEY").write_text(f"{SECRET}\n")
    assert found.pools() == []


@pytest.mark.parametrize("query", [{"cluster_id": "c"}, None])
def test_what_is_asked_again_is_the_same(service: Service, query: dict[str, str] | None) -> None:
    """By credentials that are read anew: method, path, query and body."""
    read = iter([Credentials({**service.environment(), "CRUSOE_SECRET_KEY": "b2xk"}), service.credentials()])
    client, sent = HttpCrusoe(lambda: next(read)), []
    sends = client._sent

    def watched(*request: object) -> object:
        sent.append(request)
        return sends(*request)  # type: ignore[arg-type]

    client._sent = watched  # type: ignore[method-assign, assignment]
    path = f"/projects/{PROJECT}/kubernetes/nodepools"
    client.call("GET", path, query)
    assert sent == [("GET", path, query or {}, None)] * 2


def test_pages(service: Service) -> None:
    """All of them, in order."""
    pool = service.account.add(count=7)
    service.account.page = 3
    assert [one["id"] for one in account(service).machines(pool.id)] == [one.id for one in service.account.of(pool)]
    assert service.count("GET", "/vms") == 3


def test_errors(service: Service) -> None:
    """What each answer means, and what may have been done."""
    found = account(service)
    pool = service.account.add(count=1)
    with pytest.raises(CrusoeError) as raised:
        found.machines("nobody")
    assert (raised.value.status, raised.value.code) == (404, "not_found")
    framed = {"code": "internal_error", "message": "rpc error: code = Internal desc = broken", "error_id": "e"}
    service.account.faults.append(("PATCH", pool.id, (500, framed, {})))
    with pytest.raises(CrusoeError) as raised:
        found.set_count(pool.id, 0, 2)
    assert (raised.value.message, raised.value.sent) == ("broken", True)
    service.account.faults.append(("PATCH", pool.id, LOST))
    with pytest.raises(CrusoeError) as raised:
        found.set_count(pool.id, 0, 2)
    assert (raised.value.sent, pool.count) == (True, 2)
    service.account.faults.append(("GET", "nodepools", (502, b"<html>Bad Gateway</html>", {"Content-Type": "text/html"})))
    with pytest.raises(CrusoeError) as raised:
        found.pools()
    assert raised.value.status == 502
    service.account.faults.append(("GET", "nodepools", (200, b"<html>Welcome</html>", {"Content-Type": "text/html"})))
    with pytest.raises(CrusoeError, match="the answer does not come from Crusoe"):
        found.pools()


@pytest.mark.parametrize(("status", "taken"), [(200, True), (299, True), (300, False), (307, False), (404, False)])
def test_what_counts_as_an_answer(service: Service, status: int, *, taken: bool) -> None:
    """Nothing is followed elsewhere, where requests that are signed for Crusoe would go as well."""
    service.account.faults.append(("GET", "nodepools", (status, {"items": []}, {"Location": f"{service.url}/elsewhere"})))
    if taken:
        assert account(service).pools() == []
    else:
        with pytest.raises(CrusoeError) as raised:
            account(service).pools()
        assert (raised.value.status, raised.value.code, raised.value.sent) == (status, f"status_{status}", False)
    assert service.count("GET", "elsewhere") == 0


def test_nobody_there() -> None:
    """A connection that is refused has done nothing."""
    environment = dict.fromkeys(("CRUSOE_ACCESS_KEY", "CRUSOE_SECRET_KEY", "CRUSOE_PROJECT_ID", "CRUSOE_CLUSTER_ID"), "YWJj")
    client = HttpCrusoe(lambda: Credentials({**environment, "CRUSOE_API_ENDPOINT": "http://127.0.0.1:9"}))
    with pytest.raises(CrusoeError) as raised:
        Account(client, client.credentials).pools()
    assert (raised.value.code, raised.value.sent) == ("Unreachable", False)


def test_an_answer_that_breaks_off() -> None:
    """What was asked for may have been done."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")

        answering = threading.Thread(target=answer)
        answering.start()
        environment = dict.fromkeys(("CRUSOE_ACCESS_KEY", "CRUSOE_SECRET_KEY", "CRUSOE_PROJECT_ID", "CRUSOE_CLUSTER_ID"), "YWJj")
        endpoint = f"http://127.0.0.1:{listening.getsockname()[1]}"
        client = HttpCrusoe(lambda: Credentials({**environment, "CRUSOE_API_ENDPOINT": endpoint}))
        with pytest.raises(CrusoeError, match="Unreachable: the answer broke off") as raised:
            client.call("PATCH", "/x", None, {"count": 2})
        answering.join()
    assert raised.value.sent


def test_throttled(service: Service) -> None:
    """After a 429 nothing is sent until the time that it names is over."""
    now = [0.0]
    client = HttpCrusoe(service.credentials, monotonic=lambda: now[0])
    found = Account(client, client.credentials)
    service.account.faults.append(
        ("GET", "nodepools", (429, {"code": "too_many_requests", "message": "slow"}, {"Retry-After": "30"}))
    )
    for moment in (0.0, 29.0):
        now[0] = moment
        with pytest.raises(CrusoeError) as raised:
            found.pools()
        assert raised.value.throttled
    assert client.calls == 1
    now[0] = 31.0
    assert found.pools() == []


def test_operations(service: Service) -> None:
    """One's own can be read while it is kept; another user's and an old one cannot."""
    service.keys["other"] = SECRET
    pool = service.account.add(count=1)
    mine, theirs = account(service), account(service, "other")
    number = mine.set_count(pool.id, 0, 2)
    found = mine.operation(number)
    assert found is not None
    assert (found["state"], found["result"]["node_pool"]["count"]) == ("SUCCEEDED", 1)
    assert theirs.operation(number) is None
    service.advance(service.account.operation_life + 5)
    assert mine.operation(number) is None


def test_secrets_are_never_told(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    """Neither in an error, nor in a traceback, nor in a log, nor in what a debugger prints."""
    wrong = {**service.environment(), "CRUSOE_SECRET_KEY": base64.urlsafe_b64encode(b"very secret").decode()}
    caplog.set_level(logging.DEBUG)
    credentials = Credentials(wrong)
    client = HttpCrusoe(lambda: credentials)
    try:
        Account(client, client.credentials).pools()
    except CrusoeError as error:
        told = "".join(traceback.format_exception(error)) + repr(error)
    text = told + caplog.text + repr(credentials) + str(vars(client))
    assert "very secret" not in text
    assert wrong["CRUSOE_SECRET_KEY"] not in text
    with pytest.raises(CredentialsError) as raised:
        Credentials({**wrong, "CRUSOE_SECRET_KEY": "not base64 äöü"})
    assert "äöü" not in str(raised.value)


def test_what_is_needed() -> None:
    """What is missing is named; other endpoints than https are refused; without a key nothing is asked of Crusoe at all."""
    with pytest.raises(CredentialsError, match="CRUSOE_PROJECT_ID, CRUSOE_CLUSTER_ID"):
        Credentials({"CRUSOE_ACCESS_KEY": "a", "CRUSOE_SECRET_KEY": "YWJj"})
    whole = dict.fromkeys(("CRUSOE_ACCESS_KEY", "CRUSOE_SECRET_KEY", "CRUSOE_PROJECT_ID", "CRUSOE_CLUSTER_ID"), "YWJj")
    assert Credentials(whole).endpoint == "https://api.cloud.crusoe.ai/v1"
    with pytest.raises(CredentialsError, match="https"):
        Credentials({**whole, "CRUSOE_API_ENDPOINT": "http://crusoe.example/v1"})
    assert (configured({}), configured(whole)) == (False, True)


class Clock:
    """Monotonic seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def refused(service: Service, status: int = 429, **heads: str) -> None:
    service.account.faults.append(("GET", "nodepools", (status, {"code": "too_many_requests", "message": "slow"}, heads)))


def test_how_long_a_throttled_user_waits(service: Service) -> None:
    """Five seconds, then twice as long each time, up to a minute; any other answer ends that."""
    clock = Clock()
    client = HttpCrusoe(service.credentials, monotonic=clock)
    found = Account(client, client.credentials)
    for pause in (5, 10, 20, 40, 60, 60):
        refused(service)
        with pytest.raises(CrusoeError):
            found.pools()
        sent = client.calls
        clock.seconds += pause - 1
        with pytest.raises(CrusoeError, match="next attempt is in 1 s") as raised:
            found.pools()
        assert (raised.value.status, raised.value.code, client.calls) == (429, "too_many_requests", sent)
        clock.seconds += 1
    refused(service, 500)
    with pytest.raises(CrusoeError):
        found.pools()
    refused(service)
    for _ in range(2):
        with pytest.raises(CrusoeError):
            found.pools()
    clock.seconds += 5
    assert found.pools() == []


@pytest.mark.parametrize(("wait", "seconds"), [("30", 30), ("600", 600), ("601", 600), ("3", 3), ("soon", 0), ("", 0)])
def test_the_time_that_an_answer_names(service: Service, wait: str, seconds: float) -> None:
    """In whole seconds, and at most ten minutes."""
    refused(service, **{"Retry-After": wait})
    with pytest.raises(CrusoeError) as raised:
        account(service).pools()
    assert raised.value.retry_after_seconds == seconds


@pytest.mark.parametrize(("apart", "told"), [(60, False), (61, True), (-60, False), (-61, True), (3600, True)])
def test_how_wrong_a_clock_may_be(apart: int, *, told: bool) -> None:
    """A minute: what is more is told with a refusal, in whichever direction; without the other clock nothing can be."""
    ours = 1_800_000_000
    heads = {"Date": format_datetime(datetime.fromtimestamp(ours + apart, UTC), usegmt=True)}
    answer = _error(HTTPResponse(b"", headers=heads, status=401), b'{"code": "bad_credential", "message": "no"}', float(ours))
    more = f" (our clock and Crusoe's differ by {abs(apart)} s, and the signature contains the time)" if told else ""
    assert (answer.message, answer.denied, answer.sent) == (f"no{more}", True, False)
    silent = _error(HTTPResponse(b"", status=401), b"", float(ours))
    assert (silent.message, silent.code) == ("status 401", "status_401")


@pytest.mark.parametrize(
    ("status", "content", "code", "message", "sent"),
    [
        (500, b'{"code": "internal_error", "message": "broken"}', "internal_error", "broken", True),
        (499, b'{"message": "x"}', "status_499", "x", False),
        (502, b"<html>", "status_502", "status 502", True),
        (400, b"[]", "status_400", "status 400", False),
        (400, b'{"message": "rpc error: code = X desc = a desc = b"}', "status_400", "b", False),
        (400, b'{"message": "a desc = b"}', "status_400", "a desc = b", False),
    ],
)
def test_what_an_answer_says(status: int, content: bytes, code: str, message: str, *, sent: bool) -> None:
    """In the platform's own words where it has some; a fault of the service may come after it had done what was asked."""
    found = _error(HTTPResponse(b"", status=status), content, 0.0)
    assert (found.code, found.message, found.status, found.sent) == (code, message, status, sent)


def test_a_message_without_end() -> None:
    """It is cut off."""
    content = json.dumps({"message": "x" * 400}).encode()
    assert len(_error(HTTPResponse(b"", status=400), content, 0.0).message) == 300


@pytest.mark.parametrize(("content", "found"), [(b"", {}), (b" \n", {}), (b'{"a": 1}', {"a": 1}), (b"[1]", {"items": [1]})])
def test_what_an_answer_holds(content: bytes, found: object) -> None:
    """A list alone is one of items; nothing is nothing."""
    assert _decoded(content) == found


def test_no_json_at_all() -> None:
    """Whoever has answered, the call may have been done."""
    with pytest.raises(CrusoeError, match="the answer does not come from Crusoe") as raised:
        _decoded(b"<html>")
    assert raised.value.sent


def test_an_answer_that_is_too_large(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read no further; one of exactly so many bytes is."""
    body = b'{"items": []}'
    for most, fits in ((len(body), True), (len(body) - 1, False)):
        monkeypatch.setattr("reconciler.platforms.crusoe.writing.client._MOST_BYTES", most)
        service.account.faults.append(("GET", "nodepools", (200, body, {})))
        if fits:
            assert account(service).pools() == []
        else:
            with pytest.raises(CrusoeError, match="too large") as raised:
                account(service).pools()
            assert raised.value.sent


def test_no_answer_is_followed(service: Service) -> None:
    """Requests are signed for one place: a redirect is an answer like any other."""
    service.account.faults.append(("GET", "nodepools", (302, {"code": "moved", "message": "away"}, {"Location": "/v1/other"})))
    with pytest.raises(CrusoeError, match="moved: away"):
        account(service).pools()
    assert service.count("GET") == 1


def test_connections_are_kept(service: Service) -> None:
    """Each call on a new one would cost a handshake."""
    client = HttpCrusoe(service.credentials)
    found = Account(client, client.credentials)
    for _ in range(3):
        found.pools()
    pools = client._connections()
    assert client._connections() is pools
    assert sum(pool.num_connections for pool in pools.pools._container.values()) == 1


@pytest.mark.parametrize(
    ("code", "status", "denied", "throttled"),
    [
        ("unauthorized", 403, True, False),
        ("bad_credential", 401, True, False),
        ("NoCredentials", 0, True, False),
        ("not_found", 404, False, False),
        ("bad", 402, False, False),
        ("too_many_requests", 429, False, True),
        ("bad", 430, False, False),
        ("Unreachable", 0, False, False),
    ],
)
def test_what_a_refusal_is(code: str, status: int, *, denied: bool, throttled: bool) -> None:
    """By its status, and where there is none by its code."""
    error = CrusoeError(code, "x", status=status)
    assert (error.denied, error.throttled, error.sent, error.retry_after_seconds) == (denied, throttled, False, 0)


def test_files_win_over_variables(tmp_path: Path) -> None:
    """Of those that are there; what cannot be read as text is told by its path alone."""
    whole = dict.fromkeys(("CRUSOE_ACCESS_KEY", "CRUSOE_SECRET_KEY", "CRUSOE_PROJECT_ID", "CRUSOE_CLUSTER_ID"), "YWJj")
    environment = {**whole, "CRUSOE_LOWERING": "Trims", "CRUSOE_CREDENTIALS_DIRECTORY": str(tmp_path)}
    (tmp_path / "CRUSOE_LOWERING").write_text(" Keeps\n")
    (tmp_path / "CRUSOE_ORGANIZATION_ID").write_text("o-1")
    found = read_credentials(environment)
    assert (found.lowering, found.organization, found.project, found.base_path) == ("Keeps", "o-1", "YWJj", "/v1")
    assert repr(found) == "Credentials(YWJj…, project YWJj)"
    (tmp_path / "CRUSOE_PROJECT_ID").write_bytes(b"\xff")
    with pytest.raises(CredentialsError, match="CRUSOE_PROJECT_ID: UnicodeDecodeError"):
        read_credentials(environment)


@pytest.mark.parametrize(("secret", "key"), [("YQ", b"a"), ("YWI", b"ab"), ("YWJj", b"abc"), ("YWI=", b"ab"), ("YQ==", b"a")])
def test_secrets_with_and_without_padding(secret: str, key: bytes) -> None:
    """Either way of writing base64 is the same key."""
    whole = dict.fromkeys(("CRUSOE_ACCESS_KEY", "CRUSOE_PROJECT_ID", "CRUSOE_CLUSTER_ID"), "a")
    assert Credentials({**whole, "CRUSOE_SECRET_KEY": secret}).key() == key


@pytest.mark.parametrize(
    ("endpoint", "allowed"),
    [
        ("http://127.0.0.1:1/v1/", True),
        ("http://localhost/v1", True),
        ("http://[::1]/v1", True),
        ("https://crusoe.example/v1", True),
        ("http://crusoe.example/v1", False),
        ("ftp://crusoe.example/v1", False),
    ],
)
def test_where_a_key_may_be_sent(endpoint: str, *, allowed: bool) -> None:
    """Over TLS, and without it on this machine alone; a slash at the end says nothing."""
    whole = dict.fromkeys(("CRUSOE_ACCESS_KEY", "CRUSOE_SECRET_KEY", "CRUSOE_PROJECT_ID", "CRUSOE_CLUSTER_ID"), "YWJj")
    if allowed:
        assert Credentials({**whole, "CRUSOE_API_ENDPOINT": endpoint}).endpoint == endpoint.rstrip("/")
    else:
        with pytest.raises(CredentialsError, match="CRUSOE_API_ENDPOINT must be https"):
            Credentials({**whole, "CRUSOE_API_ENDPOINT": endpoint})
