"""Scenarios: a start, how machines behave, what happens when, and what must be true at the end.

The comment below shows every key of the format.
"""

# apiVersion: simulation.reconciler.dev/v1alpha1
# kind: Scenario
# metadata: {name: burst}
# spec:
#   description: one sentence
#   start:
#     cluster: ../quickstart                # a snapshot, relative to this file; or, instead, groups and workloads:
#     groups: [{name: general, nodes: 2, cpu: "4", memory: 16Gi, pods: 110, gpu: 0, labels: {}, taints: [t=spot:NoSchedule],
#               owner: {manager: argocd-controller, operation: Apply}, topologyReplicas: 2}]
#     workloads: [{name: shop/web, kind: ReplicaSet, replicas: 6, cpu: 500m, memory: 1Gi, gpu: 0, labels: {app: web},
#                  nodeSelector: {}, tolerations: [tier], priority: 0}]
#     buffers: [{name: shop/spare, replicas: 3, cpu: 500m, memory: 1Gi}]    # CapacityBuffers: as workloads, without a kind
#     budgets: [{name: shop/web, minAvailable: "80%"}]    # or maxUnavailable; over the pods labelled app: web
#   policy: ../../policies                  # relative to this file; without it, the documents in this file
#   until: 1h
#   interval: 10s                           # between two iterations
#   machines: [{group: general, joinAfter: 90s, failFirst: 0, outOfStock: [{from: 5m, to: 20m}], gpuDelay: 4m}]
#   events:
#     - {at: 5m, scale: {workload: shop/web, replicas: 20}}
#     - {at: 6m, budget: {name: shop/web, maxUnavailable: "1"}}
#     - {at: 7m, write: {target: general, replicas: 5, manager: kubectl, via: Scale, every: 1m, times: 3}}
#     - {at: 8m, node: {name: general-1, becomes: NotReady}}    # NotReady | Ready | Gone
#     - {at: 9m, hold: {target: general, reason: "repair"}}     # an empty reason ends it
#     - {at: 10m, policy: other.yaml}
#   expect: {groups: [{name: general, nodes: 2}], pendingPods: 0, maxViolations: 0}
#
# A `machines` entry has the name of the target; `group: "*"` matches all others. In `write`, `via` is Scale, Patch or Apply
# (forced). Times count from the start.

import re
from enum import StrEnum

import msgspec

from reconciler.policy.reading.typed_text import (
    DocumentError,
    Metadata,
    Quantity,
    Span,
    StrictDocument,
    TypedText,
    document_error,
    documents_of,
    read_typed,
)
from reconciler.policy.stated_workload import StatedWorkload
from reconciler.policy.yaml_nodes import Spot
from reconciler.simulation.embedded.field_owner import Via
from reconciler.values.two_sentences import two_sentences

API_VERSION = "simulation.reconciler.dev/v1alpha1"
KIND = "Scenario"


class StartOwner(StrictDocument, frozen=True, kw_only=True):
    """Who owns the replicas of an inline group at the start."""

    manager: str
    operation: str = "Apply"


class StartGroup(StrictDocument, frozen=True, kw_only=True):
    """A MachineDeployment with nodes NAME-1, NAME-2… Without `owner` and `topologyReplicas` the field is ours."""

    name: str
    nodes: int = 0
    cpu: Quantity
    memory: Quantity
    pods: int = 110
    gpu: int = 0
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    taints: tuple[str, ...] = ()
    owner: StartOwner | None = None
    topology_replicas: int | None = None


class StartBudget(StrictDocument, frozen=True, kw_only=True):
    """A PodDisruptionBudget over the pods whose label `app` is the name."""

    name: str
    min_available: str = ""
    max_unavailable: str = ""


class Start(StrictDocument, frozen=True, kw_only=True):
    """What is there at the start: a snapshot, or groups and workloads."""

    cluster: str = ""
    groups: tuple[StartGroup, ...] = ()
    workloads: tuple[StatedWorkload, ...] = ()
    buffers: tuple[StatedWorkload, ...] = ()
    budgets: tuple[StartBudget, ...] = ()


class OutOfStock(StrictDocument, frozen=True, kw_only=True):
    """No machine can be had in this time."""

    from_: Span = msgspec.field(name="from")
    to: Span


class MachineRule(StrictDocument, frozen=True, kw_only=True):
    """How machines of one target behave."""

    group: str
    join_after: Span = Span(90)
    fail_first: int = 0
    out_of_stock: tuple[OutOfStock, ...] = ()
    gpu_delay: Span = Span(0)


class ScaleEvent(StrictDocument, frozen=True, kw_only=True):
    """A controller, or the Deployment above it, wants another number of pods."""

    workload: str
    replicas: int


class WriteEvent(StrictDocument, frozen=True, kw_only=True):
    """Somebody else writes replicas, once or again and again."""

    target: str
    replicas: int
    manager: str = "kubectl"
    via: Via = Via.SCALE
    every: Span = Span(0)
    times: int = 1


class NodeChange(StrEnum):
    """What becomes of a node."""

    NOT_READY = "NotReady"
    READY = "Ready"
    GONE = "Gone"


class NodeEvent(StrictDocument, frozen=True, kw_only=True):
    """Something happens to a node."""

    name: str
    becomes: NodeChange


class HoldEvent(StrictDocument, frozen=True, kw_only=True):
    """`reconciler hold`, or its end when the reason is empty."""

    target: str
    reason: str = ""


class TimedEvent(StrictDocument, frozen=True, kw_only=True):
    """Exactly one thing at a time."""

    at: Span
    scale: ScaleEvent | None = None
    budget: StartBudget | None = None
    write: WriteEvent | None = None
    node: NodeEvent | None = None
    hold: HoldEvent | None = None
    policy: str | None = None


class ExpectedGroup(StrictDocument, frozen=True, kw_only=True):
    """Nodes of a group at the end: exactly, at least, at most."""

    name: str
    nodes: int | None = None
    at_least: int | None = None
    at_most: int | None = None


class Expectation(StrictDocument, frozen=True, kw_only=True):
    """What must be true at the end."""

    groups: tuple[ExpectedGroup, ...] = ()
    pending_pods: int | None = None
    max_violations: int = 0


class ScenarioSpec(StrictDocument, frozen=True, kw_only=True):
    """The scenario itself."""

    description: str = ""
    start: Start
    policy: str = ""
    until: Span
    interval: Span = Span(10)
    machines: tuple[MachineRule, ...] = ()
    events: tuple[TimedEvent, ...] = ()
    expect: Expectation = Expectation()


class Scenario(StrictDocument, frozen=True, kw_only=True):
    """One scenario document."""

    api_version: str
    kind: str
    metadata: Metadata
    spec: ScenarioSpec


class ScenarioText(TypedText[Scenario], frozen=True):
    """A scenario with the places of its values."""

    @property
    def scenario(self) -> Scenario:
        """The scenario."""
        return self.value


def read_scenario(path: str, data: bytes) -> ScenarioText:
    """The one Scenario document of a file. Documents of other API groups (the policy) may be in the same file.

    Raises `DocumentError`.
    """
    source, documents = documents_of(path, data, API_VERSION)
    if len(documents) != 1:
        message = f"the file has {len(documents)} documents of apiVersion {API_VERSION}, but it must have exactly one"
        raise document_error("NoScenario", source, Spot(1, 1), message, f"begin with apiVersion: {API_VERSION} and kind: {KIND}")
    read = read_typed(documents[0], source, Scenario)
    text = ScenarioText(read.value, read.spots, read.source)
    if (error := _wrong(text)) is not None:
        raise error
    return text


def most_objects(spec: ScenarioSpec) -> int:
    """How many nodes and pods a scenario states, at its start and in its events, and how often it writes."""
    pods = sum(max(0, workload.replicas) for workload in (*spec.start.workloads, *spec.start.buffers))
    nodes = sum(max(0, group.nodes) for group in spec.start.groups)
    scaled = sum(max(0, event.scale.replicas) for event in spec.events if event.scale is not None)
    written = sum(max(0, event.write.replicas) + max(0, event.write.times) for event in spec.events if event.write is not None)
    return pods + nodes + scaled + written


def _wrong(text: ScenarioText) -> DocumentError | None:
    """What the types cannot say."""
    spec = text.scenario.spec
    if text.scenario.kind != KIND:
        return text.error("$.kind", f"unknown kind {text.scenario.kind!r}", f"write kind: {KIND}")
    if bool(spec.start.cluster) == bool(spec.start.groups):
        return text.error("$.spec.start", "a start needs either a cluster (a snapshot) or groups, not both")
    if spec.until.seconds <= 0 or spec.interval.seconds <= 0:
        return text.error("$.spec.until", "until and interval must be above zero")
    for index, event in enumerate(spec.events):
        path = f"$.spec.events[{index}]"
        things = [name for name in _THINGS if getattr(event, name) is not None]
        if len(things) != 1:
            what = f"this one has {', '.join(things)}" if things else "this one has none"
            return text.error(path, two_sentences(f"an event does exactly one of {', '.join(_THINGS)}", what))
        if not 0 <= event.at.seconds <= spec.until.seconds:
            return text.error(f"{path}.at", "the event is outside the scenario, which ends at spec.until")
    for index, workload in enumerate(spec.start.workloads):
        if workload.name.count("/") != 1:
            return text.error(f"$.spec.start.workloads[{index}].name", f"{workload.name!r} is not namespace/name")
    for index, group in enumerate(spec.start.groups):
        for position, taint in enumerate(group.taints):
            if not re.fullmatch(r"[^=:]+(=[^=:]*)?:(NoSchedule|PreferNoSchedule|NoExecute)", taint):
                path = f"$.spec.start.groups[{index}].taints[{position}]"
                return text.error(path, f"invalid taint {taint!r}", "write key=value:NoSchedule")
    return None


_THINGS = tuple(name for name in TimedEvent.__struct_fields__ if name != "at")
