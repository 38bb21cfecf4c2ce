"""The status of CapacityBuffers that the loop keeps room for: what was read of them, and whether the room is there.

SOURCE: the conditions of `autoscaling.x-k8s.io` and their meaning in the Cluster Autoscaler and in Karpenter. Both write
ReadyForProvisioning and LimitedByQuotas in the same way. As in Karpenter, Provisioning is True while the pods would run on
existing nodes.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from reconciler.cluster.wire import capacity_buffer as wire
from reconciler.cluster.workloads.capacity_buffer import BUFFER, status_writers
from reconciler.cluster.world import BufferPods, World
from reconciler.decisions.buffers import answered_by
from reconciler.decisions.ownership.owner import OUR_MANAGER
from reconciler.kube.connection.api import Api, ApiError, UnreachableError
from reconciler.kube.custom.status import Condition, Status, StatusWriter
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.kube.watching.collection import BUFFERS, Collection, located
from reconciler.plan.plan import BufferLine, BufferState, Plan
from reconciler.policy.documents import Mode, NodeGroupPolicy
from reconciler.values.decoding import decode
from reconciler.values.instant import instant_text
from reconciler.values.plural import count_text

_LIMITED = "ResourceQuotasAllocated"
_NOT_FOUND = 404


class _Object(wire.CapacityBuffer, rename="camel"):
    status: Raw = msgspec.field(default_factory=lambda: Raw(b"null"))


class _Buffer(msgspec.Struct, frozen=True, kw_only=True):
    """A buffer as the server has it now; `collection` says in which version."""

    collection: Collection
    namespace: str
    name: str
    uid: str
    resource_version: str
    status: Any
    writers: tuple[str, ...]
    kind: str = BUFFER

    @property
    def api_version(self) -> str:
        return self.collection.api_version

    @property
    def title(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def path(self) -> str:
        return f"{msgspec.structs.replace(self.collection, namespace=self.namespace).path}/{self.name}"


class BufferStatus:
    """Told after each turn, by the loop's thread. It writes while the policy reads buffers and enforces, and nothing to a buffer
    that another program answers. Best effort: a refusal is tried again after the next turn. `failures` counts them."""

    def __init__(self, api: Api, clock: Callable[[], int]) -> None:
        """`api` refuses writes of a process that does not lead. `clock` is in Unix seconds."""
        self._api = api
        self._clock = clock
        self._writer = StatusWriter(api, tells_generation=False)
        self._collection: Collection | None = None
        self._told: dict[str, tuple[str, Status]] = {}
        self._seen: set[str] = set()
        """Buffers whose status a view has shown to be ours."""

    @property
    def failures(self) -> int:
        """How many writes were refused so far."""
        return self._writer.failures

    def turned(self, plan: Plan | None, world: World | None, policy: NodeGroupPolicy) -> None:
        """After a turn that decided `plan` on `world`. Never raises for what a server does."""
        if plan is None or world is None or plan.mode != Mode.ENFORCE:
            return
        lines = {line.buffer: line for line in plan.buffer_lines}
        wanted: list[tuple[BufferPods, Status]] = []
        for buffer in world.buffers:
            line = lines.get(buffer.key)
            if line is None or answered_by(buffer.writers, policy):
                continue
            status = status_of(buffer, line)
            ours = OUR_MANAGER in buffer.writers
            # A view may be older than our write. Once it has shown that, a status that is not ours any more was taken away.
            wiped = buffer.key in self._seen and not ours
            if wiped or self._told.get(buffer.key) != (buffer.uid, status):
                wanted.append((buffer, status))
            (self._seen.add if ours else self._seen.discard)(buffer.key)
        self._told = {key: told for key, told in self._told.items() if key in lines}
        try:
            self._tell(wanted, policy)
        except (ApiError, UnreachableError, NotLeaderError, msgspec.MsgspecError):
            # What is not told still differs after the next turn. The next leader reads what is there.
            return

    def _tell(self, wanted: list[tuple[BufferPods, Status]], policy: NodeGroupPolicy) -> None:
        now = instant_text(self._clock())
        for buffer, status in wanted:
            item = self._read(buffer)
            # The view may be older than the first answer of another program.
            if item is None or answered_by(item.writers, policy):
                continue
            failures = self._writer.failures
            takes_over = any(writer != OUR_MANAGER for writer in item.writers)
            self._writer.round([(item, msgspec.structs.replace(status, force=takes_over))], now)
            if self._writer.failures == failures:
                self._told[buffer.key] = (buffer.uid, status)

    def _read(self, buffer: BufferPods) -> _Buffer | None:
        """The buffer as it is now; None if it is gone, or another one has its name."""
        if self._collection is None:
            self._collection = located(BUFFERS[0], self._api)
        collection = self._collection
        try:
            path = f"{msgspec.structs.replace(collection, namespace=buffer.namespace).path}/{buffer.name}"
            found = decode(self._api.get(path), _Object)
        except ApiError as error:
            if error.status != _NOT_FOUND:
                raise
            self._collection = None
            return None
        head = found.metadata
        if head.uid != buffer.uid:
            return None
        return _Buffer(
            collection=collection, namespace=head.namespace, name=head.name, uid=head.uid,
            resource_version=head.resource_version, status=msgspec.json.decode(found.status),
            writers=status_writers(head),
        )  # fmt: skip


def status_of(buffer: BufferPods, line: BufferLine) -> Status:
    """What is true of a buffer by its line in the plan."""
    facts: dict[str, object] = {"provisioningStrategy": buffer.strategy}
    if buffer.code is not None:
        ready = Condition(type="ReadyForProvisioning", status="False", reason=buffer.code.value, message=buffer.problem)
        provisioning = Condition(type="Provisioning", status="False", reason="NotReadyForProvisioning", message=buffer.problem)
        return Status(observed_generation=buffer.generation, conditions=(ready, provisioning), facts=facts)
    facts |= {"replicas": buffer.count}
    if buffer.template:
        facts |= {"podTemplateRef": {"name": buffer.template}, "podTemplateGeneration": buffer.template_generation}
    asked = f"it asks for {count_text(buffer.asked, 'pod')}"
    ready = Condition(type="ReadyForProvisioning", status="True", reason="Resolved", message=asked)
    limited = Condition(
        type="LimitedByQuotas",
        status="True" if buffer.limited_by else "False",
        reason=_LIMITED,
        message=f"{', '.join(buffer.limited_by)} allow {buffer.count} of {buffer.asked}" if buffer.limited_by else "",
    )
    return Status(
        observed_generation=buffer.generation,
        conditions=(ready, limited, _provisioning(buffer, line)),
        facts=facts,
    )


def _provisioning(buffer: BufferPods, line: BufferLine) -> Condition:
    told = "; ".join(reason.message for reason in line.reasons)
    match line.state:
        case BufferState.FITS:
            status, reason = "True", "FitsExistingCapacity" if buffer.count else "BufferEmpty"
        case BufferState.WAITING:
            status, reason = "False", "RequiresNewCapacity"
        case _:
            status, reason = "False", "CapacityNotAvailable"
    return Condition(type="Provisioning", status=status, reason=reason, message=told)
