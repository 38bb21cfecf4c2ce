"""One step of a removal whose Machine, or the answer to whose write, cannot be read: whether a mark may be there is told."""

import pytest

from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.platforms.clusterapi.writing.provider import ClusterApiProvider
from reconciler.providers.contract import LeavingMachine, RemovalState, TargetRemoval, WriteCode
from tests.providers.deployments import GENERAL, MACHINES, PATH, VERSION, DeploymentServer

MACHINE = f"{MACHINES}/m1"


class Server(DeploymentServer):
    """One replica that we own."""

    def __init__(self) -> None:
        super().__init__(1)

    def step(self) -> TargetRemoval:
        provider = ClusterApiProvider(self, VERSION, "test")
        return provider.step(GENERAL, (LeavingMachine(machine="m1", node="n1"),), 0)[0]


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
    server.unreadable[MACHINE] = machine
    step = server.step()
    assert (step.state, step.code, step.untouched, server.sent) == (RemovalState.DRAINING, code, True, [])
    assert word in step.message


@pytest.mark.parametrize(
    "answer", [UnreachableError("no answer within 30 s"), ApiError(500, "InternalError", "etcd is away"), b"not JSON"]
)
def test_a_write_without_an_answer_may_have_marked(answer: bytes | Exception) -> None:
    """Whether the mark is there nobody can tell: to be tried again before another machine of the target."""
    server = Server()
    server.refused = dict.fromkeys((MACHINE, PATH), answer)
    step = server.step()
    assert (step.state, step.code, step.untouched) == (RemovalState.DRAINING, WriteCode.UNKNOWN, False)
    assert server.sent[0][1] == MACHINE
