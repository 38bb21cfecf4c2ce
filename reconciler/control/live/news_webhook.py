"""News of the loop for a webhook: signed, bounded, tried again, and never in the way of an iteration.

Each request has the time in `X-Reconciler-Timestamp`, and in `X-Reconciler-Signature-256` `sha256=` with the HMAC of
`TIMESTAMP.BODY`. A receiver that checks both takes no forged and no old request. SOURCE: this is how GitHub and Slack sign.
"""

import hashlib
import hmac
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence

import msgspec

from reconciler.kube.connection.backoff import Backoff
from reconciler.kube.leading.events import Happening, Severity
from reconciler.values.instant import instant_text

FORMAT_VERSION = "1.0"
MOST_WAITING = 500
MOST_AT_ONCE = 50
MOST_TRIES = 8
LONGEST_NOTE = 1000
_AGAIN = (408, 425, 429)

Post = Callable[[bytes, Mapping[str, str]], int]
"""(body, headers) -> HTTP status. Raises `OSError` if nobody answers."""


class NewsEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened. `subject` is `KIND NAMESPACE/NAME`; `code` is stable; `grade` is Normal or Warning."""

    at: str
    cluster: str
    policy: str
    subject: str
    code: str
    words: str
    grade: str


class NewsBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The body of one request. `lost` events were dropped since the last one, because the receiver was away for too long."""

    format_version: str = FORMAT_VERSION
    events: tuple[NewsEvent, ...]
    lost: int = 0


class NewsWebhook:
    """Sends from a thread of its own. `secret` is read for each request. `wait` waits so many seconds, and returns whether it was
    stopped meanwhile. `failed` is called once per lost request."""

    def __init__(
        self,
        post: Post,
        secret: Callable[[], bytes],
        *,
        grade: Severity,
        now_seconds: Callable[[], int],
        random: Callable[[], float],
        failed: Callable[[str], None],
    ) -> None:
        self._post = post
        self._secret = secret
        self._grade = grade
        self._now_seconds = now_seconds
        self._backoff = Backoff(random)
        self._failed = failed
        self._waiting: deque[NewsEvent] = deque()
        self._lost = 0
        self._changed = threading.Condition()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="news", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def stop(self, patience_seconds: float) -> None:
        """Send what waits, for at most so long, then end."""
        with self._changed:
            self._stopped.set()
            self._changed.notify_all()
        self._thread.join(patience_seconds)

    def tell(self, cluster: str, policy: str, happenings: Sequence[Happening], at_seconds: int) -> None:
        """Keep news for the next request; returns at once. If too many wait, the oldest are dropped and counted."""
        wanted = [one for one in happenings if self._grade is Severity.NORMAL or one.severity is Severity.WARNING]
        if not wanted:
            return
        with self._changed:
            self._waiting.extend(_event(one, cluster, policy, at_seconds) for one in wanted)
            while len(self._waiting) > MOST_WAITING:
                self._waiting.popleft()
                self._lost += 1
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._stopped.is_set():
                    self._changed.wait()
                events = tuple(self._waiting.popleft() for _ in range(min(MOST_AT_ONCE, len(self._waiting))))
                lost, self._lost = self._lost, 0
            if not events:
                return
            why = self._sent(msgspec.json.encode(NewsBody(events=events, lost=lost)))
            if why:
                self._failed(f"{len(events)} events were not delivered: {why}")
                with self._changed:
                    self._lost += len(events) + lost

    def _sent(self, body: bytes) -> str:
        """Try a few times; why it was given up, empty if it was taken."""
        why = ""
        for _ in range(MOST_TRIES):
            try:
                status = self._post(body, self._headers(body))
            except OSError as error:
                why = str(error) or type(error).__name__
            else:
                if 200 <= status < 300:
                    self._backoff.reset()
                    return ""
                why = f"the receiver answers {status}"
                if 300 <= status < 500 and status not in _AGAIN:
                    return why
            if self._stopped.wait(self._backoff.next_seconds()):
                return why
        return why

    def _headers(self, body: bytes) -> dict[str, str]:
        """Raises `OSError` if the secret cannot be read."""
        timestamp = str(self._now_seconds())
        signature = hmac.new(self._secret(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
        return {
            "Content-Type": "application/json",
            "X-Reconciler-Timestamp": timestamp,
            "X-Reconciler-Signature-256": f"sha256={signature}",
        }


def _event(one: Happening, cluster: str, policy: str, at_seconds: int) -> NewsEvent:
    subject = one.subject
    return NewsEvent(
        at=instant_text(at_seconds),
        cluster=cluster,
        policy=policy,
        subject=f"{subject.kind} {f'{subject.namespace}/' if subject.namespace else ''}{subject.name}",
        code=one.reason,
        words=one.note[:LONGEST_NOTE],
        grade=str(one.severity),
    )
