"""A live cluster as the input of one decision: read once, as a snapshot of it would be, and nothing is written to it."""

import os
import time

import msgspec

from reconciler.cli.inputs.connections import ConnectionChoice, Connections, connected, own_namespace
from reconciler.cli.outputs.failure import InputError
from reconciler.cli.outputs.telling import tell
from reconciler.cluster.world import PolicyClaim, World
from reconciler.control.capture import Capture, Clouds, Clusters, capture
from reconciler.decisions.memory import Memory
from reconciler.policy.documents import PolicySet


class LiveInputs:
    """Connections that were tried, and what is read over them. Raises `InputError`."""

    def __init__(self, choice: ConnectionChoice, *, or_snapshot: bool = True, clouds_needed: bool = True) -> None:
        """`or_snapshot`: the command takes `--cluster` as well, which a refusal then says. Without `clouds_needed` a cloud that
        does not answer is told, and the cluster is read without its targets."""
        self._clouds_needed = clouds_needed
        self.connections = _connected(choice, or_snapshot=or_snapshot)
        self.namespaces = choice.target_namespaces
        self.templates: tuple[tuple[str, str], ...] = ()
        """Group and plural of the infrastructure templates that the last capture met, whether or not they could be listed."""

    @property
    def name(self) -> str:
        """What plans call the cluster: the context of the kubeconfig, or `in-cluster`."""
        return self.connections.workload.context or "in-cluster"

    def capture(self, *, targets_only: bool = False, policies: tuple[PolicySet, ...] = (), own_clouds: bool = False) -> Capture:
        """All that a decision reads, now; of clouds what `policies` ask for and, with `own_clouds`, what the cluster is made of.
        What we may not list is told on stderr."""
        from reconciler.kube.connection.api import ApiError, UnreachableError
        from reconciler.providers.cloud_answers import CloudError

        clusters = Clusters(
            workload=self.connections.workload,
            management=self.connections.management,
            served=self.connections.served,
            namespaces=self.namespaces,
        )
        try:
            clouds = Clouds(policies=policies, own=own_clouds, environment=os.environ)
            try:
                snapshot = capture(clusters, self.name, int(time.time()), targets_only=targets_only, clouds=clouds)
            except CloudError as error:
                if self._clouds_needed:
                    raise
                tell(f"warning: the targets of a cloud are left out: {error}")
                nobody = msgspec.structs.replace(clouds, policies=(), own=False)
                snapshot = capture(clusters, self.name, int(time.time()), targets_only=targets_only, clouds=nobody)
        except (ApiError, CloudError, UnreachableError) as error:
            raise InputError(f"reading the cluster: {error}") from None
        self.templates = snapshot.templates
        for unread in snapshot.unread:
            tell(f"warning: {unread.kind} cannot be listed, so nothing is known of it: {unread.why}")
        return snapshot

    def world(self, *, targets_only: bool = False, policies: tuple[PolicySet, ...] = (), own_clouds: bool = False) -> World:
        """The World of a capture made now, with what another autoscaler that is alive leaves behind."""
        from reconciler.cluster.values.unreadable import SnapshotError
        from reconciler.kube.leading.rival import RivalWatch
        from reconciler.providers.live_platforms import autoscaler_homes

        try:
            world = self.capture(targets_only=targets_only, policies=policies, own_clouds=own_clouds).world()
        except SnapshotError as error:
            raise InputError(f"{self.name}: {': '.join(part for part in (error.item, error.message) if part)}") from None
        if targets_only:
            return world
        apis = dict.fromkeys((self.connections.workload, self.connections.management))
        namespaces = (*self.namespaces, *autoscaler_homes(self.connections.served))
        rivals = RivalWatch(apis, namespaces, monotonic=time.monotonic, wall_seconds=time.time).evidence()
        return msgspec.structs.replace(world, rivals=rivals)

    def claims(self, policy: str, namespace: str | None) -> tuple[PolicyClaim, ...]:
        """What other policies whose loops keep their state there say of targets; none where that may not be read."""
        from reconciler.control.live.other_policies import OtherPolicies

        others = OtherPolicies(
            self.connections.management, own_namespace(namespace), policy, monotonic=time.monotonic, wall_seconds=time.time
        )
        return others.known()

    def memory(self, policy: str, namespace: str | None) -> Memory:
        """What the loop of that policy remembers (timers, back-offs, conflicts). Empty if no loop has run; empty with a warning
        if it cannot be read."""
        from reconciler.control.live.live_memory_store import LiveMemoryStore
        from reconciler.control.turn.memory_store import StoreUnavailableError
        from reconciler.kube.leading.state import StateObject

        try:
            return LiveMemoryStore(StateObject(self.connections.management, own_namespace(namespace), policy)).load()
        except StoreUnavailableError as error:
            tell(f"warning: timers begin now: {error}")
            return Memory()


def _connected(choice: ConnectionChoice, *, or_snapshot: bool) -> Connections:
    try:
        return connected(choice)
    except InputError as error:
        if not or_snapshot:
            raise
        raise InputError(f"{error.message}\n(--cluster PATH takes a snapshot instead of a live cluster)") from None
