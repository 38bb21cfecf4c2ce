"""How requests are signed.

SOURCE: version 1.0 of the signature, as in the published client: HMAC-SHA256 over path, ordered query, method and time, with
one line for each. The body is not signed, so only TLS protects it.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote_plus

from reconciler.values.instant import instant_text

if TYPE_CHECKING:
    pass


TIMESTAMP = "X-Crusoe-Timestamp"
_VERSION = "1.0"


def canonical(query: Mapping[str, str]) -> str:
    """Keys in order, form-encoded. The request sends exactly what is signed."""
    return "&".join(f"{quote_plus(key, safe='')}={quote_plus(text, safe='')}" for key, text in sorted(query.items()))


def signed(method: str, path: str, query: Mapping[str, str], seconds: float, access_key: str, key: bytes) -> dict[str, str]:
    """The headers of a request made at `seconds` (Unix time)."""
    stamp = instant_text(int(seconds))
    message = f"{path}\n{canonical(query)}\n{method}\n{stamp}\n".encode()
    digest = hmac.new(key, message, hashlib.sha256).digest()
    text = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return {TIMESTAMP: stamp, "Authorization": f"Bearer {_VERSION}:{access_key}:{text}"}
