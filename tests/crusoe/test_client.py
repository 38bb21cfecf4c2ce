"""The client: signature, pages, errors, what is never told."""

import base64
import logging
import traceback
from pathlib import Path

import pytest

from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.checking import operation_text
from reconciler.platforms.crusoe.writing.client import HttpCrusoe
from reconciler.platforms.crusoe.writing.credentials import Credentials, CredentialsError, configured, read_credentials
from reconciler.platforms.crusoe.writing.signature import canonical, signed
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
    with pytest.raises(CrusoeError, match="our clock and Crusoe's are"):
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
        found.set_count(pool.id, 2)
    assert (raised.value.message, raised.value.sent) == ("broken", True)
    service.account.faults.append(("PATCH", pool.id, LOST))
    with pytest.raises(CrusoeError) as raised:
        found.set_count(pool.id, 2)
    assert (raised.value.sent, pool.count) == (True, 2)
    service.account.faults.append(("GET", "nodepools", (502, b"<html>Bad Gateway</html>", {"Content-Type": "text/html"})))
    with pytest.raises(CrusoeError) as raised:
        found.pools()
    assert raised.value.status == 502
    service.account.faults.append(("GET", "nodepools", (200, b"<html>Welcome</html>", {"Content-Type": "text/html"})))
    with pytest.raises(CrusoeError, match="something else"):
        found.pools()


def test_nobody_there() -> None:
    """A connection that is refused has done nothing."""
    environment = dict.fromkeys(("CRUSOE_ACCESS_KEY", "CRUSOE_SECRET_KEY", "CRUSOE_PROJECT_ID", "CRUSOE_CLUSTER_ID"), "YWJj")
    client = HttpCrusoe(lambda: Credentials({**environment, "CRUSOE_API_ENDPOINT": "http://127.0.0.1:9"}))
    with pytest.raises(CrusoeError) as raised:
        Account(client, client.credentials).pools()
    assert (raised.value.code, raised.value.sent) == ("Unreachable", False)


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
    """One's own can be read while it is kept; another user's and an old one cannot, and a missing right is told apart."""
    service.keys["other"] = SECRET
    pool = service.account.add(count=1)
    mine, theirs = account(service), account(service, "other")
    number = mine.set_count(pool.id, 2)
    found = mine.operation(number)
    assert found is not None
    assert (found["state"], found["result"]["node_pool"]["count"]) == ("SUCCEEDED", 1)
    assert theirs.operation(number) is None
    assert "another user" in operation_text(theirs, number)
    service.account.rights["other"] = ("nodepools/f0000000",)
    assert operation_text(theirs, number) == "this user may not read operations"
    service.advance(service.account.operation_life + 5)
    assert mine.operation(number) is None
    assert "no operation" in operation_text(mine, number)


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
