import gc
import select
import socket
import ssl
import struct

import pytest

from tests.testbed.reset_sockets import close_reset_sockets

_AT_ONCE = struct.pack("ii", 1, 0)


@pytest.fixture
def reset() -> socket.socket:
    """A connection that the other side has reset."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        connection = socket.create_connection(listener.getsockname())
        other, _ = listener.accept()
        other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        other.close()
        select.select([connection], [], [])
        return connection


def test_a_reset_before_tls_leaves_no_socket_open(reset: socket.socket) -> None:
    """The error is the reset, and nothing is left to the garbage collector (a ResourceWarning fails this test)."""
    close_reset_sockets()
    with pytest.raises(ConnectionResetError):
        ssl.create_default_context().wrap_socket(reset, server_hostname="localhost")
    gc.collect()


def test_a_listening_socket_is_wrapped_as_always() -> None:
    """It has no peer and nothing is wrong with it."""
    close_reset_sockets()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with socket.create_server(("127.0.0.1", 0)) as listener, context.wrap_socket(listener, server_side=True) as wrapped:
        assert wrapped.getsockname()[1] > 0
