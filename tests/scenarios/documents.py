"""The form of a decision scenario: types are the schema, unknown keys are errors."""

from pathlib import Path
from typing import Literal

import msgspec
import yaml

Plain = dict[str, object]


class ScenarioFileError(Exception):
    """A scenario file that cannot be used; the message names the file and the key."""


class _Document(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Strict: an unknown key is an error."""


class GivenGroup(_Document, frozen=True, kw_only=True):
    """A MachineDeployment with nodes NAME-1, NAME-2… of one shape; we own replicas unless `managers` says otherwise.

    `replicas` None: as many as nodes. The first `unready` nodes are not ready. `spec` is that of the NodeGroup.
    """

    name: str
    nodes: int = 0
    replicas: int | None = None
    cpu: str = "4"
    memory: str = "16Gi"
    gpu: int = 0
    zone: str = ""
    labels: dict[str, str] = {}
    taints: list[str] = []
    age: str = "24h"
    unready: int = 0
    devices_missing: bool = False
    template: bool = True
    rolling_out: bool = False
    paused: str = ""
    managers: list[str] = []
    spec: Plain = {}


class GivenNode(_Document, frozen=True, kw_only=True):
    """A node of nobody, or with `group` one more node of that group."""

    name: str
    count: int = 1
    group: str = ""
    cpu: str = "4"
    memory: str = "16Gi"
    gpu: int = 0
    ready: bool = True
    labels: dict[str, str] = {}
    taints: list[str] = []


class GivenMachine(_Document, frozen=True, kw_only=True):
    """A Machine that has not become a node; `failed` is its message."""

    name: str
    group: str
    age: str = "0s"
    failed: str = ""


class GivenPods(_Document, frozen=True, kw_only=True):
    """Pods shop/NAME-1, NAME-2… of one controller: running on `node` (one for all, or one a pod), else pending.

    `zone_spread`: at most one more in a zone than in another. `orphaned`: their controller is gone.
    """

    name: str
    count: int = 1
    cpu: str = "0"
    memory: str = "0"
    gpu: int = 0
    node: str | list[str] | None = None
    node_selector: dict[str, str] = {}
    tolerations: list[str] = []
    alone_per_node: bool = False
    zone_spread: bool = False
    orphaned: bool = False
    claim: str = ""


class GivenVolume(_Document, frozen=True, kw_only=True):
    """A PersistentVolume of one zone, bound to the claim shop/CLAIM."""

    claim: str
    zone: str


class Given(_Document, frozen=True, kw_only=True):
    """What is there. In a step, only what changes: a list or `policy` named there replaces the one before."""

    groups: list[GivenGroup] | None = None
    nodes: list[GivenNode] | None = None
    machines: list[GivenMachine] | None = None
    pods: list[GivenPods] | None = None
    volumes: list[GivenVolume] | None = None
    policy: Plain | None = None


class When(_Document, frozen=True, kw_only=True):
    """Plans at `at`, then `every` so often until there are `times`. Done: actions succeed (what they change shows in
    the next step's `given`); Undone: somebody puts replicas back before the next plan."""

    at: str = "0s"
    every: str = "1m"
    times: int = 1
    actions: Literal["Ignored", "Done", "Undone"] = "Ignored"


class ThenAction(_Document, frozen=True, kw_only=True):
    """One action; what is not written is not compared."""

    kind: str
    group: str | None = None
    from_: int | None = msgspec.field(name="from", default=None)
    to: int | None = None
    nodes: list[str] | None = None
    machines: list[str] | None = None
    reason: str | None = None


class ThenLine(_Document, frozen=True, kw_only=True):
    """A group (desired, wanted, held, owner, by), a pod (outcome, node, group) or a node (state, removable, blockers).

    `reasons` and `blockers` are codes that must be among those there, `says` pieces of their messages or evidence.
    """

    desired: int | None = None
    wanted: int | None = None
    held: bool | None = None
    owner: str | None = None
    by: str | None = None
    outcome: str | None = None
    node: str | None = None
    group: str | None = None
    state: str | None = None
    removable: bool | None = None
    reasons: list[str] = []
    blockers: list[str] = []
    says: list[str] = []


class Then(_Document, frozen=True, kw_only=True):
    """What the last plan of the step says; `actionsPerPlan` counts those of every plan. `problems` are codes that must be
    there. `actions` is the complete list."""

    actions: list[ThenAction] | None = None
    actions_per_plan: list[int] | None = None
    actions_in_all: int | None = None
    groups: dict[str, ThenLine] = {}
    pods: dict[str, ThenLine] = {}
    nodes: dict[str, ThenLine] = {}
    outcomes: dict[str, int] | None = None
    problems: list[str] = []
    says: list[str] = []


class Step(_Document, frozen=True, kw_only=True):
    """One instant, or several, and what must be true."""

    given: Given = Given()
    when: When = When()
    then: Then


class DecisionScenario(_Document, frozen=True, kw_only=True):
    """One file."""

    incident: int
    title: str
    sources: list[str] = []
    given: Given
    steps: list[Step]


def read_decision(path: Path) -> DecisionScenario:
    """The scenario of one file. Raises `ScenarioFileError`."""
    try:
        return msgspec.convert(yaml.safe_load(path.read_text()), DecisionScenario)
    except yaml.YAMLError as error:
        raise ScenarioFileError(f"{path.name}: no YAML: {error}") from error
    except msgspec.ValidationError as error:
        raise ScenarioFileError(f"{path.name}: {error}; tests/scenarios/documents.py lists the keys") from error
