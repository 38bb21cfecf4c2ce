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
    """The download failed; the sentence states why. `too_large` and `timed_out` mark those two reasons."""

    def __init__(self, message: str, *, too_large: bool = False, timed_out: bool = False) -> None:
        super().__init__(message)
        self.too_large = too_large
        self.timed_out = timed_out


def connection_to(url: str, silence_seconds: float) -> tuple[http.client.HTTPConnection, str]:
    """A connection to the server of `url` (http or https, without a user), not opened yet, and the path there. Raises
    `DownloadError` for another address."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise DownloadError("invalid address") from None
    if (
        parts.scheme not in ("http", "https")
        or not host
        or parts.username is not None
        or not (url.isascii() and url.isprintable())
    ):
        raise DownloadError("invalid address: use a plain http:// or https:// address")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if parts.scheme == "https":
        return http.client.HTTPSConnection(host, port, timeout=silence_seconds, context=ssl.create_default_context()), path
    return http.client.HTTPConnection(host, port, timeout=silence_seconds), path


def downloaded(url: str, most_bytes: int, timeout_seconds: float = TIMEOUT_SECONDS) -> bytes:
    """The content of `url` (http or https, without a user). A redirect is an error, because its destination is unknown."""
    deadline = time.monotonic() + timeout_seconds
    silence = min(_SILENCE_SECONDS, timeout_seconds)
    connection, path = connection_to(url, silence)
    try:
        connection.request("GET", path)
        # An HTTP/1.0 server leaves its socket to the answer: closing the connection would not close it.
        with connection.getresponse() as response:
            if response.status != _OK:
                raise DownloadError(f"the server answers {response.status}")
            content = bytearray()
            while chunk := response.read1(_CHUNK_BYTES):
                content += chunk
                if len(content) > most_bytes:
                    raise DownloadError(f"it has more than {most_bytes >> 20} MiB", too_large=True)
                if time.monotonic() > deadline:
                    raise DownloadError(f"it did not arrive within {timeout_seconds:g} s", timed_out=True)
            if response.length:
                raise DownloadError("the connection ended early")
    except TimeoutError:
        raise DownloadError(f"no answer within {silence:g} s", timed_out=True) from None
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(f"cannot read it: {str(error) or type(error).__name__}") from None
    finally:
        connection.close()
    return bytes(content)
