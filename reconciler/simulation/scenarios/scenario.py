"""Scenarios: a start, how machines behave, what happens when, and what must be true at the end.

    apiVersion: simulation.reconciler.dev/v1alpha1
    kind: Scenario
    metadata: {name: burst}
    spec:
      description: one sentence
      start:
        cluster: ../quickstart                # a snapshot, relative to this file; or, instead, groups and workloads:
        groups: [{name: general, nodes: 2, cpu: "4", memory: 16Gi, pods: 110, gpu: 0, labels: {}, taints: [t=spot:NoSchedule],
                  owner: {manager: argocd-controller, operation: Apply}, topologyReplicas: 2}]
        workloads: [{name: shop/web, kind: ReplicaSet, replicas: 6, cpu: 500m, memory: 1Gi, gpu: 0, labels: {app: web},
                     nodeSelector: {}, tolerations: [tier], priority: 0}]
        budgets: [{name: shop/web, minAvailable: "80%"}]    # or maxUnavailable; over the pods labelled app: web
      policy: ../../policies                  # relative to this file; without it, the documents beside this one
      until: 1h
      interval: 10s                           # between two turns of the loop
      machines: [{group: general, joinAfter: 90s, failFirst: 0, outOfStock: [{from: 5m, to: 20m}], gpuDelay: 4m}]
      events:
        - {at: 5m, scale: {workload: shop/web, replicas: 20}}
        - {at: 6m, budget: {name: shop/web, maxUnavailable: "1"}}
        - {at: 7m, write: {target: general, replicas: 5, manager: kubectl, via: Scale, every: 1m, times: 3}}
        - {at: 8m, node: {name: general-1, becomes: NotReady}}    # NotReady | Ready | Gone
        - {at: 9m, hold: {target: general, reason: "repair"}}     # an empty reason ends it
        - {at: 10m, policy: other.yaml}
      expect: {groups: [{name: general, nodes: 2}], pendingPods: 0, maxViolations: 0}

A `machines` entry is by the name of the target; `group: "*"` stands for all others. In `write`, `via` is Scale, Patch
or Apply (forced). Times count from the start.
"""

from enum import StrEnum

import msgspec

from reconciler.simulation.embedded.field_owner import Via

API_VERSION = "simulation.reconciler.dev/v1alpha1"
KIND = "Scenario"


class Span:
    """A duration as written in Go's form, in whole seconds."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds


class Quantity:
    """A resource quantity in thousandths, so that cpu and bytes are read alike."""

    __slots__ = ("milli",)

    def __init__(self, milli: int) -> None:
        self.milli = milli


class _Document(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Strict: an unknown key is an error."""


class StartOwner(_Document, frozen=True, kw_only=True):
    """Who owns the replicas of an inline group at the start."""

    manager: str
    operation: str = "Apply"


class StartGroup(_Document, frozen=True, kw_only=True):
    """A MachineDeployment with nodes NAME-1, NAME-2… Without `owner` and `topologyReplicas` the field is ours."""

    name: str
    nodes: int = 0
    cpu: Quantity
    memory: Quantity
    pods: int = 110
    gpu: int = 0
    labels: dict[str, str] = {}
    taints: list[str] = []
    owner: StartOwner | None = None
    topology_replicas: int | None = None


class StartWorkload(_Document, frozen=True, kw_only=True):
    """Pods of one controller; `name` is namespace/name. The scheduler places them at the start."""

    name: str
    kind: str = "ReplicaSet"
    replicas: int = 0
    cpu: Quantity = Quantity(0)
    memory: Quantity = Quantity(0)
    gpu: int = 0
    labels: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: list[str] = []
    priority: int = 0


class StartBudget(_Document, frozen=True, kw_only=True):
    """A PodDisruptionBudget over the pods whose label `app` is the name."""

    name: str
    min_available: str = ""
    max_unavailable: str = ""


class Start(_Document, frozen=True, kw_only=True):
    """What is there at the start: a snapshot, or groups and workloads."""

    cluster: str = ""
    groups: list[StartGroup] = []
    workloads: list[StartWorkload] = []
    budgets: list[StartBudget] = []


class OutOfStock(_Document, frozen=True, kw_only=True):
    """No machine can be had in this time."""

    from_: Span = msgspec.field(name="from")
    to: Span


class MachineRule(_Document, frozen=True, kw_only=True):
    """How machines of one target behave."""

    group: str
    join_after: Span = Span(90)
    fail_first: int = 0
    out_of_stock: list[OutOfStock] = []
    gpu_delay: Span = Span(0)


class ScaleEvent(_Document, frozen=True, kw_only=True):
    """A controller, or the Deployment above it, wants another number of pods."""

    workload: str
    replicas: int


class WriteEvent(_Document, frozen=True, kw_only=True):
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


class NodeEvent(_Document, frozen=True, kw_only=True):
    """Something happens to a node."""

    name: str
    becomes: NodeChange


class HoldEvent(_Document, frozen=True, kw_only=True):
    """`reconciler hold`, or its end when the reason is empty."""

    target: str
    reason: str = ""


class TimedEvent(_Document, frozen=True, kw_only=True):
    """Exactly one thing at a time."""

    at: Span
    scale: ScaleEvent | None = None
    budget: StartBudget | None = None
    write: WriteEvent | None = None
    node: NodeEvent | None = None
    hold: HoldEvent | None = None
    policy: str | None = None


class ExpectedGroup(_Document, frozen=True, kw_only=True):
    """Nodes of a group at the end: exactly, at least, at most."""

    name: str
    nodes: int | None = None
    at_least: int | None = None
    at_most: int | None = None


class Expectation(_Document, frozen=True, kw_only=True):
    """What must be true at the end."""

    groups: list[ExpectedGroup] = []
    pending_pods: int | None = None
    max_violations: int = 0


class ScenarioSpec(_Document, frozen=True, kw_only=True):
    """The scenario itself."""

    description: str = ""
    start: Start
    policy: str = ""
    until: Span
    interval: Span = Span(10)
    machines: list[MachineRule] = []
    events: list[TimedEvent] = []
    expect: Expectation = Expectation()


class Metadata(_Document, frozen=True, kw_only=True):
    """The name."""

    name: str


class Scenario(_Document, frozen=True, kw_only=True):
    """One scenario document."""

    api_version: str
    kind: str
    metadata: Metadata
    spec: ScenarioSpec
