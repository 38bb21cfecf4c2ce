"""The API server's audit log: who asked for what, and what came of it."""

import json
import time
import uuid
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tests.testbed.api import Api, Object

_MUTATING = ("create", "update", "patch", "delete", "deletecollection")
# The components write and read all the time, and no test asks for it.
_COMPONENTS = (
    "system:apiserver", "system:kube-controller-manager", "system:kube-scheduler", "kwok", "cluster-api", "cluster-api-remote",
    "stand-in",
)  # fmt: skip
_RULES: list[Object] = [
    {"level": "None", "users": list(_COMPONENTS)},
    {"level": "None", "userGroups": ["system:serviceaccounts:kube-system", "system:unauthenticated"]},
    {"level": "None", "users": ["admin"], "verbs": ["get", "list", "watch"]},
    {"level": "RequestResponse", "verbs": list(_MUTATING)},
    {"level": "Metadata"},
]


class Request(msgspec.Struct, frozen=True):
    """One request. `resource` has the subresource behind a slash; `body` is what was sent, for mutating requests; `code` is 0
    for a watch that is still open."""

    user: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int
    uri: str
    agent: str
    body: Any


class _User(msgspec.Struct):
    username: str = ""


class _Reference(msgspec.Struct):
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class _Status(msgspec.Struct):
    code: int = 0


class _Event(msgspec.Struct, rename="camel"):
    stage: str
    verb: str
    user: _User
    request_uri: str = msgspec.field(name="requestURI")
    audit_id: str = msgspec.field(name="auditID")
    user_agent: str = ""
    request_received_timestamp: str = ""
    stage_timestamp: str = ""
    object_ref: _Reference = msgspec.field(default_factory=_Reference)
    response_status: _Status = msgspec.field(default_factory=_Status)
    request_object: msgspec.Raw = msgspec.Raw(b"null")

    def request(self) -> Request:
        where = self.object_ref
        return Request(
            user=self.user.username,
            verb=self.verb,
            resource=f"{where.resource}/{where.subresource}" if where.subresource else where.resource,
            namespace=where.namespace,
            name=where.name,
            code=self.response_status.code if self.stage == "ResponseComplete" else 0,
            uri=self.request_uri,
            agent=self.user_agent,
            body=msgspec.json.decode(self.request_object),
        )


_event = msgspec.json.Decoder(_Event)
_BEGINNING = b'{"kind":"Event","apiVersion":"audit.k8s.io/'


def event_in(line: bytes) -> _Event | None:
    """The event of a line. A server that is killed leaves half a line, and the next one goes on behind it: what was begun is
    lost then (None when nothing follows), and what follows counts. Raises `DecodeError` for a line that no server wrote."""
    try:
        return _event.decode(line)
    except msgspec.DecodeError:
        start = line.find(_BEGINNING, 1)
        begun = line[:start] if start > 0 else line
        if not begun.startswith(_BEGINNING[: len(begun)]):
            raise
        return event_in(line[start:]) if start > 0 else None


class AuditLog:
    """The log of one API server, read from the beginning each time."""

    USER = "audit-reader"

    def __init__(self, path: Path, api: Api) -> None:
        self.path = path
        self._api = api

    def requests(self, user: str, *, mutating: bool) -> list[Request]:
        """The requests of a user in the order in which they were answered; a watch once, when it begins."""
        found: dict[str, _Event] = {}
        name = json.dumps(user).encode()
        for line in self._written():
            # The log of a whole run has tens of megabytes, most of them of other users.
            event = event_in(line) if name in line else None
            if event is not None and event.user.username == user and (event.verb in _MUTATING or not mutating):
                found[event.audit_id] = event
        return [event.request() for event in found.values()]

    def _written(self, seconds: float = 120) -> list[bytes]:
        """All lines, up to one of our own: a request is logged just after its answer, so the answer alone proves nothing."""
        mark = uuid.uuid4().hex
        self._api.get(f"/version?mark={mark}")
        deadline = time.monotonic() + seconds
        while True:
            text = self.path.read_bytes()
            if mark.encode() in text:
                return text[: text.rindex(b"\n")].splitlines()
            if time.monotonic() > deadline:
                raise TimeoutError(f"the audit log did not show a request of {self.USER} in {seconds:.0f} s")
            time.sleep(0.01)


def audit_policy(path: Path) -> Path:
    """Write the policy: what users change with what they sent, what they read without, nothing of the components."""
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": _RULES}
    path.write_text(yaml.safe_dump(policy))
    return path
