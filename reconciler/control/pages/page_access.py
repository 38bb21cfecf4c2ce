"""Who may see details: whoever sits on this machine, and holders of a token that the API server allows the page, over TLS."""

import ipaddress
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from reconciler.control.pages.route import Admission, Request
from reconciler.kube.connection.token_judge import Refusal, TokenJudge

_OF_PROXIES = (
    "forwarded",
    "l5d-",
    "traceparent",
    "via",
    "x-b3-",
    "x-envoy-",
    "x-forwarded-",
    "x-real-ip",
    "x-request-id",
)
"""Headers that only something between the asker and us writes. A client that writes them itself only loses by it."""

_IN_THE_CLEAR = Refusal(
    403, "a token is taken over TLS only, and this one came in the clear: consider it known to others (run --tls-certificate)"
)
_NOT_SHOWN = Refusal(401, "shown to holders of a token over TLS (run --tls-certificate), or ask through kubectl port-forward")


def admission(judge: TokenJudge) -> Admission:
    """Judges requests for details; a token that came in the clear from elsewhere is not passed on to anybody."""

    def refusal(request: Request) -> Refusal | None:
        if from_loopback(request):
            return None
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if not (request.secure or _both_ends_here(request)):
            return _IN_THE_CLEAR if "authorization" in request.headers else _NOT_SHOWN
        return judge.refusal(token.strip() if scheme.lower() == "bearer" else "", request.path, request.peer)

    return refusal


def from_loopback(request: Request) -> bool:
    """Whether the asker sits on this machine (or in this pod: `kubectl port-forward`) and means it.

    Both ends of the connection must be this machine's very own address. A mesh's proxy passes on what came from elsewhere: from
    127.0.0.6, or to the address of the pod. The Host header must name loopback too: a page of another site whose name was rebound
    to 127.0.0.1 sends its own. A request that carries what proxies write comes from somewhere else.
    """
    if any(name.startswith(_OF_PROXIES) for name in request.headers):
        return False
    try:
        host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    except ValueError:
        return False
    return _both_ends_here(request) and (host == "localhost" or _is_own(host))


def _both_ends_here(request: Request) -> bool:
    return _is_own(request.peer) and _is_own(request.local)


def _is_own(address: str) -> bool:
    """127.0.0.1 or ::1: the rest of 127.0.0.0/8 is loopback too, but used by proxies."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return str(mapped or ip) in ("127.0.0.1", "::1")


# The certificate of the pages: a Secret's directory, read again when it was renewed.

CHAIN, KEY = "tls.crt", "tls.key"
"""The names that a Secret of type kubernetes.io/tls gives."""


class CertificateError(Exception):
    """A certificate that cannot be used; the message says why."""


class Certificate:
    """The files `tls.crt` and `tls.key` in `directory`. Raises `CertificateError` where they cannot be used.

    Kubernetes renews a mounted Secret by replacing a link. The files that the names lead to now count; they are checked once per
    handshake. If a pair cannot be used, the one before stays in force, and `tell` gets the reason.
    """

    def __init__(self, directory: Path, tell: Callable[[str], None] = lambda _: None) -> None:
        self._directory = directory
        self._tell = tell
        self._lock = threading.Lock()
        self._seen = self._look()
        self._current = self._load()
        # With a certificate of its own, though another answers: without one it offers no cipher, and nobody would be asked.
        self.context = self._load()
        """What a server is given: each handshake gets the newest certificate."""
        self.context.sni_callback = self._choose

    def _choose(self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        with self._lock:
            stamps = self._look()
            if stamps != self._seen:
                self._seen = stamps
                try:
                    self._current = self._load()
                except CertificateError as error:
                    self._tell(str(error))
            connection.context = self._current

    def _look(self) -> tuple[tuple[int, int, int], ...]:
        try:
            stats = [(self._directory / name).stat() for name in (CHAIN, KEY)]
        except OSError:
            return ()
        return tuple((stat.st_ino, stat.st_mtime_ns, stat.st_size) for stat in stats)

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            # A key that wants a password would ask for it at the terminal.
            context.load_cert_chain(self._directory / CHAIN, self._directory / KEY, password="")
        except (OSError, ValueError) as error:
            raise CertificateError(f"{self._directory}: {CHAIN} and {KEY} are not a certificate with its key: {error}") from None
        return context
