"""How fast one account and region is asked, so that AWS need not say it.

SOURCE: Auto Scaling has one bucket for all its calls of an account and region and does not publish the sizes; EC2's, which are
published, hold 100 tokens for reads and 50 for writes, with 20 and 5 a second. Below both by far, since others ask as well.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Answer, Aws, AwsError

BURST, PER_SECOND = 25, 5
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 60.0


class Metered:
    """An `Aws` that spends tokens for calls of Auto Scaling. After a throttled call none is sent for a while: what is known stays
    known, with its date, and nothing is written on it."""

    def __init__(
        self, aws: Aws, *, monotonic: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._aws = aws
        self._monotonic = monotonic
        self._sleep = sleep
        self._lock = threading.Lock()
        self._tokens = float(BURST)
        self._at = monotonic()
        self._closed_until = 0.0
        self._pause = _FIRST_PAUSE
        self.calls = Counter[str]()
        """How often each action was sent."""
        self.throttled = 0

    def call(self, service: str, action: str, **parameters: Any) -> Answer:  # noqa: ANN401 - as the action has them
        """As the one behind it; `Throttling` without asking while AWS has said so just now."""
        with self._lock:
            if service == AUTO_SCALING:
                self._wait()
            self.calls[action] += 1
        try:
            answer = self._aws.call(service, action, **parameters)
        except AwsError as error:
            if error.throttled:
                with self._lock:
                    self.throttled += 1
                    self._closed_until = self._monotonic() + self._pause
                    self._pause = min(self._pause * 2, _LONGEST_PAUSE)
            raise
        with self._lock:
            self._pause = _FIRST_PAUSE
        return answer

    def _wait(self) -> None:
        now = self._monotonic()
        if now < self._closed_until:
            left = self._closed_until - now
            raise AwsError("Throttling", f"AWS throttles this account and region; asked again in {left:.0f} s")
        self._tokens = min(float(BURST), self._tokens + (now - self._at) * PER_SECOND)
        self._at = now
        if self._tokens < 1:
            self._sleep((1 - self._tokens) / PER_SECOND)
            self._tokens, self._at = 1.0, self._monotonic()
        self._tokens -= 1
