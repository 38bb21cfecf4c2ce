"""Removals from a MachinePool without Machines: refused unless allowed, and lowered once a node."""

from reconciler.cluster.target import TargetRef
from reconciler.kube.connection.api import UnreachableError
from reconciler.plan.plan import Bound
from reconciler.platforms.clusterapi.kinds import MACHINE_POOL
from reconciler.platforms.clusterapi.writing.api_version import ClusterApiVersion
from reconciler.platforms.clusterapi.writing.provider import ClusterApiProvider
from reconciler.platforms.clusterapi.writing.target_readings import read_target
from reconciler.providers.contract import LeavingMachine, RemovalState, TargetRemoval, WriteCode
from reconciler.providers.ownership_guard import judged_now
from tests.kube.api_server import FakeApiServer

POOL = TargetRef(kind=MACHINE_POOL, namespace="prod", name="pool")
VERSION = ClusterApiVersion()


PATH = VERSION.path(MACHINE_POOL, "prod", "pool")


class _Server(FakeApiServer):
    """One MachinePool whose replicas nobody owns."""

    def __init__(self, replicas: int) -> None:
        super().__init__()
        entry = {"manager": "manager", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {}}}
        metadata = {"name": "pool", "namespace": "prod", "managedFields": [entry], "annotations": {}}
        self.put(PATH, {"kind": "MachinePool", "metadata": metadata, "spec": {"replicas": replicas}})

    @property
    def replicas(self) -> int:
        return int(self.objects[PATH]["spec"]["replicas"])

    def change(self, **spec: object) -> None:
        """Somebody writes the spec."""
        pool = self.objects[PATH]
        self.put(PATH, pool | {"spec": pool["spec"] | spec})

    def followed(self, *nodes: str) -> None:
        """The pool's controller has followed: these nodes are left."""
        pool = self.objects[PATH]
        told = {"observedGeneration": pool["metadata"]["generation"], "nodeRefs": [{"name": name} for name in nodes]}
        self.put(PATH, pool | {"status": told})

    def bound(self) -> Bound:
        facts = read_target(self, VERSION, POOL).facts
        return Bound(
            resource_version=facts.resource_version,
            replicas=self.replicas,
            owner_digest=judged_now(facts).digest,
            policy_digest="",
        )


def _step(provider: ClusterApiProvider, *, floor: int = 0) -> TargetRemoval:
    (step,) = provider.step(POOL, (LeavingMachine(machine="", node="n1"),), floor)
    return step


def _provider(server: _Server, *, allowed: bool = True) -> ClusterApiProvider:
    return ClusterApiProvider(server, VERSION, "test", lambda target: allowed and target == POOL)


def test_refused_unless_allowed() -> None:
    """Nobody can say which instance would go."""
    server = _Server(3)
    result = _provider(server, allowed=False).may_begin(POOL, "", "n1", server.bound())
    assert (result.code, "nobody can choose" in result.message) == (WriteCode.REFUSED, True)


def test_lowered_once_a_node() -> None:
    """However often it is asked."""
    server = _Server(3)
    provider = _provider(server)
    assert provider.may_begin(POOL, "", "n1", server.bound()).done
    assert [_step(provider).state for _ in range(3)] == [RemovalState.FINISHED] * 3
    assert server.replicas == 2


def test_after_a_restart_it_is_given_up() -> None:
    """Nothing on the API objects tells whether the pool was lowered."""
    server = _Server(3)
    step = _step(_provider(server))
    assert (step.state, step.code, step.reopen, server.replicas) == (RemovalState.FAILED, WriteCode.UNKNOWN, True, 3)


def test_an_outcome_that_nobody_knows_is_not_tried_again() -> None:
    """To try again might lower twice; a request that was not sent is tried again."""
    server = _Server(3)
    provider = _provider(server)
    provider.may_begin(POOL, "", "n1", server.bound())
    server.refused[PATH] = UnreachableError("connection refused", sent=False)
    assert _step(provider).state is RemovalState.DRAINING
    server.refused[PATH] = UnreachableError("no answer within 30 s")
    assert _step(provider).state is RemovalState.FAILED
    server.refused.clear()
    assert _step(provider).state is RemovalState.FAILED
    assert server.replicas == 3


def test_never_below_the_floor() -> None:
    """At the floor it is refused."""
    server = _Server(2)
    provider = _provider(server)
    provider.may_begin(POOL, "", "n1", server.bound())
    step = _step(provider, floor=2)
    assert (step.state, step.code, server.replicas) == (RemovalState.FAILED, WriteCode.REFUSED, 2)


def test_a_pool_that_is_not_ours_by_now() -> None:
    """Why is said, also at the floor."""
    server = _Server(2)
    provider = _provider(server)
    provider.may_begin(POOL, "", "n1", server.bound())
    server.objects[PATH]["metadata"]["annotations"] = {"cluster.x-k8s.io/paused": ""}
    step = _step(provider, floor=2)
    assert (step.state, step.code, server.replicas) == (RemovalState.FAILED, WriteCode.REFUSED, 2)
    assert "annotation cluster.x-k8s.io/paused" in step.message


def test_one_without_a_machine_among_others() -> None:
    """All are taken for instances that nobody can choose: of what was not begun so nothing is lowered."""
    server = _Server(3)
    provider = _provider(server)
    provider.may_begin(POOL, "", "n1", server.bound())
    leaving = (LeavingMachine(machine="", node="n1"), LeavingMachine(machine="m2", node="n2"))
    first, second = provider.step(POOL, leaving, 0)
    assert (first.state, second.state, second.code) == (RemovalState.FINISHED, RemovalState.FAILED, WriteCode.UNKNOWN)
    assert server.replicas == 2


def test_a_node_that_the_platform_passed_over_is_opened_again() -> None:
    """While the pool still has more instances than it was asked for the drained one may go; once it has shrunk by another one,
    the removal has failed, and the next question about the node is a new one."""
    server = _Server(2)
    provider = _provider(server)
    provider.may_begin(POOL, "", "n1", server.bound())
    assert _step(provider).state is RemovalState.FINISHED
    server.followed("n1", "n2")
    assert _step(provider).state is RemovalState.FINISHED
    server.followed("n1")
    step = _step(provider)
    assert (step.state, step.code, step.reopen, server.replicas) == (RemovalState.FAILED, WriteCode.PASSED_OVER, True, 1)


def test_a_pool_of_another_group_stays_refused() -> None:
    """The policy allows it for each group by itself."""
    server = _Server(2)
    asked: list[TargetRef] = []
    provider = ClusterApiProvider(server, VERSION, "test", lambda target: bool(asked.append(target)))
    assert provider.may_begin(POOL, "", "n1", server.bound()).code == WriteCode.REFUSED
    assert asked == [POOL]
