"""The service over HTTP: what a client of AWS meets, on a clock of its own."""

import json
import random
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

from tests.aws.service import behaviour, reading, writing
from tests.aws.service.permissions import check
from tests.aws.service.protocol import NAMESPACES, ServiceError, parsed, refused, rendered
from tests.aws.service.state import Account, Group

Handler = Callable[[Account, str, dict[str, Any]], dict[str, Any]]
_SCOPE = re.compile(r"Credential=([^/]+)/\d{8}/([^/]+)/([^/]+)/aws4_request")
HANDLERS: dict[tuple[str, str], Handler] = {
    ("autoscaling", "DescribeAutoScalingGroups"): reading.describe_groups,
    ("autoscaling", "DescribeScalingActivities"): reading.describe_activities,
    ("autoscaling", "DescribePolicies"): reading.describe_policies,
    ("autoscaling", "DescribeScheduledActions"): reading.describe_schedules,
    ("autoscaling", "DescribeInstanceRefreshes"): reading.describe_refreshes,
    ("autoscaling", "SetDesiredCapacity"): writing.set_desired,
    ("autoscaling", "TerminateInstanceInAutoScalingGroup"): writing.terminate_instance,
    ("autoscaling", "SetInstanceProtection"): writing.set_protection,
    ("autoscaling", "CreateOrUpdateTags"): writing.write_tags,
    ("autoscaling", "DeleteTags"): writing.delete_tags,
    ("autoscaling", "LaunchInstances"): writing.launch_instances,
    ("autoscaling", "DescribeLaunchConfigurations"): reading.describe_configurations,
    ("ec2", "DescribeLaunchTemplateVersions"): reading.describe_templates,
    ("ec2", "DescribeInstanceTypes"): reading.describe_types,
    ("ec2", "DescribeCapacityReservations"): reading.describe_reservations,
}


def _no_seconds() -> float:
    return 0.0


LOST = "lost"
"""As a fault: the call is done and its answer never comes."""
GARBLED = "garbled"
"""As a fault: the call is done, and something in between answers a page of its own."""


class Service:
    """A running service. Its state is `account`; `lock` is held while a call is served."""

    def __init__(self) -> None:
        self.account = Account()
        self.lock = threading.RLock()
        self._frozen: dict[str, Any] | None = None
        self.latency: Callable[[], float] = _no_seconds
        """How long each call takes; half of it passes before the call is done."""
        self.lag: Callable[[], float] = _no_seconds
        """How old each description of groups and reservations is."""
        self._history: list[tuple[float, dict[str, Any], dict[str, int]]] = []
        service = self

        class Answering(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                service._serve(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

            def do_GET(self) -> None:
                service._serve(self, b"")

            def date_time_string(self, timestamp: float | None = None) -> str:
                return format_datetime(datetime.fromtimestamp(service.account.now, UTC), usegmt=True)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
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

    def at_once(self) -> None:
        """Answers take no time, and descriptions tell what is: for what follows from a known state."""
        with self.lock:
            self.latency = self.lag = _no_seconds
            self._history = []

    def stop(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def advance(self, seconds: float) -> None:
        """Time passes."""
        with self.lock:
            behaviour.advance(self.account, seconds)
            self._remember()

    def _remember(self) -> None:
        """What descriptions say of this instant, for those that lag behind."""
        if self.lag is not _no_seconds:
            groups = {one.name: reading.description(one) for one in self.account.groups.values()}
            free = {one.name: self.account.free(one) for one in self.account.reservations.values()}
            self._history.append((self.account.now, groups, free))

    def freeze_reads(self) -> None:
        """From now on descriptions of groups are those of this instant, whatever happens."""
        with self.lock:
            self._frozen = {group.name: reading.description(group) for group in self.account.groups.values()}

    def thaw_reads(self) -> None:
        """Descriptions are current again."""
        self._frozen = None

    def count(self, prefix: str = "") -> int:
        """Calls so far whose action begins so."""
        return sum(1 for action, _ in self.account.calls if action.startswith(prefix))

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
        lost = False
        try:
            if service == "arc-zonal-shift":
                return 200, "application/json", json.dumps(self._shifts(region, handler.path, key_id)).encode()
            if service == "eks":
                return 200, "application/json", json.dumps(self._eks(handler.path)).encode()
            action, parameters = parsed(service, body)
            self.account.calls.append((action, parameters))
            fault = next(iter(self.account.faults.get(action, ())), None)
            if fault is not None:
                self.account.faults[action].pop(0)
            if isinstance(fault, Exception):
                raise fault
            lost = fault == LOST
            latency = self.latency()
            if latency:
                self.advance(latency / 2)
            answer = self._handled(service, region, action, parameters, key_id)
            self._remember()
            if latency:
                self.advance(latency / 2)
            if fault == GARBLED:
                return 502, "text/html", b"<!doctype html><title>Bad Gateway</title>"
            if lost:
                return 0, "", b""
            return 200, "text/xml", rendered(service, action, answer, request_id)
        except ServiceError as error:
            kind = "text/xml" if service in NAMESPACES else "application/json"
            return error.status, kind, refused(service, error, request_id)

    def _handled(self, service: str, region: str, action: str, parameters: dict[str, Any], key_id: str) -> dict[str, Any]:
        if service == "sts":
            return self._assumed(parameters)
        if service == "autoscaling" and not self.account.throttle.take(self.account.now):
            self.account.throttled += 1
            raise ServiceError("Throttling", "Rate exceeded")
        for happen in list(self.account.before):
            happen(action, parameters)
        check(self.account, service, action, key_id, self._group(region, parameters), parameters)
        if action == "DescribeAutoScalingGroups" and self._frozen is not None:
            answer = reading.describe_groups(self.account, region, parameters)
            answer["AutoScalingGroups"] = [self._frozen[one["AutoScalingGroupName"]] for one in answer["AutoScalingGroups"]]
            return answer
        answer = HANDLERS[service, action](self.account, region, parameters)
        if action == "DescribeAutoScalingGroups" and self.lag is not _no_seconds:
            shown = self._lagging()[0]
            answer["AutoScalingGroups"] = [shown.get(one["AutoScalingGroupName"], one) for one in answer["AutoScalingGroups"]]
        if action == "DescribeCapacityReservations" and self.lag is not _no_seconds:
            free = self._lagging()[1]
            for one in answer["CapacityReservations"]:
                one["AvailableInstanceCount"] = free.get(one["CapacityReservationId"], one["AvailableInstanceCount"])
        return answer

    def _lagging(self) -> tuple[dict[str, Any], dict[str, int]]:
        """What a description says that is as old as the service draws: groups, and what was free in reservations."""
        instant = self.account.now - self.lag()
        return next(((groups, free) for at, groups, free in reversed(self._history) if at <= instant), ({}, {}))

    def _group(self, region: str, parameters: dict[str, Any]) -> Group | None:
        name = parameters.get("AutoScalingGroupName") or next((tag["ResourceId"] for tag in parameters.get("Tags", ())), None)
        if name is not None:
            return self.account.groups.get((region, name))
        wanted = parameters.get("InstanceId")
        return next((one for one in self.account.groups.values() if one.region == region and wanted in one.instances), None)

    def _assumed(self, parameters: dict[str, Any]) -> dict[str, Any]:
        role = parameters["RoleArn"].rpartition("/")[2]
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
