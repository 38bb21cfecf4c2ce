"""How platforms with Machine objects differ: paths, readings and the delete mark."""

from typing import Protocol

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.kube.connection.api import Api
from reconciler.values.decoding import decoder


class _Status(msgspec.Struct, rename="camel"):
    observed_generation: int = 0


class _Followed(msgspec.Struct):
    status: _Status | None = None


_followed = decoder(_Followed)


class Reading(msgspec.Struct, frozen=True):
    """The facts of a target, and its body from the server. `failed` are the machines that the target would remove as early as a
    marked one. `marked` are the machines that have a mark. Both are read only with `rollout`, and only on platforms that treat
    failed and marked machines alike. `on_nodes` are those of `failed` whose node still exists, so pods may run on it."""

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
    """One Machine: whether it is being deleted, its delete mark (None: no mark), and its node."""

    name: str
    resource_version: str
    deleting: bool
    mark: str | None
    node: str


class MachineDialect(Protocol):
    """One platform. Reads raise as the connection does, and `msgspec.DecodeError` for a malformed body."""

    @property
    def api_version(self) -> str:
        """`group/version` of targets and machines."""

    @property
    def delete_marks(self) -> tuple[str, ...]:
        """The annotations that make a Machine the first to go when its target shrinks. Only their keys count."""

    def manifest_kind(self, target: TargetRef) -> str:
        """The kind as in a manifest."""

    def path(self, kind: str, namespace: str, name: str = "") -> str:
        """The path of a target of this kind, or of a `Machine`; without a name, of the collection."""

    def read_target(self, api: Api, ref: TargetRef, *, rollout: bool = False) -> Reading:
        """The target with everything that its ownership is judged by; with `rollout`, also what tells whether it may shrink."""

    def read_machine(self, api: Api, namespace: str, name: str) -> MachineReading | None:
        """The Machine, or None if it is gone."""

    def machines_of(self, api: Api, facts: TargetFacts) -> dict[str, MachineReading]:
        """The target's Machines by name in one answer, including those being deleted. `read_machine` finds a missing one."""

    def living_machines(self, api: Api, facts: TargetFacts) -> frozenset[str]:
        """The names of the target's Machines that are not being deleted."""
