"""Cluster API on a running control plane: its definitions, its manager with all webhooks, and the providers' stand-in."""

import base64
import http.client
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from tests.testbed.api import Object
from tests.testbed.connections import Connections
from tests.testbed.control_plane import MASTERS, ControlPlane
from tests.testbed.manifests import served_manifests
from tests.testbed.process import Process, free_ports
from tests.testbed.programs import program
from tests.testbed.stand_in.kinds import definitions
from tests.testbed.stand_in.provider import Provider

# Topologies are off by default.
AS_RELEASED = ("--feature-gates=ClusterTopology=true",)
"""Flags of the manager as it is released, for tests of waiting (`ClusterApi.with_flags`) and for what is measured."""
# Rate limiting makes Cluster API look at an object once a second and at a drain every 20 s. Without it the same happens, only
# sooner. Its limits of requests are lifted, since one manager serves the clusters of all tests at once.
FAST = (
    "--feature-gates=ClusterTopology=true,ReconcilerRateLimiting=false",
    "--kube-api-qps=500", "--kube-api-burst=1000", "--clustercache-client-qps=500", "--clustercache-client-burst=1000",
)  # fmt: skip
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class ClusterApi:
    """Cluster API on one control plane. Raises NotAvailableError when its program cannot be had."""

    def __init__(self, plane: ControlPlane, flags: Sequence[str] = FAST) -> None:
        self.plane = plane
        self.api = plane.api
        self._flags = flags
        self._binary = program("cluster-api")
        self._webhook_port, self._health_port = free_ports(2)
        self._certificate, self._key = plane.authority.server("cluster-api-webhooks")
        self._manager: Process | None = None
        self.provider = Provider(plane.kubeconfig_of("stand-in", MASTERS), plane.kubeconfig_of("cluster-api-remote", MASTERS))

    def start(self) -> None:
        """Install and start everything; returns when all definitions are served and the webhooks answer."""
        authority = base64.b64encode(self.plane.authority.certificate.read_bytes()).decode()
        objects = [*served_manifests(f"https://127.0.0.1:{self._webhook_port}", authority), *definitions()]
        with Connections(self.api) as connections:
            connections.create(objects)
        names = {item["metadata"]["name"] for item in objects if item["kind"] == "CustomResourceDefinition"}
        self.api.wait(_DEFINITIONS, lambda found: names <= _established(found), "the definitions being served")
        self.provider.start()
        self._start_manager()

    def stop(self) -> None:
        """Stop the stand-in and the manager; definitions and objects stay."""
        self.provider.stop()
        self._stop_manager()

    @contextmanager
    def with_flags(self, flags: Sequence[str]) -> Iterator[None]:
        """The manager with other flags (`AS_RELEASED`), restarted before and after."""
        before = self._flags
        self._restart(flags)
        try:
            yield
        finally:
            self._restart(before)

    @contextmanager
    def manager_away(self) -> Iterator[None]:
        """Nobody acts on Cluster API's objects; its webhooks are away too, so creating and changing them is refused, while the
        scale subresource has none."""
        self._stop_manager()
        try:
            yield
        finally:
            self._start_manager()

    def _restart(self, flags: Sequence[str]) -> None:
        self._stop_manager()
        self._flags = flags
        self._start_manager()

    def _stop_manager(self) -> None:
        if self._manager is not None:
            self._manager.stop(patience_seconds=2)

    def _start_manager(self) -> None:
        kubeconfig = self.plane.kubeconfig_of("cluster-api", MASTERS)
        # Addresses and credentials have no defaults that would do here.
        self._manager = self.plane.run(
            str(self._binary), f"--kubeconfig={kubeconfig}", *self._flags,
            f"--webhook-port={self._webhook_port}", f"--webhook-cert-dir={self._certificate.parent}",
            f"--webhook-cert-name={self._certificate.name}", f"--webhook-key-name={self._key.name}",
            f"--health-addr=127.0.0.1:{self._health_port}", "--diagnostics-address=0", "--leader-elect=false", "-v=2",
        )  # fmt: skip
        self._manager.wait_until(self._healthy, "being ready")

    def _healthy(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._health_port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def _established(found: Iterable[Object]) -> set[str]:
    return {
        item["metadata"]["name"]
        for item in found
        if any(one["type"] == "Established" and one["status"] == "True" for one in item.get("status", {}).get("conditions") or ())
    }
