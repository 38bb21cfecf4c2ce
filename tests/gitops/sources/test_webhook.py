"""Push notifications: who is believed, and the place in the HTTP server."""

import http.client
from pathlib import Path

import pytest

from reconciler.cli.outputs.failure import InputError
from reconciler.cli.processes.live_pages import check_secret
from reconciler.control.pages.http_server import HttpServer
from reconciler.control.pages.push_webhook import webhook_route
from reconciler.gitops.sources.poll_times import Polling, next_wait_seconds
from reconciler.gitops.sources.webhook import Verdict, judged

# SOURCE: GitHub's documentation of webhooks, "Testing the webhook payload validation".
SECRET = b"It's a Secret to Everybody"
BODY = b"Hello, World!"
SIGNATURE = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"


@pytest.mark.parametrize(("headers", "body", "verdict"), [
    ({"x-hub-signature-256": SIGNATURE}, BODY, Verdict.ACCEPTED),
    ({"x-gitlab-token": SECRET.decode()}, BODY, Verdict.ACCEPTED),
    ({"x-hub-signature-256": SIGNATURE}, BODY + b".", Verdict.REFUSED),
    ({"x-hub-signature-256": SIGNATURE.upper()}, BODY, Verdict.REFUSED),
    ({"x-hub-signature-256": ""}, BODY, Verdict.REFUSED),
    ({"x-hub-signature-256": "sha256=\u00e9"}, BODY, Verdict.REFUSED),
    ({"x-hub-signature-256": "x", "x-gitlab-token": SECRET.decode()}, BODY, Verdict.REFUSED),
    ({"x-gitlab-token": ""}, BODY, Verdict.REFUSED),
    ({"x-hub-signature": "sha1=" + "0" * 40}, BODY, Verdict.UNSIGNED),
    ({}, BODY, Verdict.UNSIGNED),
])  # fmt: skip
def test_who_is_believed(headers: dict[str, str], body: bytes, verdict: Verdict):
    """The vector of GitHub's documentation, GitLab's token, and everything near them."""
    assert judged(headers, body, SECRET) is verdict


@pytest.mark.parametrize("secret", [b"", b"short"])
def test_secret_that_could_be_guessed(secret: bytes):
    """Also an empty one, which would let everybody in."""
    with pytest.raises(ValueError, match="at least 16 bytes"):
        judged({"x-gitlab-token": secret.decode()}, b"", secret)


def test_notification_over_http():
    """Believed: 202, and the source is looked at; not believed: 403 and 401, and it is not."""
    looked = []
    server = HttpServer(("127.0.0.1", 0), (webhook_route(lambda: SECRET, lambda: looked.append(1)),), lambda _: None, pytest.fail)
    server.start()
    try:
        statuses = []
        for headers in ({"X-Hub-Signature-256": SIGNATURE}, {"X-Hub-Signature-256": "sha256=0"}, {}):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
            connection.request("POST", "/webhook", body=BODY, headers=headers)
            statuses.append(connection.getresponse().status)
            connection.close()
    finally:
        server.stop()
    assert (statuses, looked) == ([202, 403, 401], [1])


@pytest.mark.parametrize(("content", "told"), [
    (None, "No such file or directory"),
    (b" short \n", "5 bytes could be guessed, at least 16 are needed: openssl rand -hex 32"),
])  # fmt: skip
def test_secret_file_is_looked_at_before_the_loop_listens(content: bytes | None, told: str, tmp_path: Path):
    """Otherwise every notification would be answered by an error page, and nobody would know why."""
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=told):
        check_secret(file)


@pytest.mark.parametrize(("failures", "chance", "seconds"), [
    (0, 0.0, 60.0), (0, 0.5, 66.0), (1, 0.0, 60.0), (2, 0.0, 120.0), (3, 0.0, 240.0), (4, 0.0, 480.0), (5, 0.0, 900.0),
    (10_000, 0.0, 900.0), (5, 0.5, 990.0),
])  # fmt: skip
def test_waits_between_polls(failures: int, chance: float, seconds: float):
    """60 s, a fifth of it at most as jitter; doubled by failures up to 15 min."""
    assert next_wait_seconds(Polling(), failures, chance) == pytest.approx(seconds)


def test_interval_longer_than_the_longest_wait():
    """Failures never make polls more frequent."""
    assert next_wait_seconds(Polling(interval_seconds=3600), 3, 0) == 3600
