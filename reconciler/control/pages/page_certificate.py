"""The TLS certificate of the pages, read from a Secret's directory and read again after a renewal."""

import ssl
import threading
from collections.abc import Callable
from pathlib import Path

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
