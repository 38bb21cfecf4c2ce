"""A package index on this machine, and the least that it may be sent."""

import io
import re
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def distribution(name: str) -> bytes:
    """The least that counts as one."""
    metadata = b"Metadata-Version: 2.4\nName: a-b\nVersion: 1.0\n"
    made = io.BytesIO()
    if name.endswith(".whl"):
        with zipfile.ZipFile(made, "w") as wheel:
            wheel.writestr("a_b-1.0.dist-info/METADATA", metadata)
            wheel.writestr("a_b-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\n")
    else:
        with tarfile.open(fileobj=made, mode="w:gz") as source:
            entry = tarfile.TarInfo("a_b-1.0/PKG-INFO")
            entry.size = len(metadata)
            source.addfile(entry, io.BytesIO(metadata))
    return made.getvalue()


class PackageIndex:
    """A package index on this machine: takes what is uploaded, and says what came from whom."""

    def __init__(self) -> None:
        index = self
        self.names: list[str] = []
        self.users: set[str] = set()

        class Upload(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self._body()
                index.names.append(re.search(rb'name="content"; filename="([^"]+)"', body)[1].decode())
                index.users.add(self.headers["Authorization"])
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def _body(self) -> bytes:
                if "Content-Length" in self.headers:
                    return self.rfile.read(int(self.headers["Content-Length"]))
                parts = []
                while size := int(self.rfile.readline(), 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Upload)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self) -> "PackageIndex":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
