"""The service over HTTP: what a client of AWS meets, on a clock of its own."""

import json
import random
import re
import threading
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

from tests.aws.service import reading
from tests.aws.service.answering import DEAD_KEY, GARBLED, HANDLERS, LOST, Answering, NoAnswerError
from tests.aws.service.permissions import check
from tests.aws.service.protocol import NAMESPACES, ServiceError, parsed, refused, rendered
from tests.aws.service.state import Account

__all__ = ["GARBLED", "HANDLERS", "LOST", "Service"]

_SCOPE = re.compile(r"Credential=([^/]+)/\d{8}/([^/]+)/([^/]+)/aws4_request")


class Service(Answering):
    """A running service. Its state is `account`."""

    def __init__(self) -> None:
        super().__init__()
        self.assumed = 0
        """How often a role was assumed."""
        self.numbers_sessions = False
        """Whether each session of a role has a key id of its own."""
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                service._serve(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

            def do_GET(self) -> None:
                service._serve(self, b"")

            def date_time_string(self, timestamp: float | None = None) -> str:
                return format_datetime(datetime.fromtimestamp(service.account.now, UTC), usegmt=True)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """What a client takes as endpoint."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def reset(self) -> None:
        """Another account, with nothing in it, in a service as it is met: each answer takes up to 0.3 s, and each description of
        groups is up to two seconds old."""
        dice = random.Random()
        slowest, oldest = dice.uniform(0, 0.3), dice.uniform(0, 2)
        with self.lock:
            self.account = Account()
            self._frozen = None
            self.latency, self.lag = (lambda: dice.uniform(0, slowest)), (lambda: dice.uniform(0, oldest))
            self._history = []

    def stop(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _serve(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        with self.lock:
            status, kind, content = self._answer(handler, body)
        if status == 0:
            handler.close_connection = True
            return
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(content)))
        if status >= 400 and kind == "application/json":
            handler.send_header("x-amzn-errortype", json.loads(content).get("code", "InvalidRequestException"))
        handler.end_headers()
        handler.wfile.write(content)

    def _answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, str, bytes]:
        scope = _SCOPE.search(handler.headers.get("Authorization", ""))
        assert scope is not None, "a call without signature"
        key_id, region, service = scope.groups()
        request_id = f"request-{self.account.number()}"
        try:
            if service == "arc-zonal-shift":
                return 200, "application/json", json.dumps(self._shifts(region, handler.path, key_id)).encode()
            if service == "eks":
                return 200, "application/json", json.dumps(self._eks(handler.path)).encode()
            action, parameters = parsed(service, body)
            if service == "sts":
                self.account.calls.append((action, parameters))
                answer = self._assumed(parameters, key_id)
            else:
                answer = self.answer(service, region, action, parameters, key_id)
            return 200, "text/xml", rendered(service, action, answer, request_id)
        except NoAnswerError as error:
            page = b"<!doctype html><title>Bad Gateway</title>"
            return (502, "text/html", page) if error.how == GARBLED else (0, "", b"")
        except ServiceError as error:
            kind = "text/xml" if service in NAMESPACES else "application/json"
            return error.status, kind, refused(service, error, request_id)

    def _assumed(self, parameters: dict[str, Any], key_id: str) -> dict[str, Any]:
        if key_id in self.account.dead_keys:
            raise ServiceError(self.account.dead_keys[key_id], DEAD_KEY, 403)
        self.assumed += 1
        role = f"{parameters['RoleArn'].rpartition('/')[2]}{self.assumed if self.numbers_sessions else ''}"
        end = datetime.fromtimestamp(4_000_000_000, UTC)
        return {
            "Credentials": {
                "AccessKeyId": f"ASIA{role}",
                "SecretAccessKey": "secret",
                "SessionToken": "token",
                "Expiration": end,
            },
            "AssumedRoleUser": {"AssumedRoleId": f"AROA:{role}", "Arn": parameters["RoleArn"]},
        }

    def _shifts(self, region: str, path: str, key_id: str) -> dict[str, Any]:
        action = "ListManagedResources"
        where, _, query = path.partition("?")
        assert where == "/managedresources"
        parameters = dict(parse_qsl(query))
        self.account.calls.append((action, parameters))
        for happen in list(self.account.before):
            happen(action, parameters)
        if self.account.faults.get(action):
            fault = self.account.faults[action].pop(0)
            assert isinstance(fault, Exception)
            raise fault
        check(self.account, "arc-zonal-shift", action, key_id, None, parameters)
        return reading.managed_resources(self.account, region, parameters)

    def _eks(self, path: str) -> dict[str, Any]:
        self.account.calls.append(("DescribeNodegroup", {"path": path}))
        name = path.rpartition("/")[2]
        if name not in self.account.nodegroups:
            raise ServiceError("ResourceNotFoundException", f"No node group found for name: {name}.", 404)
        return {"nodegroup": {"nodegroupName": name, **self.account.nodegroups[name]}}
