"""A real control plane on loopback: etcd, kube-apiserver, kube-scheduler, kube-controller-manager, and kwok for nodes."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.testbed.api import Api
from tests.testbed.certificates import Authority, service_account_keys
from tests.testbed.kubeconfig import write_kubeconfig
from tests.testbed.process import Process, free_ports
from tests.testbed.programs import kwok_stages, program

# Only nodes with this annotation are kwok's.
FAKE_NODE = {"kwok.x-k8s.io/node": "fake"}

_CONTROLLERS = (
    "deployment-controller", "replicaset-controller", "statefulset-controller", "daemonset-controller", "job-controller",
    "disruption-controller", "namespace-controller", "serviceaccount-controller", "garbage-collector-controller",
    "pod-garbage-collector-controller", "node-lifecycle-controller", "persistentvolume-binder-controller",
    "persistentvolume-protection-controller", "persistentvolumeclaim-protection-controller",
)  # fmt: skip

_MASTERS = "system:masters"
_PREFIX = "reconciler-testbed-"


class ControlPlane:
    """The processes of one control plane in one directory. Raises NotAvailableError when a program cannot be had."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._processes: list[Process] = []
        names = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
        self._programs = {name: program(name) for name in names}
        self._stages = kwok_stages()
        self._authority = Authority(directory)
        self._service_account_keys = service_account_keys(directory)
        self._etcd_port, self._peer_port, self._port, self._kwok_port = free_ports(4)
        self.server = f"https://127.0.0.1:{self._port}"
        self.kubeconfig = self.kubeconfig_of("admin", _MASTERS)
        self.api = Api(self.kubeconfig)

    def kubeconfig_of(self, user: str, group: str = "") -> Path:
        """A kubeconfig for a user of this control plane."""
        path = self.directory / f"{user.replace(':', '-')}.kubeconfig"
        return write_kubeconfig(path, self.server, self._authority.certificate, *self._authority.client(user, group))

    def start(self) -> None:
        """Start everything; returns when the API server is ready and the scheduler and controllers run."""
        self._start_etcd()
        self._start_api_server()
        self._start_controllers()

    def stop(self) -> None:
        """Stop everything, the last started first."""
        for process in reversed(self._processes):
            # An API server with open watches waits for them: it gets little time.
            process.stop(patience_seconds=2)
        self._processes.clear()

    def _run(self, name: str, *arguments: str | Path) -> Process:
        process = Process(name, [str(self._programs[name]), *map(str, arguments)], self.directory)
        self._processes.append(process)
        return process

    def _start_etcd(self) -> None:
        client, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{self._peer_port}"
        self._run(
            "etcd", "--data-dir", self.directory / "etcd", "--unsafe-no-fsync", "--log-level=warn",
            f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}",
        )  # fmt: skip

    def _start_api_server(self) -> None:
        certificate, key = self._authority.server("kube-apiserver")
        public, private = self._service_account_keys
        process = self._run(
            "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--secure-port={self._port}",
            f"--tls-cert-file={certificate}", f"--tls-private-key-file={key}",
            f"--client-ca-file={self._authority.certificate}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={public}", f"--service-account-signing-key-file={private}",
            "--service-cluster-ip-range=10.96.0.0/16", "--authorization-mode=RBAC",
            "--endpoint-reconciler-type=none", "--profiling=false", "--shutdown-delay-duration=0s",
            "--enable-priority-and-fairness=false",
        )  # fmt: skip
        process.wait_until(self.api.ready, "being ready")

    def _start_controllers(self) -> None:
        manager = self.kubeconfig_of("system:kube-controller-manager")
        self._run(
            "kube-controller-manager", *_component(manager), "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self._service_account_keys[1]}", "--concurrent-gc-syncs=5",
            "--node-monitor-grace-period=10m", f"--controllers={','.join(_CONTROLLERS)}",
        )  # fmt: skip
        self._run("kube-scheduler", *_component(self.kubeconfig_of("system:kube-scheduler")))
        kwok = self.kubeconfig_of("kwok", _MASTERS)
        self._run(
            "kwok", f"--kubeconfig={kwok}", f"--config={self._stages}", "--manage-all-nodes=false",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", "--node-lease-duration-seconds=40",
            "--node-ip=10.0.0.1", "--cidr=10.64.0.0/12", f"--server-address=127.0.0.1:{self._kwok_port}",
        )  # fmt: skip


def _component(kubeconfig: Path) -> tuple[str, ...]:
    names = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
    return (
        *(f"--{name}={kubeconfig}" for name in names),
        "--bind-address=127.0.0.1", "--secure-port=0", "--leader-elect=false", "--kube-api-qps=200", "--kube-api-burst=400",
    )  # fmt: skip


def _remove_left_over() -> None:
    """Remove the directories of processes that were killed before they could do it themselves."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        owner = path.name.removeprefix(_PREFIX).partition("-")[0]
        if not Path("/proc", owner).exists():
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def running_control_plane() -> Iterator[ControlPlane]:
    """A started control plane in a fresh directory, stopped and removed at the end."""
    _remove_left_over()
    directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    try:
        plane = ControlPlane(directory)
        try:
            plane.start()
            yield plane
        finally:
            plane.stop()
    finally:
        shutil.rmtree(directory)
