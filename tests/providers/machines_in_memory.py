"""A platform in memory whose machines are objects: one target `prod/general` of five replicas that is ours, machines `m1` to
`m5` of the nodes `n1` to `n5`. It is dialect and API server at once, and keeps every write."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from reconciler.cluster.target import FieldOwner, OwnerEvidence, TargetFacts, TargetRef
from reconciler.decisions.ownership.owner import OUR_MANAGER
from reconciler.kube.connection.api import Api, ApiError, ContentType
from reconciler.plan.plan import Bound
from reconciler.providers.contract import LeavingMachine, TargetRemoval
from reconciler.providers.machines.dialect import MachineReading, Reading
from reconciler.providers.machines.platform_hearing import PlatformHearing
from reconciler.providers.machines.provider import MachineProvider
from reconciler.providers.machines.targets import MachineTargets
from reconciler.providers.ownership_guard import judged_now

GENERAL = TargetRef(kind="Set", namespace="prod", name="general")
APPLIED = FieldOwner(manager=OUR_MANAGER, operation="Apply")
MARK = "example.dev/delete"


class MachinesInMemory:
    """`before` is called with the path of each write before it is done: what it raises is the answer."""

    api_version = "example.dev/v1"
    delete_marks = (MARK,)

    def __init__(self) -> None:
        self.replicas, self.generation, self.version = 5, 4, 70
        self.observed: int | None = 4
        self.owner = OwnerEvidence(owners=(APPLIED,))
        self.fields: list[dict[str, Any]] = [entry(OUR_MANAGER, "Apply")]
        self.annotations: dict[str, str] = {}
        self.applied: dict[str, str] = {}
        self.rolling_out, self.keeps_nodes = False, ""
        self.failed, self.on_nodes = frozenset[str](), frozenset[str]()
        self.machines = {
            f"m{one}": MachineReading(name=f"m{one}", resource_version=f"{one}", deleting=False, mark=None, node=f"n{one}")
            for one in range(1, 6)
        }
        self.unreadable: dict[str, Exception] = {}
        self.before: Callable[[str], None] = lambda _: None
        self.heard_seconds = 0.0
        self.reconnecting: Callable[[], float] = lambda: 0.0
        self.lists, self.unlisted = 0, set[str]()
        self.unlistable: Exception | None = None
        self.gets: list[str] = []
        self.writes: list[tuple[str, str, Any]] = []

    def manifest_kind(self, target: TargetRef) -> str:
        return target.kind

    def path(self, kind: str, namespace: str, name: str = "") -> str:
        return f"/{kind}/{namespace}/{name}"

    def facts(self) -> TargetFacts:
        return TargetFacts(
            ref=GENERAL,
            resource_version=f"{self.version}",
            generation=self.generation,
            replicas=self.replicas,
            annotations=tuple(sorted(self.annotations.items())),
            owner=self.owner,
            rolling_out=self.rolling_out,
            keeps_nodes=self.keeps_nodes,
        )

    def read_target(self, api: Api, ref: TargetRef, *, rollout: bool = False) -> Reading:
        if "general" in self.unreadable:
            raise self.unreadable["general"]
        metadata = {"resourceVersion": f"{self.version}", "annotations": self.annotations, "managedFields": self.fields}
        status = {} if self.observed is None else {"status": {"observedGeneration": self.observed}}
        body = json.dumps({"metadata": metadata, **status}).encode()
        marked = frozenset(name for name, one in self.machines.items() if one.mark is not None)
        facts = msgspec.structs.replace(self.facts(), rolling_out=self.rolling_out and rollout)
        return Reading(facts, body, self.failed, marked, self.on_nodes) if rollout else Reading(facts, body)

    def read_machine(self, api: Api, namespace: str, name: str) -> MachineReading | None:
        if name in self.unreadable:
            raise self.unreadable[name]
        self.gets.append(name)
        return self.machines.get(name)

    def machines_of(self, api: Api, facts: TargetFacts) -> dict[str, MachineReading]:
        if self.unlistable is not None:
            raise self.unlistable
        self.lists += 1
        return {name: one for name, one in self.machines.items() if name not in self.unlisted}

    def living_machines(self, api: Api, facts: TargetFacts) -> frozenset[str]:
        return frozenset(name for name, one in self.machines.items() if not one.deleting)

    def change(self, name: str, **changes: object) -> None:
        self.machines[name] = msgspec.structs.replace(self.machines[name], **changes)

    def write(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: ContentType = ContentType.JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        self.before(path)
        name = path.rpartition("/")[2]
        self.writes.append((method, name, body))
        if name in self.machines:
            wanted = body.get("preconditions", body.get("metadata"))["resourceVersion"]
            if wanted != self.machines[name].resource_version:
                raise ApiError(409, "Conflict", f"{name} has changed")
            mark = body["metadata"]["annotations"][MARK] if method == "PATCH" else None
            self.change(name, resource_version=f"{wanted}.1", deleting=method == "DELETE", mark=mark)
            return b"{}"
        assert query is not None
        assert query["fieldManager"] == OUR_MANAGER
        metadata = body["metadata"]
        if metadata.get("resourceVersion", str(self.version)) != str(self.version):
            raise ApiError(409, "Conflict", "the object has been modified")
        self.version += 1
        if content_type is ContentType.APPLY:
            assert query["force"] == "false"
            self.generation += 1
            self.replicas, self.owner = body["spec"]["replicas"], OwnerEvidence(owners=(APPLIED,))
            # What an apply of ours has set goes with the first that does not name it.
            self.annotations = {key: text for key, text in self.annotations.items() if key not in self.applied}
            self.applied = metadata.get("annotations", {})
            self.annotations |= self.applied
        else:
            assert "spec" not in body
            self.annotations = {
                key: text for key, text in (self.annotations | metadata.get("annotations", {})).items() if text is not None
            }
            if "managedFields" in metadata:
                self.fields = metadata["managedFields"]
        return json.dumps({"metadata": {"resourceVersion": f"{self.version}", "generation": self.generation}}).encode()

    def provider(self, owner: str = "test") -> MachineProvider:
        return MachineProvider(MachineTargets(self, self), owner, PlatformHearing(self.heard_seconds, self.reconnecting))  # type: ignore[arg-type]

    def step(self, *machines: str, floor: int = 0, marked: tuple[str, ...] = ()) -> list[TargetRemoval]:
        leaving = (LeavingMachine(machine=one, node=f"n{one[1:]}", marked=one in marked) for one in machines)
        return list(self.provider().step(GENERAL, tuple(leaving), floor))

    def bound(self, **changes: Any) -> Bound:
        digest = judged_now(self.facts()).digest
        bound = Bound(resource_version="1", replicas=self.replicas, owner_digest=digest, policy_digest="p")
        return msgspec.structs.replace(bound, **changes)

    @property
    def written(self) -> list[tuple[str, str]]:
        """Method and name of each write."""
        return [(method, name) for method, name, _ in self.writes]


def entry(manager: str, operation: str, *beside: str) -> dict[str, Any]:
    """A managedFields entry that holds `spec.replicas` and fields beside it."""
    fields = {"f:spec": {"f:replicas": {}, **{f"f:{name}": {} for name in beside}}}
    return {"manager": manager, "operation": operation, "fieldsV1": fields}
