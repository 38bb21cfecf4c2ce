"""The server over HTTP: it checks who asks by the signature, what is asked by path and fields, and answers as published."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, quote_plus, unquote, urlsplit

from reconciler.platforms.crusoe.writing.credentials import Credentials
from tests.crusoe.service import behaviour, description
from tests.crusoe.service.routes import POOLS, Refused, answered, pools
from tests.crusoe.service.state import CLUSTER, ORGANIZATION, PROJECT, Account

ACCESS_KEY = "tEsTaCcEsSkEy"
SECRET = base64.urlsafe_b64encode(b"a secret of 32 bytes, and no less").rstrip(b"=").decode()
LOST = "lost"
_SKEW_SECONDS = 300


def _no_seconds() -> float:
    return 0.0


class Service:
    """A running server. Its state is `account`; `lock` is held while a call is served."""

    def __init__(self) -> None:
        self.account = Account()
        self.lock = threading.RLock()
        self.keys = {ACCESS_KEY: SECRET}
        self.wrong: list[str] = []
        """What was asked or answered otherwise than described."""
        self.latency: Callable[[], float] = _no_seconds
        """How long each call takes; half of it passes before the call is done."""
        self.lag: Callable[[], float] = _no_seconds
        """How old each list of pools is."""
        self._history: list[tuple[float, Any]] = []
        service = self

        class Answering(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one piece: two small ones wait for each other

            def do_GET(self) -> None:
                service._serve(self)

            def do_PATCH(self) -> None:
                service._serve(self)

            def do_DELETE(self) -> None:
                service._serve(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """What a client takes as endpoint."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def environment(self, lowering: str = "Keeps", key: str = ACCESS_KEY) -> dict[str, str]:
        """What a process is told."""
        return {
            "CRUSOE_ACCESS_KEY": key,
            "CRUSOE_SECRET_KEY": self.keys[key],
            "CRUSOE_PROJECT_ID": PROJECT,
            "CRUSOE_CLUSTER_ID": CLUSTER,
            "CRUSOE_ORGANIZATION_ID": ORGANIZATION,
            "CRUSOE_API_ENDPOINT": self.url,
            "CRUSOE_LOWERING": lowering,
        }

    def credentials(self, lowering: str = "Keeps", key: str = ACCESS_KEY) -> Credentials:
        """The same, read."""
        return Credentials(self.environment(lowering, key))

    def reset(self) -> None:
        """Another account, with nothing in it."""
        with self.lock:
            self.account = Account()
            self.wrong = []
            self.latency = self.lag = _no_seconds
            self._history = []
            self.keys = {ACCESS_KEY: SECRET}

    def stop(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def advance(self, seconds: float) -> None:
        """Time passes."""
        with self.lock:
            behaviour.advance(self.account, seconds)
            self._remember()

    def _remember(self) -> None:
        """What lists of pools say of this instant, for those that lag behind."""
        if self.lag is not _no_seconds:
            self._history.append((self.account.now, pools(self.account)))

    def count(self, method: str, ending: str = "") -> int:
        """Calls so far of this method whose path holds that."""
        return sum(1 for done, path in self.account.calls if done == method and ending in path)

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        content = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        with self.lock:
            status, body, heads = self._answer(handler, content)
        if status == 0:
            handler.close_connection = True
            return
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {"Content-Type": "application/json", **heads}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    def _answer(self, handler: BaseHTTPRequestHandler, content: bytes) -> tuple[int, Any, dict[str, str]]:
        method, parts = handler.command, urlsplit(handler.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        path = unquote(parts.path)
        try:
            user = self._known(handler, method, path, query)
            self.account.calls.append((method, path))
            if not path.startswith("/v1/"):
                raise Refused(404, "not_found", f"no such path: {path}")
            allowed = self.account.rights.get(user)
            if allowed is not None and not any(part in path for part in allowed):
                raise Refused(403, "unauthorized", "not authorized")
            fault = self._fault(method, path)
            if isinstance(fault, tuple):
                return fault
            for happen in list(self.account.before):
                happen(method, path)
            asked, body = description.call(method, path.removeprefix("/v1")), _body(handler, content)
            if asked is None:
                raise Refused(404, "not_found", f"no such path: {method} {path}")
            if wrong := description.asked_wrongly(asked, query, body):
                self.wrong.extend(wrong)
                raise Refused(400, "bad_request", f"not as described: {wrong}")
            latency = self.latency()
            if latency:
                self.advance(latency / 2)
            found = answered(self.account, user, method, path.removeprefix("/v1"), query, body)
            if self.lag is not _no_seconds and (method, path.removeprefix("/v1")) == ("GET", POOLS):
                instant = self.account.now - self.lag()
                found = next((listed for at, listed in reversed(self._history) if at <= instant), found)
            self.wrong.extend(f"{method} {path}: {text}" for text in description.violations(asked.answer, found))
            behaviour.settle(self.account)
            for happen in list(self.account.after):
                happen(method, path)
            self._remember()
            if latency:
                self.advance(latency / 2)
        except Refused as refused:
            if description.ERRORS.get(refused.status) != refused.code:
                self.wrong.append(f"{refused.status} {refused.code}")
            return refused.status, {"code": refused.code, "message": refused.message}, {}
        return (0, b"", {}) if fault == LOST else (200, found, {})

    def _fault(self, method: str, path: str) -> Any:
        for index, (of_method, part, answer) in enumerate(self.account.faults):
            if of_method == method and part in path:
                del self.account.faults[index]
                return answer
        return None

    def _known(self, handler: BaseHTTPRequestHandler, method: str, path: str, query: dict[str, str]) -> str:
        """Who asks, by a signature made from what has come, with code of its own."""
        scheme, _, rest = handler.headers.get("Authorization", "").partition(" ")
        version, key, given = [*rest.split(":"), "", "", ""][:3]
        stamp = handler.headers.get("X-Crusoe-Timestamp", "")
        secret = self.keys.get(key)
        if scheme != "Bearer" or version != "1.0" or secret is None:
            raise Refused(401, "bad_credential", "no such key")
        text = "&".join(f"{quote_plus(name)}={quote_plus(query[name])}" for name in sorted(query))
        message = "".join(f"{line}\n" for line in (path, text, method, stamp))
        digest = hmac.new(base64.urlsafe_b64decode(secret + "=" * (-len(secret) % 4)), message.encode(), hashlib.sha256).digest()
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != given:
            raise Refused(401, "bad_credential", "the signature does not match")
        made = datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
        if abs(time.time() - made) > _SKEW_SECONDS:
            raise Refused(401, "bad_credential", "the request is too old")
        return key


def _body(handler: BaseHTTPRequestHandler, content: bytes) -> dict[str, Any]:
    if not content:
        return {}
    assert handler.headers.get("Content-Type") == "application/json"
    found = json.loads(content)
    assert isinstance(found, dict)
    return found
