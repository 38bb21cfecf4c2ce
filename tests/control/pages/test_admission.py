"""Who may see details: every way to ask, and what each is told."""

from collections.abc import Mapping

import pytest

from reconciler.control.pages.page_access import admission, from_loopback
from reconciler.control.pages.route import Request
from reconciler.kube.connection.token_review import Refusal

_PASSED = Refusal(403, "the judge says no")
_HERE = {"host": "localhost:8080"}


class _Judge:
    """Says no to everybody, and remembers about whom it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []

    def refusal(self, token: str, path: str, peer: str) -> Refusal | None:
        self.asked.append((token, path, peer))
        return _PASSED


def _request(headers: Mapping[str, str], peer: str = "127.0.0.1", local: str = "127.0.0.1", *, secure: bool = False) -> Request:
    return Request(method="GET", path="/plan", headers=headers, peer=peer, local=local, secure=secure)


@pytest.mark.parametrize(
    ("headers", "peer", "local", "here"),
    [
        ({"host": "localhost"}, "127.0.0.1", "127.0.0.1", True),
        ({"host": "127.0.0.1:8080"}, "127.0.0.1", "127.0.0.1", True),
        ({"host": "[::1]:8080"}, "::1", "::1", True),
        ({"host": "localhost"}, "::ffff:127.0.0.1", "127.0.0.1", True),
        ({"host": "localhost"}, "::1%lo", "::1", True),
        ({"host": "reconciler.example"}, "127.0.0.1", "127.0.0.1", False),
        ({}, "127.0.0.1", "127.0.0.1", False),
        ({"host": "[nonsense"}, "127.0.0.1", "127.0.0.1", False),
        ({"host": "localhost"}, "127.0.0.6", "127.0.0.1", False),
        ({"host": "localhost"}, "127.0.0.1", "10.0.0.7", False),
        ({"host": "localhost"}, "10.0.0.7", "127.0.0.1", False),
        ({"host": "localhost"}, "", "127.0.0.1", False),
        *(
            ({"host": "localhost", name: "x"}, "127.0.0.1", "127.0.0.1", False)
            for name in ("forwarded", "via", "x-forwarded-for", "x-envoy-peer", "l5d-dst", "traceparent", "x-real-ip", "x-b3-x")
        ),
    ],
)
def test_who_sits_on_this_machine(headers: Mapping[str, str], peer: str, local: str, here: bool) -> None:
    """Both ends are its own address, the page was asked for by a name of it, and nothing stands between."""
    assert from_loopback(_request(headers, peer, local)) is here


def test_a_request_of_which_nobody_says_so_did_not_come_over_tls() -> None:
    """Its token is not even looked at."""
    judge = _Judge()
    asked = Request(method="GET", path="/plan", headers={"authorization": "Bearer secret"}, peer="10.0.0.7", local="10.0.0.8")
    refused = admission(judge)(asked)  # type: ignore[arg-type]
    assert refused is not None
    assert (refused.status, judge.asked) == (403, [])


def test_who_is_on_this_machine_needs_no_token() -> None:
    judge = _Judge()
    assert admission(judge)(_request(_HERE)) is None  # type: ignore[arg-type]
    assert judge.asked == []


@pytest.mark.parametrize(
    ("headers", "secure", "status", "asked"),
    [
        ({"authorization": "Bearer secret"}, True, 403, ["secret"]),
        ({"authorization": "bearer  secret "}, True, 403, ["secret"]),
        ({"authorization": "Basic secret"}, True, 403, [""]),
        ({}, True, 403, [""]),
        ({"authorization": "Bearer secret"}, False, 403, []),
        ({}, False, 401, []),
    ],
)
def test_a_token_is_judged_only_when_nobody_could_read_it(
    headers: Mapping[str, str], secure: bool, status: int, asked: list[str]
) -> None:
    """In the clear from elsewhere it is refused without passing it on, and its holder is told."""
    judge = _Judge()
    found = admission(judge)(_request(headers, "10.0.0.9", "10.0.0.7", secure=secure))  # type: ignore[arg-type]

    assert found is not None
    assert found.status == status
    assert judge.asked == [(token, "/plan", "10.0.0.9") for token in asked]
    assert (found == _PASSED) is bool(asked)
    assert ("in the clear" in found.message) is (status == 403 and not asked)


def test_through_a_proxy_on_this_machine_a_token_may_come_in_the_clear() -> None:
    """Nobody but this machine can read it."""
    judge = _Judge()
    headers = {**_HERE, "via": "proxy", "authorization": "Bearer secret"}
    assert admission(judge)(_request(headers)) == _PASSED  # type: ignore[arg-type]
    assert judge.asked == [("secret", "/plan", "127.0.0.1")]
