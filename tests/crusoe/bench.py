"""One pool of our own server behind a port, as the contract of all providers asks for one."""

import itertools

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.live_port import LivePort
from reconciler.plan.plan import Bound
from reconciler.platforms.crusoe.kinds import NODE_POOL
from reconciler.providers.contract import RemovalProgress
from tests.aws.policies import policy_set
from tests.crusoe.loops import HEAD, Cluster, group_text
from tests.crusoe.service.server import Service
from tests.crusoe.writes import Writer, ref
from tests.providers.ended_removals import ended_removals

_OWNER = "prod"
_numbers = itertools.count(1)


class CrusoeBench:
    """A pool with running machines, each of them a node."""

    def __init__(self, service: Service, replicas: int) -> None:
        name = f"pool-{next(_numbers)}"
        self._service, self._pool = service, service.account.add(name, replicas)
        self._writer = Writer(service)
        self._cluster = Cluster(service, policy_set(HEAD + group_text(name)), self._writer)
        self.target: TargetRef = ref(self._pool)
        self.port = LivePort(self, self._cluster.now, self._cluster, {NODE_POOL: self._writer.provider}, self._cluster, _OWNER)

    def observe(self) -> World:
        """A view that is always fresh."""
        self._cluster.poll.ask()
        return self._cluster.observe()

    def bound(self) -> Bound:
        return self._writer.bound(self._pool)

    def replicas(self) -> int:
        return self._pool.count

    def nodes(self) -> list[str]:
        mine = self._service.account.of(self._pool)
        return sorted(f"n-{one.id[-4:]}" for one in mine if one.state == "RUNNING")

    def until_nodes(self, count: int) -> list[str]:
        self._service.advance(120)
        assert len(self.nodes()) == count
        return self.nodes()

    def applied_by(self, manager: str, replicas: int) -> None:
        raise AssertionError(f"a pool does not record that {manager} set {replicas}")

    def edited_by(self, manager: str, replicas: int) -> None:
        self._pool.count = replicas

    def removed(self, count: int = 1) -> list[RemovalProgress]:
        return ended_removals(self.port, count, lambda: self._service.advance(10))
