"""A real control plane on loopback: etcd, kube-apiserver, kube-scheduler, kube-controller-manager, and kwok for nodes."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.testbed.api import Api
from tests.testbed.audit import AuditLog, Request, audit_policy
from tests.testbed.certificates import Authority, service_account_keys
from tests.testbed.kubeconfig import write_kubeconfig
from tests.testbed.process import Process, free_ports
from tests.testbed.programs import kwok_stages, program

# Only nodes with this annotation are kwok's.
FAKE_NODE = {"kwok.x-k8s.io/node": "fake"}

# Nodes here have neither leases nor heartbeats. With leases kwok leaves a pod Pending for ever that it looks at before its own
# watch has shown it the lease of the pod's node: it lists the pods of a new node once, right after it has created the lease.
_NEVER = "24h"

MASTERS = "system:masters"
_PREFIX = "reconciler-testbed-"


class ControlPlane:
    """The processes of one control plane in one directory. `features` are feature gates that are on, and `apis` versions that are
    served, besides the defaults. Raises NotAvailableError when a program cannot be had."""

    def __init__(self, directory: Path, features: Sequence[str] = (), apis: Sequence[str] = ()) -> None:
        self.directory = directory
        gates = ",".join(f"{name}=true" for name in features)
        self._gates = (f"--feature-gates={gates}",) if gates else ()
        served = ",".join(f"{name}=true" for name in apis)
        self._apis = (f"--runtime-config={served}",) if served else ()
        self._processes: dict[str, Process] = {}
        names = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
        self._programs = {name: program(name) for name in names}
        self._stages = kwok_stages()
        self.authority = Authority(directory)
        self._certificate = self.authority.server("kube-apiserver")
        self._service_account_keys = service_account_keys(directory)
        self._etcd_port, self._peer_port, self._port, self._kwok_port = free_ports(4)
        self.server = f"https://127.0.0.1:{self._port}"
        self.etcd = f"http://127.0.0.1:{self._etcd_port}"
        self.kubeconfig = self.kubeconfig_of("admin", MASTERS)
        self.api = Api(self.kubeconfig, self.diagnosis)
        self._audit_log = AuditLog(directory / "audit.log", Api(self.kubeconfig_of(AuditLog.USER, MASTERS)))

    def kubeconfig_of(self, user: str, *groups: str, server: str = "") -> Path:
        """A kubeconfig for a user of this control plane, in these groups; `server` is the URL of a proxy in between."""
        port = f"-{server.rpartition(':')[2]}" if server else ""
        path = self.directory / f"{user.replace(':', '-')}{port}.kubeconfig"
        pair = self.authority.client(user, *groups)
        return write_kubeconfig(path, server or self.server, self.authority.certificate, *pair)

    def audit(self, user: str, *, mutating: bool = True) -> list[Request]:
        """All requests of one user that were answered until now; only those that may change something, unless told otherwise.

        Not recorded: the components themselves, and what the administrator reads.
        """
        return self._audit_log.requests(user, mutating=mutating)

    def audit_lines(self) -> list[bytes]:
        """The log as it is: what `audit` has waited for is in it."""
        return self._audit_log.path.read_bytes().splitlines()

    def start(self) -> None:
        """Start everything; returns when the API server is ready and the scheduler and controllers run."""
        self._start_etcd()
        self._start_api_server()
        self._start_controllers()

    def stop(self) -> None:
        """Stop everything, the last started first."""
        for process in reversed(self._processes.values()):
            # An API server with open watches waits for them: it gets little time.
            process.stop(patience_seconds=2)
        self._processes.clear()

    def run(self, name: str, *arguments: str | Path) -> Process:
        """Start a program (one of the control plane by its name, any other by its path) that stops with the control plane."""
        binary = self._programs.get(name, name)
        process = Process(Path(name).name, [str(binary), *map(str, arguments)], self.directory)
        self._processes[process.name] = process
        return process

    def run_scheduler(self, name: str, configuration: dict[str, Any]) -> Process:
        """Start one more kube-scheduler with its own configuration file, whose profiles have names of their own."""
        kubeconfig = str(self.kubeconfig_of("system:kube-scheduler"))
        file = self.directory / f"{name}.json"
        own = {"clientConnection": {"kubeconfig": kubeconfig}, "leaderElection": {"leaderElect": False}}
        file.write_text(json.dumps(configuration | own))
        arguments = [f"--config={file}", "--bind-address=127.0.0.1", "--secure-port=0"]
        process = Process(name, [str(self._programs["kube-scheduler"]), *arguments], self.directory)
        self._processes[name] = process
        return process

    def diagnosis(self) -> str:
        """Which process has ended, and what each that acts on objects has written last."""
        return "\n".join(
            f"{name} {'runs' if process.running() else 'HAS ENDED'}:\n{process.tail()}"
            for name, process in self._processes.items()
            if not (process.running() and name in ("etcd", "kube-apiserver"))
        )

    def processor_seconds(self) -> dict[str, float]:
        """How long each process that runs now has had a processor, by its name."""
        return {name: process.processor_seconds() for name, process in self._processes.items()}

    @contextmanager
    def paused(self, name: str) -> Iterator[None]:
        """Freeze one process (`etcd`, `kube-apiserver`, …): connections stay open and nothing is answered."""
        process = self._processes[name]
        process.pause()
        try:
            yield
        finally:
            process.resume()

    @contextmanager
    def api_server_away(self, *, graceful: bool = False) -> Iterator[None]:
        """Kill the API server, or ask it to stop; afterwards start it again, on the same port and data, and wait until it is
        ready."""
        process = self._processes["kube-apiserver"]
        if graceful:
            process.stop(patience_seconds=2)
        else:
            process.kill()
        try:
            yield
        finally:
            self._start_api_server()

    def restart_api_server(self, *, graceful: bool = False) -> None:
        """Kill or stop the API server and start it again; nothing else is restarted."""
        with self.api_server_away(graceful=graceful):
            pass

    @contextmanager
    def etcd_away(self) -> Iterator[None]:
        """Kill etcd; afterwards start it again, on the same port and data, and wait until the API server is ready."""
        self._processes["etcd"].kill()
        try:
            yield
        finally:
            self._start_etcd()
            self._processes["kube-apiserver"].wait_until(self.api.ready, "being ready")

    def _start_etcd(self) -> None:
        client, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{self._peer_port}"
        self.run(
            # Without fsync: what is written here need not outlive a power cut, and the machine's disk is not under test.
            "etcd", "--data-dir", self.directory / "etcd", "--unsafe-no-fsync", "--log-level=warn",
            f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}",
        )  # fmt: skip

    def _start_api_server(self) -> None:
        certificate, key = self._certificate
        public, private = self._service_account_keys
        # Addresses and credentials have no defaults that would do here. 127.0.0.1 is refused as an endpoint of the Service
        # `kubernetes`, which nobody asks for (endpoint-reconciler-type). The audit log is what tests read.
        process = self.run(
            "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--secure-port={self._port}",
            f"--tls-cert-file={certificate}", f"--tls-private-key-file={key}",
            f"--client-ca-file={self.authority.certificate}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={public}", f"--service-account-signing-key-file={private}",
            "--service-cluster-ip-range=10.96.0.0/16", "--authorization-mode=RBAC",
            "--endpoint-reconciler-type=none",
            f"--audit-policy-file={audit_policy(self.directory / 'audit-policy.yaml')}",
            f"--audit-log-path={self._audit_log.path}", *self._gates, *self._apis,
        )  # fmt: skip
        process.wait_until(self.api.ready, "being ready")

    def _start_controllers(self) -> None:
        manager = self.kubeconfig_of("system:kube-controller-manager")
        # One user has not the rights of all controllers, so that each gets an account of its own, as kubeadm has it. All run but
        # one: pods of a replication controller stay as a test makes them, by name and number (`tests/benchmarks/live`).
        self.run(
            "kube-controller-manager", *_component(manager), "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self._service_account_keys[1]}", f"--node-monitor-grace-period={_NEVER}",
            "--controllers=*,-replicationcontroller-controller",
        )  # fmt: skip
        self.run("kube-scheduler", *_component(self.kubeconfig_of("system:kube-scheduler")), *self._gates)
        # Which nodes are its own, no leases (see `_NEVER`), and where it listens; the rest is as kwok has it.
        kwok = self.kubeconfig_of("kwok", MASTERS)
        self.run(
            "kwok", f"--kubeconfig={kwok}", f"--config={self._stages}", "--manage-all-nodes=false",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", "--node-lease-duration-seconds=0",
            "--node-ip=10.0.0.1", "--cidr=10.64.0.0/12", f"--server-address=127.0.0.1:{self._kwok_port}",
        )  # fmt: skip


def _component(kubeconfig: Path) -> tuple[str, ...]:
    """Several test runs share a machine, so that no component has a port of its own (`secure-port`); there is one of each, and
    one that was paused must go on as if nothing had been (`leader-elect`). All else is as the component has it."""
    return (f"--kubeconfig={kubeconfig}", "--bind-address=127.0.0.1", "--secure-port=0", "--leader-elect=false")


def _remove_left_over() -> None:
    """Remove the directories of processes that were killed before they could do it themselves."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        owner = path.name.removeprefix(_PREFIX).partition("-")[0]
        if not Path("/proc", owner).exists():
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def running_control_plane(features: Sequence[str] = (), apis: Sequence[str] = ()) -> Iterator[ControlPlane]:
    """A started control plane in a fresh directory, stopped and removed at the end."""
    _remove_left_over()
    directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    try:
        plane = ControlPlane(directory, features, apis)
        try:
            plane.start()
            yield plane
        finally:
            plane.stop()
    finally:
        shutil.rmtree(directory)
