"""Who has a token, asked of the API server only as often as necessary: strangers at our port must not make us ask for them."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

import msgspec

from reconciler.kube.connection.api import Api
from reconciler.kube.connection.token_review import Refusal, refusal

REMEMBERED_SECONDS = 10
"""SOURCE: how long the API server's own delegated authentication and authorization keep an answer."""
KNOWN_SECONDS = 600
"""For this long after its last good answer, a token's holder does not share a quota with others."""
ENTRIES = 1024
PEER_BURST, PEER_PER_SECOND = 10, 1
TOTAL_BURST, TOTAL_PER_SECOND = 40, 10

_K = TypeVar("_K")
_V = TypeVar("_V")

_TOO_MANY = Refusal(429, "too many tokens were judged recently: try again in a few seconds")


class _Judged(msgspec.Struct, frozen=True):
    refusal: Refusal | None
    at_seconds: float


class TokenJudge:
    """Judges as `refusal` does. An answer is valid for 10 s. Calls to the API server are limited, for each peer and for all peers
    together. A token that was good in the last ten minutes does not count towards the limits. So strangers cannot shut out people
    who have access. Tokens are kept as digests."""

    def __init__(self, api: Api, monotonic: Callable[[], float]) -> None:
        self._api = api
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._judged: OrderedDict[tuple[bytes, str], _Judged] = OrderedDict()
        self._known: OrderedDict[bytes, float] = OrderedDict()
        self._peers: OrderedDict[str, _Bucket] = OrderedDict()
        self._total = _Bucket(TOTAL_BURST, TOTAL_PER_SECOND, monotonic())

    def refusal(self, token: str, path: str, peer: str) -> Refusal | None:
        """Why the holder of `token`, asking from the address `peer`, may not GET `path`; None: it may."""
        if not token:
            return refusal(self._api, token, path)
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        now = self._monotonic()
        with self._lock:
            verdict = self._judged.get((digest, path))
            if verdict is not None and now - verdict.at_seconds < REMEMBERED_SECONDS:
                return verdict.refusal
            known = now - self._known.get(digest, -KNOWN_SECONDS) < KNOWN_SECONDS
            if not known and not self._taken(peer, now):
                return _TOO_MANY
        judged = refusal(self._api, token, path)
        with self._lock:
            if judged is None:
                _put(self._known, digest, now)
            elif judged.status == 401:
                self._known.pop(digest, None)
            if judged is None or judged.status != 503:
                _put(self._judged, (digest, path), _Judged(judged, now))
        return judged

    def _taken(self, peer: str, now: float) -> bool:
        bucket = self._peers.get(peer) or _Bucket(PEER_BURST, PEER_PER_SECOND, now)
        _put(self._peers, peer, bucket)
        return bucket.take(now) and self._total.take(now)


class _Bucket:
    """A burst of requests, and a rate per second."""

    def __init__(self, burst: int, per_second: float, now: float) -> None:
        self._burst = burst
        self._per_second = per_second
        self._left = float(burst)
        self._at = now

    def take(self, now: float) -> bool:
        """Whether one more request may go."""
        self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


def _put(entries: "OrderedDict[_K, _V]", key: "_K", value: "_V") -> None:
    entries[key] = value
    entries.move_to_end(key)
    if len(entries) > ENTRIES:
        entries.popitem(last=False)
