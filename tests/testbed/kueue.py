"""Kueue on a running control plane: the definitions and webhooks of its module, and its own manager.

It is built on request alone (`make test-kueue`); where it is not in the cache, the tests that need it are skipped.
"""

import base64
import http.client
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.testbed.api import Object
from tests.testbed.build import place
from tests.testbed.certificates import Authority
from tests.testbed.cluster_documents import namespace
from tests.testbed.control_plane import MASTERS, ControlPlane
from tests.testbed.definitions import served_kinds
from tests.testbed.manifests import kueue_manifests, provisioning_request_definition
from tests.testbed.process import Process, free_ports
from tests.testbed.programs import PROGRAMS, program

NAMESPACE = "kueue-system"
GROUP = "kueue.x-k8s.io/v1beta2"
_SECRET, _SERVICE = "kueue-webhook-server-cert", "kueue-webhook-service"
# Of all frameworks only Jobs are used, and of the webhooks only those for these groups.
_FRAMEWORKS = ["batch/job"]
_WEBHOOKS = frozenset({"batch", "kueue.x-k8s.io"})


def skip_unless_built() -> None:
    """Skip the test where Kueue would have to be built first."""
    if not place(PROGRAMS["kueue"]).exists():
        pytest.skip("not built: kueue; `make test-kueue` builds it, which takes many minutes, and runs this")


class Kueue:
    """Kueue's manager on one control plane. Raises NotAvailableError when it cannot be had."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        self.plane = plane
        self.api = plane.api
        self._directory = directory
        self._binary = program("kueue")
        self._health_port, self._webhook_port = free_ports(2)
        self._manager: Process | None = None
        self._undo = ExitStack()

    def start(self) -> None:
        """Install everything and start the manager; returns when it is ready."""
        self.api.create(namespace(NAMESPACE), self._certificates())
        self._undo.enter_context(served_kinds(self.plane, provisioning_request_definition(), *self._definitions()))
        for item in self.api.create(*self._of_kinds("WebhookConfiguration")):
            self._undo.callback(self.api.delete, item)
        configuration = self._directory / "kueue.json"
        configuration.write_text(json.dumps(self._configuration()))
        kubeconfig = self.plane.kubeconfig_of("kueue", MASTERS)
        words = ["/usr/bin/env", f"KUBECONFIG={kubeconfig}", str(self._binary), f"--config={configuration}"]
        self._manager = Process("kueue", words, self.plane.directory)
        self._manager.wait_until(self._ready, "being ready")

    def stop(self) -> None:
        """Stop the manager, and take its webhooks and kinds away: nobody would answer for them."""
        if self._manager is not None:
            self._manager.stop(patience_seconds=2)
        self._undo.close()

    def diagnosis(self) -> str:
        """The end of its log."""
        return self._manager.tail() if self._manager is not None else ""

    def _configuration(self) -> Object:
        return {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "namespace": NAMESPACE,
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self._health_port}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {"host": "127.0.0.1", "port": self._webhook_port, "certDir": str(self._directory)},
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {"enable": True, "webhookServiceName": _SERVICE, "webhookSecretName": _SECRET},
            "integrations": {"frameworks": _FRAMEWORKS},
            # It would listen on a fixed port.
            "featureGates": {"VisibilityOnDemand": False},
        }

    def _certificates(self) -> Object:
        """What its rotator of certificates would make, and a kubelet would mount, also for our address."""
        authority = Authority(self._directory, "kueue-ca", rsa_key=True)
        certificate, key = authority.server("tls", f"{_SERVICE}.{NAMESPACE}.svc")
        files = {"ca.crt": authority.certificate, "ca.key": authority.key, "tls.crt": certificate, "tls.key": key}
        data = {name: base64.b64encode(file.read_bytes()).decode() for name, file in files.items()}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": _SECRET, "namespace": NAMESPACE}, "data": data}

    def _definitions(self) -> list[Object]:
        found = [item for item in kueue_manifests() if item["kind"] == "CustomResourceDefinition"]
        for item in found:
            if "conversion" in item["spec"]:
                item["spec"]["conversion"]["webhook"]["clientConfig"] = {"url": f"https://127.0.0.1:{self._webhook_port}/convert"}
        return found

    def _of_kinds(self, ending: str) -> list[Object]:
        found = [item for item in kueue_manifests() if item["kind"].endswith(ending)]
        for item in found:
            item["webhooks"] = [one for one in item["webhooks"] if _groups(one) <= _WEBHOOKS]
            for webhook in item["webhooks"]:
                path = webhook["clientConfig"]["service"]["path"]
                webhook["clientConfig"] = {"url": f"https://127.0.0.1:{self._webhook_port}{path}"}
        return found

    def _ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._health_port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def _groups(webhook: Any) -> set[str]:
    return {group for rule in webhook["rules"] for group in rule["apiGroups"]}
