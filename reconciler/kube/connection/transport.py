"""Requests to an API server as the user in a kubeconfig or a service account.

This is the only file that knows the client library, which finds credentials and renews them. Bytes go through its connection
pool, without its models.
"""

import logging
import os
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import urlencode

import msgspec
from yaml import YAMLError

from reconciler.kube.connection.api import ContentType, Guard, UnreachableError
from reconciler.kube.connection.connection_choice import Choice, ConnectionConfigError, choose
from reconciler.kube.connection.connections import Attempt, announce_requests
from reconciler.kube.connection.line_stream import Body, LineStream
from reconciler.kube.connection.outages import Outages
from reconciler.kube.connection.refusal_status import api_error
from reconciler.kube.connection.server_clock import ServerClock
from reconciler.kube.connection.socket_body import FAILURES, Dial, SocketBody, opened
from reconciler.kube.connection.unreachable_cause import cause

if TYPE_CHECKING:
    from kubernetes.client import Configuration
    from urllib3 import BaseHTTPResponse, PoolManager


class _Headed(Protocol):
    """An answer of which the head was read."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def close(self) -> None: ...


_Answer = TypeVar("_Answer", bound=_Headed)
FIELD_MANAGER = "nodegroup-reconciler"
DEFAULT_TIMEOUT_SECONDS = 30.0
_UNAUTHORIZED = 401
_NEW_CREDENTIALS_PAUSE_SECONDS = 10.0
_IDLE_CONNECTIONS = 256
_TRANSPORT_CHUNK_BYTES = 1_048_576
LONGEST_REFUSAL_BYTES = 1_048_576
"""The rest of a longer refusal is not read: its words are shortened anyway."""
_WITH_FIELD_MANAGER = ("POST", "PUT", "PATCH")


def connect(
    kubeconfig: str | Path | None = None,
    context: str | None = None,
    *,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    guard: Guard | None = None,
    user_agent: str = FIELD_MANAGER,
    environment: Mapping[str, str] = os.environ,
    own_sockets: bool = False,
) -> "KubernetesApi":
    """An `Api` for the chosen cluster; nothing is sent yet. Raises `ConnectionConfigError`.

    `kubeconfig` None: the files in KUBECONFIG, else `~/.kube/config`, else the pod's service account.
    """
    choice = choose(str(kubeconfig) if kubeconfig is not None else None, context, environment)
    return KubernetesApi(
        Session(choice), timeout_seconds=timeout_seconds, guard=guard, user_agent=user_agent, own_sockets=own_sockets
    )


class _Request(msgspec.Struct, frozen=True):
    """`query` is appended to `path`. `guard` is asked before a write is sent."""

    method: str
    path: str
    query: Mapping[str, str] | None = None
    content: bytes | None = None
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    guard: Guard | None = None


class Session:
    """Credentials and connections, shared by every `KubernetesApi` made from one `connect`.

    `document` returns a kubeconfig that is not in a file, each time it is opened. It raises `ConnectionConfigError`.
    """

    def __init__(self, choice: Choice, document: Callable[[], Mapping[str, object]] | None = None) -> None:
        self.choice = choice
        self._document = document
        self._lock = threading.Lock()
        self._configuration, self._pools, self._dial = _opened(choice, document)
        self._renewed = time.monotonic()
        self.outages = Outages(time.monotonic)
        self.clock = ServerClock(time.monotonic)

    @property
    def server(self) -> str:
        """The address of the API server, as configured."""
        return str(self._configuration.host).rstrip("/")

    @property
    def checks_certificate(self) -> bool:
        """Whether the server must present a certificate of a known authority."""
        return bool(self._configuration.verify_ssl) or not self.server.startswith("https:")

    def pools(self) -> "PoolManager":
        """The connections to use now."""
        return self._pools

    def dial(self) -> Dial | None:
        """How to reach the server without the pools; None through a proxy, or without TLS that checks certificates."""
        return self._dial

    def authorization(self) -> dict[str, str]:
        """The header with our identity, refreshed after it has expired; empty with client certificates. Raises `UnreachableError`
        if it has expired and cannot be renewed now."""
        with self._lock, _silenced():
            if not self._configuration.api_key:
                return {}
            try:
                token = self._configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
            except Exception as error:
                # Files, programs and identity providers fail in any way; nothing was sent, and the next request asks again.
                message = f"{_place(self.choice)}: cannot renew the credentials: {_without_content(error)}"
                raise UnreachableError(message, sent=False) from None
        return {"Authorization": token} if token else {}

    def renew(self) -> bool:
        """Load the credentials again after the server rejected them, at most every ten seconds."""
        with self._lock:
            if time.monotonic() - self._renewed < _NEW_CREDENTIALS_PAUSE_SECONDS:
                return False
            try:
                self._open()
            except ConnectionConfigError:
                # The old ones stay: the caller gets the refusal that led here.
                return False
            return True

    def reopen(self) -> None:
        """Load the credentials again because they have changed. Raises `ConnectionConfigError`, and keeps the old ones then."""
        with self._lock:
            self._open()

    def _open(self) -> None:
        self._renewed = time.monotonic()
        self._configuration, self._pools, self._dial = _opened(self.choice, self._document)


class KubernetesApi:
    """An `Api` over HTTP. Several threads may use it at once."""

    def __init__(
        self, session: Session, *, timeout_seconds: float, guard: Guard | None, user_agent: str, own_sockets: bool = False
    ) -> None:
        """`own_sockets`: its streams can be read without waiting, if the way to the server allows that."""
        self._session = session
        self._timeout_seconds = timeout_seconds
        self._guard = guard
        self._user_agent = user_agent
        self._own_sockets = own_sockets

    @property
    def server(self) -> str:
        """The address of the API server, for messages."""
        return self._session.server

    @property
    def checks_certificate(self) -> bool:
        """Whether the server must present a certificate of a known authority."""
        return self._session.checks_certificate

    @property
    def context(self) -> str:
        """The context of the kubeconfig in use; empty in a pod."""
        return self._session.choice.context

    def with_timeout(self, seconds: float) -> "KubernetesApi":
        """The same user and connections; every call ends after so many seconds."""
        return self._with(seconds, self._guard)

    def with_guard(self, guard: Guard | None) -> "KubernetesApi":
        """The same user and connections; `guard` is asked before every write."""
        return self._with(self._timeout_seconds, guard)

    def _with(self, seconds: float, guard: Guard | None) -> "KubernetesApi":
        return KubernetesApi(
            self._session, timeout_seconds=seconds, guard=guard, user_agent=self._user_agent, own_sockets=self._own_sockets
        )

    @property
    def streams_on_sockets(self) -> bool:
        """Whether streams can be read without waiting."""
        return self._own_sockets and self._session.dial() is not None

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """The body of a read. Raises `ApiError` or `UnreachableError`."""
        return self._call(_Request("GET", path, query))

    def write(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: ContentType = ContentType.JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        """The body of the answer to POST, PUT, PATCH or DELETE, done under our field manager unless `query` names one."""
        content = body if isinstance(body, bytes) else None if body is None else msgspec.json.encode(body)
        owned = {"fieldManager": FIELD_MANAGER} if method in _WITH_FIELD_MANAGER else {}
        headers = {} if content is None else {"Content-Type": content_type.value}
        return self._call(_Request(method, path, {**owned, **(query or {})}, content, headers, self._guard))

    def server_seconds(self) -> int | None:
        """Unix time by the server's clock, from an answer's header; None if there is none. Raises as `get`."""
        from email.utils import parsedate_to_datetime  # noqa: PLC0415 - needed by one command

        from urllib3 import Timeout  # noqa: PLC0415 - as in `_opened`

        with self._answer(_Request("GET", "/version"), Timeout(total=self._timeout_seconds)) as answer:
            date = answer.headers.get("Date")
            answer.drain_conn()
            answer.release_conn()
        try:
            return int(parsedate_to_datetime(date).timestamp()) if date else None
        except ValueError:
            return None

    def stream(self, path: str, query: Mapping[str, str], *, silence_seconds: float) -> LineStream:
        """The lines of a watch, from `with` on. Silence is counted between any two pieces that arrive."""
        from urllib3 import Timeout  # noqa: PLC0415 - as in `_opened`
        from urllib3.exceptions import HTTPError, ReadTimeoutError  # noqa: PLC0415

        if self.streams_on_sockets:

            def open_socket() -> Body:
                return self._accepted(
                    lambda: self._dialled(path, query, silence_seconds),
                    lambda answer: answer.whole(time.monotonic() + self._timeout_seconds, LONGEST_REFUSAL_BYTES),
                )

            return LineStream(open_socket, FAILURES, (TimeoutError,), self._session.outages.failed, silence_seconds)

        def open_body() -> Body:
            timeout = Timeout(connect=self._timeout_seconds, read=silence_seconds)
            with self._answer(_Request("GET", path, query), timeout) as answer:
                return answer

        return LineStream(open_body, (HTTPError, OSError), (ReadTimeoutError, TimeoutError), self._session.outages.failed)

    @property
    def outages(self) -> Outages:  # noqa: D102 - as the protocol says
        return self._session.outages

    @property
    def clock(self) -> ServerClock:  # noqa: D102 - as the protocol says
        return self._session.clock

    def _call(self, request: _Request) -> bytes:
        from urllib3 import Timeout  # noqa: PLC0415 - as in `_opened`

        deadline = time.monotonic() + self._timeout_seconds
        timeout = Timeout(total=self._timeout_seconds)
        with self._answer(request, timeout) as answer:
            return self._read(answer, deadline)

    def _read(self, answer: "BaseHTTPResponse", deadline: float, most_bytes: int | None = None) -> bytes:
        """The whole body, whatever the status, or about `most_bytes` of it. Raises `UnreachableError` if it breaks off."""
        from urllib3.exceptions import HTTPError  # noqa: PLC0415 - as in `_opened`

        try:
            return _whole(answer, deadline, most_bytes)
        except (HTTPError, OSError) as error:
            raise UnreachableError(f"{self.server}: the answer broke off: {cause(error)}") from None
        finally:
            answer.release_conn()

    @contextmanager
    def _answer(self, request: _Request, timeout: object) -> "Iterator[BaseHTTPResponse]":
        """A good answer, of which only the headers were read."""
        yield self._accepted(
            lambda: self._sent(request, timeout),
            lambda answer: self._read(answer, time.monotonic() + self._timeout_seconds, LONGEST_REFUSAL_BYTES),
        )

    def _accepted(self, send: Callable[[], _Answer], body: Callable[[_Answer], bytes]) -> _Answer:
        """The answer to a request, sent again with new credentials after a 401. Raises `ApiError` unless it is good; `body` reads
        the rest of one that is not."""
        answer = send()
        if answer.status == _UNAUTHORIZED and self._session.renew():
            answer.close()
            # The server did not accept the request, so nothing was done: it may be sent again.
            answer = send()
        if not 200 <= answer.status < 300:
            try:
                raise api_error(answer.status, body(answer), answer.headers)
            except FAILURES as error:
                raise UnreachableError(f"{self.server}: the answer broke off: {cause(error)}") from None
            finally:
                answer.close()
        return answer

    def _dialled(self, path: str, query: Mapping[str, str], silence_seconds: float) -> SocketBody:
        dial = self._session.dial()
        if dial is None:
            raise UnreachableError("the credentials now need another way to the server", sent=False)
        target = f"{path}?{urlencode(query)}" if query else path
        began = self._session.clock.began()
        try:
            answer = opened(
                dial, target, self._own_headers(), timeout_seconds=self._timeout_seconds, silence_seconds=silence_seconds
            )
        except FAILURES as error:
            self._session.outages.failed()
            raise UnreachableError(_unreachable(self.server, error)) from None
        self._session.outages.answered(answer.status)
        self._session.clock.answered(answer.headers.get("Date"), began)
        return answer

    def _own_headers(self) -> dict[str, str]:
        return {"Accept": "application/json", "User-Agent": self._user_agent, **self._session.authorization()}

    def _sent(self, request: _Request, timeout: object) -> "BaseHTTPResponse":
        from urllib3.exceptions import HTTPError  # noqa: PLC0415 - as in `_opened`

        url = f"{self.server}{request.path}" + (f"?{urlencode(request.query)}" if request.query else "")
        own = self._own_headers()
        began = self._session.clock.began()
        with Attempt(request.guard) as attempt:
            try:
                answer = self._session.pools().request(
                    request.method,
                    url,
                    body=request.content,
                    headers={**own, **request.headers},
                    timeout=timeout,
                    preload_content=False,
                    retries=False,
                    redirect=False,
                )
            except (HTTPError, OSError) as error:
                self._session.outages.failed()
                raise UnreachableError(_unreachable(self.server, error), sent=attempt.sent) from None
        self._session.outages.answered(answer.status)
        self._session.clock.answered(answer.headers.get("Date"), began)
        return answer


def _whole(answer: "BaseHTTPResponse", deadline: float, most_bytes: int | None = None) -> bytes:
    """The whole body, unless it takes too long: a server may also be slow byte by byte. After `most_bytes`, the rest is left."""
    parts, size = [], 0
    while chunk := answer.read1(_TRANSPORT_CHUNK_BYTES):
        parts.append(chunk)
        size += len(chunk)
        if most_bytes is not None and size >= most_bytes:
            answer.close()
            break
        if time.monotonic() > deadline:
            answer.close()
            raise TimeoutError("it took too long")
    return b"".join(parts)


def _unreachable(server: str, error: Exception) -> str:
    return f"{server} does not answer: {cause(error)}"


def _opened(
    choice: Choice, document: Callable[[], Mapping[str, object]] | None = None
) -> "tuple[Configuration, PoolManager, Dial | None]":
    """Configuration and connections by the client library. It takes half a second to import, hence not at the top."""
    from kubernetes.client import Configuration  # noqa: PLC0415
    from kubernetes.client.rest import RESTClientObject  # noqa: PLC0415
    from kubernetes.config import (  # noqa: PLC0415
        ConfigException,
        load_incluster_config,
        load_kube_config,
        load_kube_config_from_dict,
    )
    from urllib3 import disable_warnings  # noqa: PLC0415
    from urllib3.exceptions import InsecureRequestWarning  # noqa: PLC0415

    # The library annotates neither.
    load_files: Callable[..., None] = load_kube_config
    load_account: Callable[..., None] = load_incluster_config
    load_document: Callable[..., None] = load_kube_config_from_dict
    configuration = Configuration()
    with _silenced() as lines:
        try:
            if document is not None:
                load_document(document(), client_configuration=configuration, persist_config=False)
            elif choice.files:
                load_files(choice.files, choice.context, configuration, persist_config=False)
            else:
                load_account(configuration)
        except (ConfigException, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConnectionConfigError(f"{_place(choice)}: {_without_content(error)}") from None
        except YAMLError:
            # The file is being written. The error quotes the line, which may have a token.
            raise ConnectionConfigError(f"{_place(choice)}: invalid YAML") from None
    if choice.runs_program and not configuration.api_key and not configuration.cert_file:
        why = f": {lines[-1]}" if lines else ""
        raise ConnectionConfigError(f"{_place(choice)}: the credential program returned no credentials{why}")
    configuration.connection_pool_maxsize = _IDLE_CONNECTIONS
    if not configuration.verify_ssl:
        # Reported once, by whoever connects. The library would report it for every request.
        disable_warnings(InsecureRequestWarning)
    try:
        pools = RESTClientObject(configuration).pool_manager
        dial = _dial(configuration)
    except ssl.SSLError as error:
        raise ConnectionConfigError(f"{_place(choice)}: its certificates or key cannot be used: {cause(error)}") from None
    except (OSError, ValueError) as error:
        raise ConnectionConfigError(f"{_place(choice)}: {_without_content(error)}") from None
    announce_requests(pools)
    return configuration, pools, dial


def _dial(configuration: "Configuration") -> Dial | None:
    from urllib3.util.ssl_ import create_urllib3_context  # noqa: PLC0415 - as in `_opened`

    server = str(configuration.host).rstrip("/")
    if not server.startswith("https:") or not configuration.verify_ssl or configuration.proxy or not configuration.ssl_ca_cert:
        return None
    context = create_urllib3_context()
    context.load_verify_locations(configuration.ssl_ca_cert)
    if configuration.cert_file:
        # Without a password, a key that needs one would be asked for on the terminal.
        context.load_cert_chain(configuration.cert_file, configuration.key_file, password="")
    return Dial(server=server, context=context, server_name=configuration.tls_server_name or "")


def _place(choice: Choice) -> str:
    if choice.secret:
        return f"Secret {choice.secret}"
    if not choice.files:
        return "service account of this pod"
    return f'kubeconfig {choice.files}, context "{choice.context}", user "{choice.user}"'


def _without_content(error: Exception) -> str:
    """The library quotes whole entries of a kubeconfig, tokens included, in braces."""
    return str(error).partition("{")[0].strip() or "cannot read it"


class _LineCollector(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage().partition("{")[0])


@contextmanager
def _silenced() -> "Iterator[list[str]]":
    """The library reports a failed credential program on the root logger only, and goes on without credentials."""
    root, handler = logging.getLogger(), _LineCollector()
    root.addHandler(handler)
    try:
        yield handler.lines
    finally:
        root.removeHandler(handler)
