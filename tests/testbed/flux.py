"""Flux on a running control plane: the definitions of its modules, and its own controllers.

They are built on request alone (`make test-flux`); where they are not in the cache, the tests that need them are skipped.
"""

import json
import socket
from collections.abc import Callable

import pytest

from tests.kube.custom_resources import DEFINITIONS
from tests.testbed.api import Object
from tests.testbed.build import place
from tests.testbed.cluster_documents import namespace
from tests.testbed.control_plane import MASTERS, ControlPlane
from tests.testbed.manifests import flux_manifests
from tests.testbed.process import Process, free_ports
from tests.testbed.programs import PROGRAMS, program

NAMESPACE = "flux-system"
CONTROLLERS = ("flux-kustomize-controller", "flux-source-controller")
_KUSTOMIZATIONS = f"/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/{NAMESPACE}/kustomizations"
_SECONDS = 600
"""The shipped Kustomizations wait for 5 minutes."""


def skip_unless_built() -> None:
    """Skip the test where a controller would have to be built first."""
    missing = [name for name in CONTROLLERS if not place(PROGRAMS[name]).exists()]
    if missing:
        pytest.skip(f"not built: {', '.join(missing)}; `make test-flux` builds them, several minutes each, and runs this")


class Flux:
    """Flux's source-controller and kustomize-controller on one control plane. Raises NotAvailableError when one cannot be had."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.api = plane.api
        self._binaries = {name: program(name) for name in CONTROLLERS}
        self._processes: list[Process] = []
        self._requests = 0

    def start(self) -> None:
        """Install the definitions, and start both controllers; returns when both serve."""
        definitions: list[Object] = json.loads(flux_manifests().read_text())
        self.api.create(*definitions, namespace(NAMESPACE))
        names = {item["metadata"]["name"] for item in definitions}

        def established(items: list[Object]) -> bool:
            found = {item["metadata"]["name"] for item in items if ready(item, "Established") == "True"}
            return names <= found

        self.api.wait(DEFINITIONS, established, "Flux's definitions being served")
        (artifacts,) = free_ports(1)
        storage = self.plane.directory / "flux-artifacts"
        storage.mkdir()
        # As in a cluster, but for addresses. What waits for another Kustomization looks each second, not every 30.
        self._run("source-controller", f"--storage-path={storage}", f"--storage-addr=127.0.0.1:{artifacts}",
                  f"--storage-adv-addr=127.0.0.1:{artifacts}")  # fmt: skip
        self._processes[-1].wait_until(lambda: _listens(artifacts), "serving artifacts")
        self._run("kustomize-controller", "--requeue-dependency=1s")

    def stop(self) -> None:
        """Stop both; definitions and objects stay."""
        for process in self._processes:
            process.stop(patience_seconds=2)

    def apply(self, *items: Object) -> None:
        """What `kubectl apply` does with files of the user's."""
        for item in items:
            self.api.apply(item, "kubectl", force=True)

    def fetch(self, source: str) -> None:
        """Ask for a GitRepository to be looked at now (`flux reconcile source git NAME`)."""
        self._request(_object("source.toolkit.fluxcd.io/v1", "GitRepository", source))

    def reconcile(self, name: str) -> None:
        """Ask for a Kustomization to be applied now (`flux reconcile kustomization NAME`)."""
        self._request(kustomization(name))

    def until(self, name: str, holds: Callable[[Object], bool], what: str) -> Object:
        """A Kustomization once `holds` does."""
        seen: list[Object] = []

        def there(items: list[Object]) -> bool:
            seen[:] = [item for item in items if item["metadata"]["name"] == name]
            return bool(seen) and holds(seen[0])

        try:
            self.api.wait(_KUSTOMIZATIONS, there, what, _SECONDS)
        except TimeoutError as error:
            error.add_note(json.dumps([item.get("status") for item in seen], indent=1))
            raise
        return seen[0]

    def until_applied(self, name: str, commit: str) -> Object:
        """A Kustomization once it is Ready at a commit."""

        def applied(item: Object) -> bool:
            return ready(item) == "True" and item["status"].get("lastAppliedRevision", "").endswith(commit)

        return self.until(name, applied, f"{name} being Ready at {commit}")

    def until_refused(self, name: str, commit: str) -> str:
        """Why a Kustomization is not Ready at a commit that was tried: the reason, a colon and the message."""

        def refused(item: Object) -> bool:
            return ready(item) == "False" and item["status"].get("lastAttemptedRevision", "").endswith(commit)

        item = self.until(name, refused, f"{name} not being Ready at {commit}")
        condition = next(one for one in item["status"]["conditions"] if one["type"] == "Ready")
        return f"{condition['reason']}: {condition['message']}"

    def delete(self, name: str) -> None:
        """Delete a Kustomization; returns when its finalizer is done."""
        self.api.delete(kustomization(name))

        def gone(items: list[Object]) -> bool:
            return all(item["metadata"]["name"] != name for item in items)

        self.api.wait(_KUSTOMIZATIONS, gone, f"{name} being deleted", _SECONDS)

    def _request(self, item: Object) -> None:
        self._requests += 1
        annotations = {"reconcile.fluxcd.io/requestedAt": str(self._requests)}
        self.api.merge(item, {"metadata": {"annotations": annotations}}, "flux")

    def _run(self, name: str, *arguments: str) -> None:
        health, metrics = free_ports(2)
        kubeconfig = self.plane.kubeconfig_of(name, MASTERS)
        temporary = self.plane.directory / f"{name}-temporary"
        temporary.mkdir()
        # kustomize-controller empties the directory for temporary files of what a process before it left there.
        words = [
            "/usr/bin/env", f"KUBECONFIG={kubeconfig}", f"TMPDIR={temporary}", f"RUNTIME_NAMESPACE={NAMESPACE}",
            str(self._binaries[f"flux-{name}"]), f"--health-addr=127.0.0.1:{health}", f"--metrics-addr=127.0.0.1:{metrics}",
            *arguments,
        ]  # fmt: skip
        self._processes.append(Process(name, words, self.plane.directory))

    def diagnosis(self) -> str:
        """The end of both logs."""
        return "\n".join(f"{process.name}:\n{process.tail()}" for process in self._processes)


def kustomization(name: str) -> Object:
    """The name of a Kustomization as an object."""
    return _object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", name)


def ready(item: Object, kind: str = "Ready") -> str:
    """The status of a condition; empty without it."""
    found = item.get("status", {}).get("conditions") or ()
    return next((str(one["status"]) for one in found if one["type"] == kind), "")


def _object(version: str, kind: str, name: str) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}}


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True
