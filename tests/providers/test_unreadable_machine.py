"""One step of a removal whose Machine, or the answer to whose write, cannot be read: whether a mark may be there is told."""

import json
from collections.abc import Mapping

import pytest

from reconciler.cluster.target import TargetRef
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.platforms.clusterapi.writing.provider import ClusterApiProvider, ClusterApiVersion
from reconciler.providers.contract import LeavingMachine, RemovalState, TargetRemoval, WriteCode

GROUP = TargetRef(kind=MACHINE_DEPLOYMENT, namespace="prod", name="general")
MARK = "cluster.x-k8s.io/delete-machine"


class Server:
    """A MachineDeployment of two replicas that we own, and one Machine `m1` of it, the machine of node `n1`."""

    def __init__(self) -> None:
        self.machine: bytes | Exception = self.good_machine()
        self.answer: bytes | Exception = b"{}"
        self.written: list[str] = []

    def good_machine(self, **annotations: str) -> bytes:
        metadata = {"name": "m1", "namespace": "prod", "resourceVersion": "1", "annotations": annotations}
        return json.dumps({"metadata": metadata, "spec": {}, "status": {"nodeRef": {"name": "n1"}}}).encode()

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        if path.endswith("/machines/m1"):
            if isinstance(self.machine, Exception):
                raise self.machine
            return self.machine
        if path.endswith("/machinesets"):
            return b'{"items": []}'
        if not path.endswith("/machinedeployments/general"):
            raise ApiError(404, "NotFound", "not found")
        entry = {"manager": "nodegroup-reconciler", "operation": "Apply", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
        metadata = {"name": "general", "namespace": "prod", "resourceVersion": "1", "generation": 4, "managedFields": [entry]}
        return json.dumps({"metadata": metadata, "spec": {"replicas": 2}}).encode()

    def write(self, method: str, path: str, body: object = None, **_: object) -> bytes:
        self.written.append(path.rpartition("/")[2])
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def step(self) -> TargetRemoval:
        provider = ClusterApiProvider(self, ClusterApiVersion(), "test")  # type: ignore[arg-type]
        return provider.step(GROUP, (LeavingMachine(machine="m1", node="n1"),), 0)[0]


@pytest.mark.parametrize(
    ("machine", "code", "word"),
    [
        (ApiError(500, "InternalError", "conversion webhook failed"), WriteCode.UNAVAILABLE, "conversion webhook failed"),
        (ApiError(403, "Forbidden", "may not get machines"), WriteCode.REFUSED, "may not get machines"),
        (UnreachableError("no answer within 30 s"), WriteCode.UNAVAILABLE, "no answer within 30 s"),
        (b'{"metadata": {"name": 7}, "spec": {}}', WriteCode.REFUSED, "cannot be understood"),
    ],
)
def test_what_cannot_be_read_is_not_touched(machine: bytes | Exception, code: str, word: str) -> None:
    """Nothing is written, so that no mark comes of this step, and the reason says why it waits."""
    server = Server()
    server.machine = machine
    step = server.step()
    assert (step.state, step.code, step.untouched, server.written) == (RemovalState.DRAINING, code, True, [])
    assert word in step.message


@pytest.mark.parametrize(
    "answer", [UnreachableError("no answer within 30 s"), ApiError(500, "InternalError", "etcd is away"), b"not JSON"]
)
def test_a_write_without_an_answer_may_have_marked(answer: bytes | Exception) -> None:
    """Whether the mark is there nobody can tell: to be tried again before another machine of the target."""
    server = Server()
    server.answer = answer
    step = server.step()
    assert (step.state, step.code, step.untouched) == (RemovalState.DRAINING, WriteCode.UNKNOWN, False)
    assert server.written[0] == "m1"
