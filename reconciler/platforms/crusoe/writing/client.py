"""Requests to Crusoe's API over urllib3's connection pool, signed, one attempt each."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from reconciler.platforms.crusoe.facts.failures import plain
from reconciler.platforms.crusoe.writing.calls import CrusoeError, Object
from reconciler.values.retry_after import retry_after_seconds

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, PoolManager
from reconciler.platforms.crusoe.writing.credentials import Credentials, CredentialsError, read_credentials
from reconciler.platforms.crusoe.writing.request_signature import canonical, signed

CONNECT_SECONDS, READ_SECONDS = 3.0, 15.0
_LONGEST = 300
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 60.0
_MOST_BYTES = 32 * 1024 * 1024
_SKEW_SECONDS = 60


class HttpCrusoe:
    """A `Crusoe`. After a throttled call it sends none for a while. If Crusoe rejects the credentials, they are read again."""

    def __init__(
        self,
        credentials: Callable[[], Credentials] = read_credentials,
        *,
        wall_seconds: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = credentials
        self._credentials: Credentials | None = None
        self._wall_seconds, self._monotonic = wall_seconds, monotonic
        self._lock = threading.Lock()
        self._pools: PoolManager | None = None
        self._closed_until, self._pause = 0.0, _FIRST_PAUSE
        self.calls = 0
        """The number of calls that were sent."""

    def credentials(self) -> Credentials:
        """The credentials in use. Raises `CrusoeError`."""
        with self._lock:
            if self._credentials is None:
                try:
                    self._credentials = self._read()
                except CredentialsError as error:
                    raise CrusoeError("NoCredentials", str(error)) from None
            return self._credentials

    def call(self, method: str, path: str, query: Mapping[str, str] | None = None, body: Object | None = None) -> Object:
        """As `Crusoe.call`."""
        left = self._closed_until - self._monotonic()
        if left > 0:
            raise CrusoeError("too_many_requests", f"Crusoe throttles this user. The next attempt is in {left:.0f} s", status=429)
        answer = self._sent(method, path, query or {}, body)
        if answer.status == 401:
            # Crusoe rejected the login, so nothing was done. The Secret may have been renewed meanwhile.
            with self._lock:
                self._credentials = None
            answer = self._sent(method, path, query or {}, body)
        content = self._body(answer)
        if 200 <= answer.status < 300:
            return _decoded(content)
        error = _error(answer, content, self._wall_seconds())
        if error.throttled:
            self._closed_until = self._monotonic() + max(self._pause, error.retry_after_seconds)
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        raise error

    def _sent(self, method: str, path: str, query: Mapping[str, str], body: Object | None) -> "BaseHTTPResponse":
        from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError  # noqa: PLC0415 - as below

        own = self.credentials()
        text = canonical(query)
        heads = signed(method, own.base_path + path, query, self._wall_seconds(), own.access_key, own.key())
        content = None if body is None else json.dumps(body).encode()
        self.calls += 1
        try:
            return self._connections().request(
                method,
                own.endpoint + path + (f"?{text}" if text else ""),
                body=content,
                headers={**heads, "Accept": "application/json", **({} if body is None else {"Content-Type": "application/json"})},
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except (NewConnectionError, ConnectTimeoutError) as error:
            raise CrusoeError("Unreachable", f"{type(error).__name__}: {error}"[:_LONGEST]) from None
        except (HTTPError, OSError) as error:
            raise CrusoeError("Unreachable", f"{type(error).__name__}: {error}"[:_LONGEST], sent=True) from None

    def _connections(self) -> "PoolManager":
        from urllib3 import PoolManager, Timeout  # noqa: PLC0415 - only who asks Crusoe needs it

        with self._lock:
            if self._pools is None:
                self._pools = PoolManager(timeout=Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS))
            return self._pools

    def _body(self, answer: "BaseHTTPResponse") -> bytes:
        from urllib3.exceptions import HTTPError  # noqa: PLC0415 - as above

        try:
            content = answer.read(_MOST_BYTES + 1)
        except (HTTPError, OSError) as error:
            raise CrusoeError("Unreachable", f"the answer broke off: {type(error).__name__}", sent=True) from None
        finally:
            answer.release_conn()
        if len(content) > _MOST_BYTES:
            raise CrusoeError("Unreachable", "the answer is too large", sent=True)
        self._pause = self._pause if answer.status == 429 else _FIRST_PAUSE
        return content


def _decoded(content: bytes) -> Object:
    if not content.strip():
        return {}
    try:
        body = json.loads(content)
    except ValueError:
        raise CrusoeError("Unreachable", "the answer does not come from Crusoe (a proxy?)", sent=True) from None
    return body if isinstance(body, dict) else {"items": body}


def _error(answer: "BaseHTTPResponse", content: bytes, now_seconds: float) -> CrusoeError:
    """SOURCE: `{code, message}` as published. The service may report a fault after it has done the work."""
    try:
        body = json.loads(content)
    except ValueError:
        body = {}
    body = body if isinstance(body, dict) else {}
    message = plain(str(body.get("message") or f"status {answer.status}"))[:_LONGEST]
    if answer.status == 401 and (apart := _apart(answer.headers.get("Date", ""), now_seconds)):
        message = f"{message} (our clock and Crusoe's differ by {apart} s, and the signature contains the time)"
    return CrusoeError(
        str(body.get("code") or f"status_{answer.status}"),
        message,
        status=answer.status,
        sent=answer.status >= 500,
        retry_after_seconds=float(retry_after_seconds(answer.headers.get("Retry-After", ""))),
    )


def _apart(date: str, now_seconds: float) -> int:
    try:
        apart = abs(int(parsedate_to_datetime(date).timestamp() - now_seconds))
    except ValueError:
        return 0
    return apart if apart > _SKEW_SECONDS else 0
