"""News for a webhook: a receiver that is slow, refuses, breaks off or is away, and news that come faster than it takes them."""

import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from reconciler.cli.processes.notifying import Notifying, _posted
from reconciler.control.live.news_webhook import MOST_AT_ONCE, MOST_TRIES, MOST_WAITING, NewsWebhook
from reconciler.kube.leading.events import Happening, Severity, Subject
from tests.kube.cluster import eventually

SECRET = b"0123456789abcdef"
NOW = 1_800_000_000


def happening(name: str = "general", severity: Severity = Severity.WARNING, note: str = "kubectl owns it") -> Happening:
    subject = Subject(api_version="v1", kind="MachineDeployment", name=name, namespace="prod")
    return Happening(subject=subject, reason="Held", action="Hold", note=note, severity=severity)


class Receiver:
    """Answers with the next status, the last one for ever; an exception is raised instead."""

    def __init__(self, *answers: int | OSError) -> None:
        self.answers = list(answers)
        self.bodies: list[bytes] = []
        self.headers: list[Mapping[str, str]] = []

    def __call__(self, body: bytes, headers: Mapping[str, str]) -> int:
        self.bodies.append(body)
        self.headers.append(headers)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, OSError):
            raise answer
        return answer


@contextmanager
def webhook(
    post: Callable[[bytes, Mapping[str, str]], int], grade: Severity = Severity.WARNING
) -> Iterator[tuple[NewsWebhook, list[str]]]:
    failed: list[str] = []
    news = NewsWebhook(post, lambda: SECRET, grade=grade, now_seconds=lambda: NOW, random=lambda: 0.0, failed=failed.append)
    news._backoff.next_seconds = lambda at_least_seconds=0.0: 0.001  # type: ignore[method-assign]
    yield news, failed
    news.stop(5)


def test_a_request_is_signed_with_its_time() -> None:
    receiver = Receiver(204)
    with webhook(receiver) as (news, failed):
        news.tell("east", "prod", [happening()], NOW)
        news.start()
        eventually(lambda: len(receiver.bodies) == 1, "the request")
    body, headers = receiver.bodies[0], receiver.headers[0]
    assert headers["X-Reconciler-Timestamp"] == str(NOW)
    expected = hmac.new(SECRET, b"1800000000." + body, hashlib.sha256).hexdigest()
    assert headers["X-Reconciler-Signature-256"] == f"sha256={expected}"
    assert json.loads(body) == {
        "formatVersion": "1.0",
        "events": [{
            "at": "2027-01-15T08:00:00Z", "cluster": "east", "policy": "prod", "subject": "MachineDeployment prod/general",
            "code": "Held", "words": "kubectl owns it", "grade": "Warning",
        }],
        "lost": 0,
    }  # fmt: skip
    assert failed == []


@pytest.mark.parametrize(("grade", "sent"), [(Severity.WARNING, ["bad"]), (Severity.NORMAL, ["good", "bad"])])
def test_only_news_of_the_grade_and_above(grade: Severity, sent: list[str]) -> None:
    receiver = Receiver(200)
    with webhook(receiver, grade) as (news, _):
        news.tell("", "prod", [happening("good", Severity.NORMAL)], NOW)
        news.tell("", "prod", [happening("bad")], NOW)
        news.start()
        eventually(lambda: len(receiver.bodies) == 1, "the request")
    assert [one["subject"].partition("/")[2] for one in json.loads(receiver.bodies[0])["events"]] == sent


@pytest.mark.parametrize("trouble", [500, 429, 503, OSError("refused")])
def test_what_may_pass_is_tried_again(trouble: int | OSError) -> None:
    receiver = Receiver(trouble, trouble, 200)
    with webhook(receiver) as (news, failed):
        news.start()
        news.tell("", "prod", [happening()], NOW)
        eventually(lambda: len(receiver.bodies) == 3, "three tries")
    assert failed == []
    assert len(set(receiver.bodies)) == 1


@pytest.mark.parametrize(("status", "tries"), [(400, 1), (301, 1), (404, 1), (500, MOST_TRIES)])
def test_what_is_given_up_is_counted_in_the_next_request(status: int, tries: int) -> None:
    receiver = Receiver(*[status] * tries, 200)
    with webhook(receiver) as (news, failed):
        news.start()
        news.tell("", "prod", [happening("a"), happening("b")], NOW)
        eventually(lambda: len(failed) == 1, "giving up")
        news.tell("", "prod", [happening("c")], NOW)
        eventually(lambda: len(receiver.bodies) == tries + 1, "the next one")
    assert failed == [f"2 events were not delivered: the receiver answers {status}"]
    assert json.loads(receiver.bodies[-1])["lost"] == 2


def test_a_receiver_that_hangs_keeps_nobody_waiting() -> None:
    """Telling returns at once, and the oldest news go."""
    go, entered = threading.Event(), threading.Event()
    bodies: list[bytes] = []

    def hangs(body: bytes, _: Mapping[str, str]) -> int:
        entered.set()
        go.wait(30)
        bodies.append(body)
        return 200

    with webhook(hangs) as (news, _):
        news.start()
        news.tell("", "prod", [happening("first")], NOW)
        assert entered.wait(10)
        for number in range(MOST_WAITING + 20):
            news.tell("", "prod", [happening(f"{number}", note="x" * 5000)], NOW)
        go.set()
        eventually(lambda: len(bodies) == 1 + MOST_WAITING // MOST_AT_ONCE, "all requests")
    events = [json.loads(body) for body in bodies]
    assert [one["lost"] for one in events] == [0, 20] + [0] * (MOST_WAITING // MOST_AT_ONCE - 1)
    assert events[1]["events"][0]["subject"] == "MachineDeployment prod/20"
    assert max(map(len, bodies)) < MOST_AT_ONCE * 1300


def test_a_secret_that_cannot_be_read_for_a_moment() -> None:
    receiver, reads = Receiver(200), iter([OSError("gone"), SECRET])

    def secret() -> bytes:
        read = next(reads)
        if isinstance(read, OSError):
            raise read
        return read

    with webhook(receiver) as (news, failed):
        news._secret = secret
        news.start()
        news.tell("", "prod", [happening()], NOW)
        eventually(lambda: len(receiver.bodies) == 1, "the request")
    assert failed == []


def test_stopping_ends_tries() -> None:
    receiver = Receiver(500)
    with webhook(receiver) as (news, _):
        news._backoff.next_seconds = lambda at_least_seconds=0.0: 3600.0  # type: ignore[method-assign]
        news.start()
        news.tell("", "prod", [happening()], NOW)
        eventually(lambda: len(receiver.bodies) == 1, "the first try")
        news.stop(10)
        assert not news._thread.is_alive()


def test_over_http() -> None:
    """A redirect is not followed, and the answer of a stranger is not read."""
    seen: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        assert _posted(f"http://127.0.0.1:{server.server_port}/in?x=1", b"{}", {"A": "b"}) == 302
    assert seen == [("/in?x=1", b"{}")]
    with pytest.raises(OSError, match="refused"):
        _posted("http://127.0.0.1:1/", b"{}", {})


@pytest.mark.parametrize(
    ("url", "secret", "told"),
    [
        (None, "x" * 20, "give both or neither"),
        ("https://example.org", None, "--notify-secret-file is needed"),
        ("https://example.org", "short", "5 bytes could be guessed"),
        ("ftp://example.org", "x" * 20, "use a plain http:// or https:// address"),
        ("https://user@example.org", "x" * 20, "use a plain http:// or https:// address"),
    ],
)
def test_options_that_do_not_go(url: str | None, secret: str | None, told: str, tmp_path) -> None:
    file = tmp_path / "secret"
    if secret is not None:
        file.write_text(secret)
    from reconciler.cli.outputs.failure import InputError

    with pytest.raises(InputError, match=told):
        Notifying(url=url, secret_file=file if secret is not None else None).check()


def test_without_options_nobody_is_told() -> None:
    Notifying().check()
    assert Notifying().opened(None) is None  # type: ignore[arg-type]
