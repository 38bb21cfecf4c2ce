"""The rate of calls for one account and region, so that AWS need not throttle them.

SOURCE: Auto Scaling has one bucket for all calls of an account and region, and does not publish its size. EC2 publishes its
buckets: 100 tokens for reads and 50 for writes, refilled at 20 and 5 per second. The rate here is far below both, because other
clients call as well.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Answer, Aws, AwsError

BURST, PER_SECOND = 25, 5
AT_EASE_PER_MINUTE = 50
"""What can wait begins only if no more calls than this are sent within a minute."""
_MINUTE, _GRANT_SECONDS, _LONGEST_WAIT = 60.0, 10.0, 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 60.0


class Bucket:
    """The tokens of one account and region, whoever calls."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep) -> None:
        self._monotonic = monotonic
        self._sleep = sleep
        self._lock = threading.Lock()
        self._tokens = float(BURST)
        self._at = monotonic()
        self._closed_until = 0.0
        self._refused_by = AwsError("Throttling", "Rate exceeded")
        self._pause = _FIRST_PAUSE
        self._sent = deque[float]()
        self._granted: list[tuple[float, int]] = []

    def spare(self, calls: int) -> bool:
        """Whether something that can wait, and that takes so many calls, may begin now. Some of it may every half a minute,
        however much is called otherwise."""
        with self._lock:
            now = self._monotonic()
            while self._sent and now - self._sent[0] >= _MINUTE:
                self._sent.popleft()
            last = self._granted[-1][0] if self._granted else float("-inf")
            under_way = sum(count for at, count in self._granted if now - at < _GRANT_SECONDS)
            may = len(self._sent) + under_way + calls <= AT_EASE_PER_MINUTE or now - last >= _LONGEST_WAIT
            if may:
                self._granted = [*((at, count) for at, count in self._granted if now - at < _GRANT_SECONDS), (now, calls)]
            return may

    def take(self) -> None:
        """Spend a token, and wait for one if there is none. Raises `Throttling` if AWS has throttled just now."""
        with self._lock:
            now = self._monotonic()
            if now < self._closed_until:
                raise self._closed()
            self._tokens = min(float(BURST), self._tokens + (now - self._at) * PER_SECOND)
            self._at = now
            if self._tokens < 1:
                self._sleep((1 - self._tokens) / PER_SECOND)
                self._tokens, self._at = 1.0, self._monotonic()
            self._tokens -= 1
            self._sent.append(self._at)

    def close(self, error: AwsError) -> AwsError:
        """Give out no token for a while, longer each time until a call succeeds. Returns the error for the caller."""
        with self._lock:
            self._closed_until = self._monotonic() + self._pause
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)
            self._refused_by = error
            return self._closed()

    def succeeded(self) -> None:
        """AWS has answered."""
        with self._lock:
            self._pause = _FIRST_PAUSE

    def _closed(self) -> AwsError:
        """One sentence for the refused call and for those that are not sent after it."""
        left, by = self._closed_until - self._monotonic(), self._refused_by
        message = f"{by.message}: AWS throttles this account and region. The next attempt is in {left:.0f} s"
        return AwsError(by.code, message, status=by.status)


class Metered:
    """An `Aws` that spends tokens for calls of Auto Scaling. After a throttled call it sends none for a while. The last answers
    stay, with their date, and nothing is written on them. `bucket` may be shared with other roles of the same account."""

    def __init__(
        self, aws: Aws, bucket: Bucket | None = None, *, monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        self._aws = aws
        self._bucket = Bucket(monotonic=monotonic, sleep=sleep) if bucket is None else bucket
        self._lock = threading.Lock()
        self.calls = Counter[str]()
        """How often each action was sent."""
        self.throttled = 0

    def spare(self, calls: int) -> bool:
        """As `Bucket.spare`."""
        return self._bucket.spare(calls)

    def call(self, service: str, action: str, **parameters: Any) -> Answer:  # noqa: ANN401 - as the action has them
        """Forward the call. Raises `Throttling` without a call if AWS has throttled just now."""
        if service == AUTO_SCALING:
            self._bucket.take()
        with self._lock:
            self.calls[action] += 1
        try:
            answer = self._aws.call(service, action, **parameters)
        except AwsError as error:
            if not error.throttled:
                raise
            with self._lock:
                self.throttled += 1
            raise self._bucket.close(error) from error
        self._bucket.succeeded()
        return answer
