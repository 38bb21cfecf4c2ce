"""How requests are signed.

SOURCE: version 1.0 of the signature, as the published client makes it: HMAC-SHA256 over path, query in order, method and time, a
line each; the body is no part of it, so that only TLS protects that.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import quote_plus

from reconciler.values.instant import instant_text

TIMESTAMP = "X-Crusoe-Timestamp"
_VERSION = "1.0"


def canonical(query: Mapping[str, str]) -> str:
    """Keys in order, as in a form; what is sent is what is signed."""
    return "&".join(f"{quote_plus(key, safe='')}={quote_plus(text, safe='')}" for key, text in sorted(query.items()))


def signed(method: str, path: str, query: Mapping[str, str], seconds: float, access_key: str, key: bytes) -> dict[str, str]:
    """The heads of a request made at `seconds` (Unix time)."""
    stamp = instant_text(int(seconds))
    message = f"{path}\n{canonical(query)}\n{method}\n{stamp}\n".encode()
    digest = hmac.new(key, message, hashlib.sha256).digest()
    text = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return {TIMESTAMP: stamp, "Authorization": f"Bearer {_VERSION}:{access_key}:{text}"}
