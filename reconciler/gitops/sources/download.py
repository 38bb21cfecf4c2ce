"""One file over HTTP, bounded in size and time, following nothing."""

import http.client
import ssl
import time
from collections.abc import Callable
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 60.0
_SILENCE_SECONDS = 15.0
_CHUNK_BYTES = 65_536
_OK = 200

Download = Callable[[str, int], bytes]
"""(address, most bytes) -> content. Raises `DownloadError`."""


class DownloadError(Exception):
    """The file cannot be had; the sentence says why. `too_large` and `timed_out` tell those two apart."""

    def __init__(self, message: str, *, too_large: bool = False, timed_out: bool = False) -> None:
        super().__init__(message)
        self.too_large = too_large
        self.timed_out = timed_out


def downloaded(url: str, most_bytes: int, timeout_seconds: float = TIMEOUT_SECONDS) -> bytes:
    """What `url` (http or https, without a user) holds now. A redirect is an error: nobody says where it would lead."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise DownloadError("the address is none") from None
    if (
        parts.scheme not in ("http", "https")
        or not host
        or parts.username is not None
        or not (url.isascii() and url.isprintable())
    ):
        raise DownloadError("the address is no plain http:// or https:// one")
    deadline = time.monotonic() + timeout_seconds
    silence = min(_SILENCE_SECONDS, timeout_seconds)
    connection = (
        http.client.HTTPSConnection(host, port, timeout=silence, context=ssl.create_default_context())
        if parts.scheme == "https"
        else http.client.HTTPConnection(host, port, timeout=silence)
    )
    try:
        connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        # A server of HTTP/1.0 leaves its socket to the answer: closing the connection would not close it.
        with connection.getresponse() as response:
            if response.status != _OK:
                raise DownloadError(f"the server answers {response.status}")
            content = bytearray()
            while chunk := response.read1(_CHUNK_BYTES):
                content += chunk
                if len(content) > most_bytes:
                    raise DownloadError(f"it has more than {most_bytes >> 20} MiB", too_large=True)
                if time.monotonic() > deadline:
                    raise DownloadError(f"it did not come within {timeout_seconds:g} s", timed_out=True)
            if response.length:
                raise DownloadError("the connection ended in the middle")
    except TimeoutError:
        raise DownloadError(f"no answer within {silence:g} s", timed_out=True) from None
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(f"it cannot be read: {str(error) or type(error).__name__}") from None
    finally:
        connection.close()
    return bytes(content)
