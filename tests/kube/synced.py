"""One policy with its groups on a real API server: applied by others, followed, judged and told by us."""

import itertools
from typing import Any

import msgspec

from reconciler.control.policy.custom_resources import CustomResourcePolicy
from reconciler.control.policy.custom_status import CustomStatus
from reconciler.control.turn.turn_report import ActionResult, LoopReport
from reconciler.gitops.git.fault import FaultCode
from reconciler.gitops.sources.last_good import LastGoodStore, MemoryLastGoodStore
from reconciler.gitops.sources.standing import SourceEvent
from reconciler.kube.connection.transport import KubernetesApi
from reconciler.kube.custom.custom_object import CustomObjects
from reconciler.kube.custom.status import StatusWriter
from reconciler.kube.leading.events import EventRecorder
from reconciler.plan.plan import GroupLine, Ownership, OwnerState, Plan
from tests.kube.cluster import eventually
from tests.kube.custom_resources import group_spec, manifest, policy_spec
from tests.testbed.api import Api

Object = dict[str, Any]
START = 1_800_000_000
NAMESPACE = "custom-resources"
_numbers = itertools.count(1)


class Synced:
    """One policy of its own with groups, applied by `manager`, followed by `policy` and told by `status`."""

    def __init__(self, api: Api, client: KubernetesApi, manager: str = "argocd-controller") -> None:
        number = next(_numbers)
        self.name, self.namespace = f"p{number}", NAMESPACE
        self.api, self.client, self.manager = api, client, manager
        self.now = START
        self.events: list[SourceEvent] = []
        self.objects = CustomObjects(client)
        self.objects.start()
        self.store: LastGoodStore = MemoryLastGoodStore()
        self.writer = StatusWriter(client)
        self.policy = self.start()
        self.status = CustomStatus(
            self.objects, lambda: self.policy, self.writer, EventRecorder(client, "me", lambda: float(self.now)),
            clock=lambda: self.now, leads=lambda: True,
        )  # fmt: skip

    def start(self) -> CustomResourcePolicy:
        """As after a restart."""
        self.policy = CustomResourcePolicy(
            self.objects, self.store, lambda: self.now, name=self.name, own_namespace=self.namespace,
            allow_no_groups=False, tell=self.events.append,
        )  # fmt: skip
        return self.policy

    def policy_item(self, **fields: object) -> Object:
        return manifest("NodeGroupPolicy", self.name, policy_spec(**fields))

    def group_item(self, name: str, **fields: Any) -> Object:
        spec = group_spec(f"{self.name}-{name}", policy=self.name, **fields)
        return manifest("NodeGroup", f"{self.name}-{name}", spec, self.namespace)

    def apply(self, *items: Object) -> None:
        """Apply, and wait until we have seen it."""
        for item in items:
            self.seen(self.api.apply(item, self.manager, force=True))

    def seen(self, item: Object) -> None:
        version = item["metadata"]["resourceVersion"]
        key = (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"])
        eventually(
            lambda: any((o.kind, o.namespace, o.name) == key and o.resource_version == version for o in self.objects.all()),
            f"{key} being seen",
        )

    def delete(self, *items: Object) -> None:
        names = {item["metadata"]["name"] for item in items}
        for item in items:
            self.api.delete(item)
        eventually(lambda: not names & {item.name for item in self.objects.all()}, "the objects being gone")

    def look(self) -> FaultCode | None:
        self.now += 1
        self.policy.poll()
        fault = self.policy.standing.fault
        return fault.code if fault is not None else None

    def groups(self) -> list[str]:
        return [group.name.removeprefix(f"{self.name}-") for group in self.policy.current().groups]

    def line(self, name: str, **fields: Any) -> GroupLine:
        target = f"MachineDeployment prod/{self.name}-{name}"
        line = GroupLine(
            name=f"{self.name}-{name}", target=target, tier="spot", current=2, desired=2, min=0, max=5,
            owner=Ownership(state=OwnerState.OURS),
        )  # fmt: skip
        return msgspec.structs.replace(line, **fields)

    def turned(
        self, *lines: GroupLine, digest: str = "sha256:1", results: tuple[ActionResult, ...] = (), revision: str | None = ""
    ) -> None:
        """A turn that decided so."""
        self.now += 1
        plan = Plan(
            digest=digest, now="2027-01-15T08:00:00Z", mode="Enforce", summary="No changes.", groups=lines,
            policy_revision=revision or self.policy.current().revision,
        )  # fmt: skip
        self.status.turned(LoopReport(at_seconds=self.now, plan=plan, results=results))

    def read(self, name: str = "") -> Object:
        """A group, or the policy, as the server has it."""
        return self.api.read(self.group_item(name) if name else self.policy_item())
