"""What differs between platforms whose machines are objects: where they lie, how they are read, what marks one to go."""

from typing import Protocol

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.kube.connection.api import Api


class _Status(msgspec.Struct, rename="camel"):
    observed_generation: int = 0


class _Followed(msgspec.Struct):
    status: _Status | None = None


_followed = msgspec.json.Decoder(_Followed)


class Reading(msgspec.Struct, frozen=True):
    """The facts of a target, and its body as the server gave it. `failed` and `marked` are its machines that would go as soon as
    a marked one when it shrinks, and those that bear a mark: where the platform makes no difference, read with the rollout.
    `on_nodes` are those of `failed` whose node is there still, so that pods may run on it."""

    facts: TargetFacts
    body: bytes
    failed: frozenset[str] = frozenset()
    marked: frozenset[str] = frozenset()
    on_nodes: frozenset[str] = frozenset()

    @property
    def followed(self) -> bool:
        """Whether the target's own controller has acted on this generation of its spec."""
        status = _followed.decode(self.body).status
        return status is not None and status.observed_generation >= self.facts.generation


class MachineReading(msgspec.Struct, frozen=True, kw_only=True):
    """One Machine: whether it is going, what its delete mark says (None: it has none), and its node."""

    name: str
    resource_version: str
    deleting: bool
    mark: str | None
    node: str


class MachineDialect(Protocol):
    """One platform. What reads raises as the connection does, and `msgspec.DecodeError` for a malformed body."""

    @property
    def api_version(self) -> str:
        """`group/version` of targets and machines."""

    @property
    def delete_marks(self) -> tuple[str, ...]:
        """The annotations that make a Machine the first to go when its target shrinks. Their keys alone count."""

    def manifest_kind(self, target: TargetRef) -> str:
        """The kind as it stands in a manifest."""

    def path(self, kind: str, namespace: str, name: str = "") -> str:
        """Where a target of this kind, or a `Machine`, is; without a name the collection."""

    def read_target(self, api: Api, ref: TargetRef, *, rollout: bool = False) -> Reading:
        """The target with everything that its ownership is judged by; with `rollout` also what tells whether it may shrink."""

    def read_machine(self, api: Api, namespace: str, name: str) -> MachineReading | None:
        """The Machine, or None when it is gone."""

    def machines_of(self, api: Api, facts: TargetFacts) -> dict[str, MachineReading]:
        """The target's Machines by name in one answer, those that are going too. One may be missing: `read_machine` finds it."""

    def living_machines(self, api: Api, facts: TargetFacts) -> frozenset[str]:
        """The names of the target's Machines that are not being deleted."""
