"""TLS sockets that are closed when their connection was reset before TLS began."""

import os
import socket
import ssl
from typing import Any


class ClosedWhenReset(ssl.SSLSocket):
    """SOURCE: `ssl` looks for the peer first; where a reset has come in already, it reads, meets the reset and leaves the socket
    that it has just made to the garbage collector, whose ResourceWarning would fail a test that has nothing to do with it."""

    def getpeername(self) -> Any:
        """The address of the peer. Raises the pending error of a connection that was reset, and closes the socket."""
        try:
            return super().getpeername()
        except OSError:
            pending = self.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if not pending:
                raise
            self.close()
            raise OSError(pending, os.strerror(pending)) from None


def close_reset_sockets() -> None:
    """For every TLS connection of this process: those of the tests, of the proxy and of the reconciler's client."""
    ssl.SSLContext.sslsocket_class = ClosedWhenReset
