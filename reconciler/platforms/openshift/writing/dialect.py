"""OpenShift's Machine API as a dialect of what all platforms with Machines share."""

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.kube.connection.api import Api, ApiError
from reconciler.kube.watching.collection import Served
from reconciler.platforms.openshift.facts import wire
from reconciler.platforms.openshift.facts.kept_nodes import failed_beside
from reconciler.platforms.openshift.facts.machines import failure, target_of
from reconciler.platforms.openshift.facts.machineset import facts
from reconciler.platforms.openshift.kinds import AUTOSCALING_GROUP, DELETE_MARKS, GROUP
from reconciler.platforms.openshift.objects import autoscaler_of
from reconciler.providers.machines.dialect import MachineReading, Reading
from reconciler.values.decoding import decoder

_NOT_FOUND = 404


class _Machines(msgspec.Struct):
    items: list[wire.Machine]


class _Autoscalers(msgspec.Struct):
    items: list[wire.MachineAutoscaler]


_set = decoder(wire.MachineSet)
_machine = decoder(wire.Machine)
_machines = decoder(_Machines)
_autoscalers = decoder(_Autoscalers)


class MachineApiDialect:
    """A `MachineDialect`. It writes both spellings of the mark, like OpenShift's own Cluster Autoscaler: its controllers read
    either."""

    delete_marks = DELETE_MARKS

    def __init__(self, served: tuple[Served, ...]) -> None:
        by_group = {item.group: item for item in served}
        self.api_version = by_group[GROUP].api_version
        self._autoscaling = by_group.get(AUTOSCALING_GROUP)

    def manifest_kind(self, _: TargetRef) -> str:
        """The kind without the group, which only tells it from Cluster API's."""
        return "MachineSet"

    def path(self, kind: str, namespace: str, name: str = "") -> str:
        """The path of a set, or of a Machine."""
        plural = "machines" if kind == "Machine" else "machinesets"
        collection = f"/apis/{self.api_version}/namespaces/{namespace}/{plural}"
        return f"{collection}/{name}" if name else collection

    def read_target(self, api: Api, ref: TargetRef, *, rollout: bool = False) -> Reading:
        """The set and the MachineAutoscaler that names it; with `rollout`, its Machines that failed or have a mark."""
        body = api.get(self.path(ref.kind, ref.namespace, ref.name))
        item = _set.decode(body)
        autoscaler = self._autoscaler(api, ref)
        if not rollout:
            return Reading(facts(item, autoscaler), body)
        living = self._living(api, ref)
        broken = [one for one in living if failure(one)]
        failed = frozenset(one.metadata.name for one in broken)
        marked = frozenset(one.metadata.name for one in living if _mark(one) is not None)
        on_nodes = frozenset(one.metadata.name for one in broken if _node(api, one))
        return Reading(facts(item, autoscaler, failed_beside(failed)), body, failed, marked, on_nodes)

    def read_machine(self, api: Api, namespace: str, name: str) -> MachineReading | None:
        """One Machine. If two marks differ, somebody else's counts."""
        try:
            item = _machine.decode(api.get(self.path("Machine", namespace, name)))
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return None
            raise
        return _reading(api, item)

    def machines_of(self, api: Api, facts: TargetFacts) -> dict[str, MachineReading]:
        """All Machines of one set."""
        return {item.metadata.name: _reading(api, item) for item in self._all(api, facts.ref)}

    def living_machines(self, api: Api, facts: TargetFacts) -> frozenset[str]:
        """The Machines that are not being deleted."""
        return frozenset(item.metadata.name for item in self._living(api, facts.ref))

    def _living(self, api: Api, ref: TargetRef) -> list[wire.Machine]:
        return [item for item in self._all(api, ref) if item.metadata.deletion_timestamp is None]

    def _all(self, api: Api, ref: TargetRef) -> list[wire.Machine]:
        listed = _machines.decode(api.get(self.path("Machine", ref.namespace))).items
        return [item for item in listed if target_of(item) == ref]

    def _autoscaler(self, api: Api, ref: TargetRef) -> wire.MachineAutoscaler | None:
        if self._autoscaling is None:
            return None
        path = f"/apis/{self._autoscaling.api_version}/namespaces/{ref.namespace}/machineautoscalers"
        return autoscaler_of(_autoscalers.decode(api.get(path)).items).get((ref.namespace, ref.name))


def _reading(api: Api, item: wire.Machine) -> MachineReading:
    return MachineReading(
        name=item.metadata.name,
        resource_version=item.metadata.resource_version,
        deleting=item.metadata.deletion_timestamp is not None,
        mark=_mark(item),
        node=_node(api, item),
    )


def _node(api: Api, item: wire.Machine) -> str:
    """The name of its node; empty for a failed Machine whose node has gone with its instance."""
    name = item.status.node_ref.name if item.status and item.status.node_ref else ""
    if not name or not failure(item):
        return name
    try:
        api.get(f"/api/v1/nodes/{name}")
    except ApiError as error:
        if error.status == _NOT_FOUND:
            return ""
        raise
    return name


def _mark(item: wire.Machine) -> str | None:
    annotations = item.metadata.annotations or {}
    marks = [annotations[key] for key in DELETE_MARKS if key in annotations]
    return next((text for text in marks if text != marks[0]), marks[0]) if marks else None
