"""Who may see details: whoever sits on this machine, and holders of a token that the API server allows the page, over TLS."""

import ipaddress
from urllib.parse import urlsplit

from reconciler.control.pages.route import Admission, Request
from reconciler.kube.connection.token_judge import TokenJudge
from reconciler.kube.connection.token_review import Refusal

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
