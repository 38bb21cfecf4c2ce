"""One Auto Scaling group of our own service behind a port, as the contract of all providers asks for one."""

import itertools

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.live_port import LivePort
from reconciler.plan.plan import Bound
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from reconciler.providers.contract import RemovalProgress
from tests.aws.documents import REGION
from tests.aws.policies import policy_set
from tests.aws.service.server import Service
from tests.aws.test_loop import Cluster
from tests.aws.writes import Writer, ref, workers
from tests.providers.ended_removals import ended_removals

_OWNER = "prod"
_POLICY = """
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: prod}}
spec: {{mode: Enforce}}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: {name}, namespace: r}}
spec: {{policyRef: {{name: prod}}, target: {{aws: {{autoScalingGroup: {name}, region: {region}}}}}}}
"""
_numbers = itertools.count(1)


class AwsBench:
    """A group with instances in service, each of them a node."""

    def __init__(self, service: Service, replicas: int) -> None:
        name = f"group-{next(_numbers)}"
        self._service = service
        self._group = service.account.add(workers(name, desired=replicas))
        self._writer = Writer(service)
        self._cluster = Cluster(service, policy_set(_POLICY.format(name=name, region=REGION)))
        self._writer.accounts.on_write(self._cluster.polled.poll._wrote)
        self.target: TargetRef = ref(self._group)
        providers = {AUTO_SCALING_GROUP: self._writer.provider}
        self.port = LivePort(self, self._cluster.now, self._cluster, providers, self._cluster, _OWNER)

    def observe(self) -> World:
        """A view that is always fresh."""
        self._cluster.polled.turn(60)
        return self._cluster.observe()

    def bound(self) -> Bound:
        return self._writer.bound(self._group)

    def replicas(self) -> int:
        return self._group.desired

    def nodes(self) -> list[str]:
        return sorted(f"n-{one.instance_id}" for one in self._group.instances.values() if one.state == "InService")

    def until_nodes(self, count: int) -> list[str]:
        for _ in range(10):
            self._service.advance(60)
        assert len(self.nodes()) == count
        return self.nodes()

    def applied_by(self, manager: str, replicas: int) -> None:
        raise AssertionError(f"a group does not record that {manager} set {replicas}")

    def edited_by(self, manager: str, replicas: int) -> None:
        self._group.desired = replicas

    def removed(self, count: int = 1) -> list[RemovalProgress]:
        return ended_removals(self.port, count)
