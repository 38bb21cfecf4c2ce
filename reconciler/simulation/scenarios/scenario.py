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

import difflib
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

from reconciler.cluster.values.object_parts import in_plain_words
from reconciler.policy.problems.findings import Findings, Problem, Source
from reconciler.policy.reading.yaml_text import compose_documents, read_source
from reconciler.policy.values.quantity import QuantityError, parse_amount
from reconciler.policy.yaml_nodes import Mapping as MappingNode
from reconciler.policy.yaml_nodes import Node, Scalar, Sequence, Spot, spot_of
from reconciler.simulation.embedded.field_owner import Via
from reconciler.values.duration import DurationError, parse_duration

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


# Scenario text -> a checked Scenario, or the place where it is wrong.

_INTEGER = re.compile("[-+]?[0-9]+")
_AT = re.compile("(.*) - at `(.*)`", re.DOTALL)
_UNKNOWN = re.compile("Object contains unknown field `(.*)`")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


class ScenarioError(Exception):
    """The scenario cannot be used; `problems` say where and why, by place."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(f"{problem.place}: {problem.message}" for problem in problems))
        self.problems = problems


class ScenarioText(msgspec.Struct, frozen=True):
    """A scenario with the places of its values, for what only shows later (`spec.events[2].scale`)."""

    scenario: Scenario
    spots: Mapping[str, Spot]
    source: Source

    def error(self, path: str, message: str, hint: str = "") -> ScenarioError:
        """The error that `message` is wrong at `path`."""
        return _error("BadValue", self.source, _nearest(self.spots, path), message, hint)


def read_scenario(path: str, data: bytes) -> ScenarioText:
    """The one Scenario document of a file. Documents of other API groups (the policy) may be in the same file.

    Raises `ScenarioError`.
    """
    findings = Findings()
    decoded = read_source(path, data, findings)
    documents = compose_documents(*decoded, findings) if decoded is not None else []
    if decoded is None or findings.failed:
        raise ScenarioError(findings.sorted())
    source = decoded[0]
    found = [document for document in documents if _api_version(document) == API_VERSION]
    if len(found) != 1:
        message = f"the file has {len(found)} documents of apiVersion {API_VERSION}; it must have exactly one"
        raise _error("NoScenario", source, Spot(1, 1), message, f"begin with apiVersion: {API_VERSION} and kind: {KIND}")
    spots: dict[str, Spot] = {}
    value = _plain(found[0], "$", spots)
    try:
        scenario = msgspec.convert(value, Scenario, dec_hook=_written)
    except msgspec.ValidationError as error:
        raise _explained(str(error), source, spots) from None
    text = ScenarioText(scenario, spots, source)
    _check(text)
    return text


def _api_version(document: Node) -> str:
    if isinstance(document, MappingNode):
        for key, value in document.pairs:
            if isinstance(key, Scalar) and key.text == "apiVersion" and isinstance(value, Scalar):
                return value.text
    return ""


def _plain(node: Node, path: str, spots: dict[str, Spot]) -> object:
    """Nodes as plain values, every place written down by path."""
    spots.setdefault(path, spot_of(node))
    if isinstance(node, Scalar):
        if node.plain and node.text.lower() in _WORDS:
            return _WORDS[node.text.lower()]
        return int(node.text) if node.plain and _INTEGER.fullmatch(node.text) else node.text
    if isinstance(node, Sequence):
        return [_plain(item, f"{path}[{index}]", spots) for index, item in enumerate(node.items)]
    found: dict[str, object] = {}
    for key, value in node.pairs:
        name = key.text if isinstance(key, Scalar) else ""
        spots[f"{path}.{name}#"] = spot_of(key)
        found[name] = _plain(value, f"{path}.{name}", spots)
    return found


def _written(kind: type, value: object) -> object:
    """Durations and quantities; whole numbers are quantities too."""
    if kind is Span:
        if not isinstance(value, str):
            raise ValueError(f"invalid duration {value!r}; write it like 90s, 10m or 1h30m")
        try:
            return Span(parse_duration(value))
        except DurationError as error:
            raise ValueError(f"{error}; {error.hint}" if error.hint else str(error)) from None
    try:
        return Quantity(parse_amount(str(value), milli=True))
    except QuantityError as error:
        raise ValueError(f"{error}; {error.hint}" if error.hint else str(error)) from None


def _explained(text: str, source: Source, spots: Mapping[str, Spot]) -> ScenarioError:
    match = _AT.fullmatch(text)
    message, path = (match[1], match[2]) if match else (text, "$")
    unknown = _UNKNOWN.fullmatch(message)
    if unknown:
        known = _siblings(path)
        near = difflib.get_close_matches(unknown[1], known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else (f"known here: {', '.join(known)}" if known else "")
        return _error("UnknownField", source, _nearest(spots, f"{path}.{unknown[1]}#"), f"unknown key {unknown[1]!r}", hint)
    message = in_plain_words(message).replace("`", "")
    return _error("BadValue", source, _nearest(spots, path), message[:1].lower() + message[1:])


def _siblings(path: str) -> list[str]:
    """The keys that an object at a path may have."""
    kind: object = Scenario
    for part in re.findall(r"[^.$\[\]]+", re.sub(r"\[[^\]]*\]", "", path)):
        fields = {field.encode_name: field.type for field in _fields(kind)}
        kind = fields.get(part)
    return [field.encode_name for field in _fields(kind)]


def _fields(kind: object) -> Iterator[msgspec.structs.FieldInfo]:
    """The fields of a struct type, also inside a list or an optional."""
    candidates = (kind, *getattr(kind, "__args__", ()))
    for candidate in candidates:
        if isinstance(candidate, type) and issubclass(candidate, msgspec.Struct):
            yield from msgspec.structs.fields(candidate)


def _nearest(spots: Mapping[str, Spot], path: str) -> Spot:
    while path:
        if path in spots:
            return spots[path]
        path = path[: max(path.rfind("."), path.rfind("["))] if path != "$" else ""
    return Spot(1, 1)


def _error(code: str, source: Source, spot: Spot, message: str, hint: str = "") -> ScenarioError:
    findings = Findings()
    findings.open(source)
    findings.add(code, source, spot, message, hint)
    return ScenarioError(findings.sorted())


def _check(text: ScenarioText) -> None:
    """What the types cannot say."""
    spec = text.scenario.spec
    if text.scenario.kind != KIND:
        raise text.error("$.kind", f"unknown kind {text.scenario.kind!r}", f"write kind: {KIND}")
    if bool(spec.start.cluster) == bool(spec.start.groups):
        raise text.error("$.spec.start", "a start needs either a cluster (a snapshot) or groups, not both")
    if spec.until.seconds <= 0 or spec.interval.seconds <= 0:
        raise text.error("$.spec.until", "until and interval must be above zero")
    for index, event in enumerate(spec.events):
        path = f"$.spec.events[{index}]"
        things = [name for name in _THINGS if getattr(event, name) is not None]
        if len(things) != 1:
            what = f"this one has {', '.join(things)}" if things else "this one has none"
            raise text.error(path, f"an event does exactly one of {', '.join(_THINGS)}; {what}")
        if not 0 <= event.at.seconds <= spec.until.seconds:
            raise text.error(f"{path}.at", "the event is outside the scenario, which ends at spec.until")
    for index, workload in enumerate(spec.start.workloads):
        if workload.name.count("/") != 1:
            raise text.error(f"$.spec.start.workloads[{index}].name", f"{workload.name!r} is not namespace/name")
    for index, group in enumerate(spec.start.groups):
        for position, taint in enumerate(group.taints):
            if not re.fullmatch(r"[^=:]+(=[^=:]*)?:(NoSchedule|PreferNoSchedule|NoExecute)", taint):
                path = f"$.spec.start.groups[{index}].taints[{position}]"
                raise text.error(path, f"invalid taint {taint!r}", "write key=value:NoSchedule")


_THINGS = tuple(name for name in TimedEvent.__struct_fields__ if name != "at")
