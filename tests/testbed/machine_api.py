"""OpenShift's Machine API on a running control plane: its definitions, and its controllers over an actuator of ours.

A MachineSet's providerSpec says how its instances behave (`modules/machine-api/actuator.go`): they come after a while, never
become nodes, or are refused. To change it changes only the Machines that are made from then on.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.testbed.api import Object
from tests.testbed.control_plane import MASTERS, ControlPlane
from tests.testbed.manifests import machine_api_manifests
from tests.testbed.process import Process
from tests.testbed.programs import program

GROUP = "machine.openshift.io"
API_VERSION = f"{GROUP}/v1beta1"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def _autoscaler_definition() -> Object:
    """The MachineAutoscaler as far as anything here reads it; its operator is in no module that can be had."""
    group = "autoscaling.openshift.io"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"machineautoscalers.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "MachineAutoscaler", "plural": "machineautoscalers", "singular": "machineautoscaler"},
            "versions": [
                {
                    "name": "v1beta1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                        }
                    },
                }
            ],
        },
    }


class MachineApi:
    """The Machine API on one control plane. Raises NotAvailableError when its program cannot be had."""

    def __init__(self, plane: ControlPlane, variant: str = "Default") -> None:
        self.plane = plane
        self.api = plane.api
        self._binary = program("machine-api")
        self._definitions: list[Object] = [*json.loads(machine_api_manifests(variant).read_text()), _autoscaler_definition()]
        self._process: Process | None = None

    def start(self) -> None:
        """Install the definitions and start the controllers."""
        self.api.create(*self._definitions)
        names = {item["metadata"]["name"] for item in self._definitions}

        def established(found: list[Any]) -> bool:
            there = {
                item["metadata"]["name"]
                for item in found
                if any(
                    one["type"] == "Established" and one["status"] == "True"
                    for one in item.get("status", {}).get("conditions") or ()
                )
            }
            return names <= there

        self.api.wait(_DEFINITIONS, established, "the definitions being served")
        self._run()

    def stop(self) -> None:
        """Stop the controllers and take the definitions, and with them all objects, away."""
        self._end()

    @contextmanager
    def controllers_away(self) -> Iterator[None]:
        """Nobody acts on MachineSets and Machines."""
        self._end()
        try:
            yield
        finally:
            self._run()

    def _run(self) -> None:
        self._process = self.plane.run(str(self._binary), f"--kubeconfig={self.plane.kubeconfig_of('machine-api', MASTERS)}")

    def _end(self) -> None:
        if self._process is not None:
            self._process.stop(patience_seconds=2)
