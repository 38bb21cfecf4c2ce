"""How a cluster was set up for autoscaling: budgets that block every drain, annotations that do not count."""

import json

import msgspec
import pytest

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.target import Caution, TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.lints.setup import setup_findings
from reconciler.decisions.memory import Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.finding import Finding
from reconciler.policy.documents import TargetSpec
from tests.policies import node_group, policy

CAPI = "cluster.x-k8s.io"
MIN, MAX = f"{CAPI}/cluster-api-autoscaler-node-group-min-size", f"{CAPI}/cluster-api-autoscaler-node-group-max-size"
CPU = "capacity.cluster-autoscaler.kubernetes.io/cpu"


def world(*items: dict) -> World:
    body = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
    return read_snapshot({"all.json": body})


def found(*items: dict) -> list[Finding]:
    return list(setup_findings(View.of(world(*items), policy(), Memory(), 0, Work(1_000_000))))


def budget(expected: int, **spec: object) -> dict:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "n"},
        "spec": {"selector": {"matchLabels": {"app": "a"}}, **spec},
        "status": {"expectedPods": expected},
    }


@pytest.mark.parametrize(
    ("expected", "spec", "blocks"),
    [
        (3, {"maxUnavailable": 0}, True),
        (3, {"maxUnavailable": "0%"}, True),
        (3, {"maxUnavailable": 1}, False),
        (3, {"minAvailable": "100%"}, True),
        (3, {"minAvailable": 3}, True),
        (3, {"minAvailable": 2}, False),
        (0, {"maxUnavailable": 0}, False),
    ],
)
def test_a_budget_that_never_allows_a_disruption(expected: int, spec: dict, blocks: bool) -> None:
    """By its own numbers, and only with pods below it."""
    assert [item.code for item in found(budget(expected, **spec))] == (["BudgetBlocksEveryDrain"] if blocks else [])


def target(kind: str, name: str, annotations: dict, owner: str = "") -> dict:
    reference = {"apiVersion": f"{CAPI}/v1beta2", "kind": "MachineDeployment", "name": owner, "uid": "u", "controller": True}
    metadata = {"name": name, "namespace": "n", "annotations": annotations, "ownerReferences": [reference] if owner else []}
    return {"apiVersion": f"{CAPI}/v1beta2", "kind": kind, "metadata": metadata, "spec": {"clusterName": "c", "replicas": 1}}


@pytest.mark.parametrize(("annotations", "codes"), [({MIN: "1"}, ["OneSizeAnnotation"]), ({MIN: "1", MAX: "2"}, []), ({}, [])])
def test_one_size_annotation_alone(annotations: dict, codes: list[str]) -> None:
    """They count only together."""
    assert [item.code for item in found(target("MachineDeployment", "d", annotations))] == codes


@pytest.mark.parametrize(("there", "other"), [(MIN, MAX), (MAX, MIN)])
def test_which_size_annotation_is_there(there: str, other: str) -> None:
    """Whatever else is annotated."""
    (told,) = found(target("MachineDeployment", "d", {there: "1", "note": "x"}))
    assert told.message == f"it has {there.partition('/')[2]} and no {other.partition('/')[2]}: neither applies"


def test_one_size_annotation_that_was_handed_down_is_told_once() -> None:
    """Of the MachineDeployment, not of the MachineSet that it controls."""
    both = found(target("MachineDeployment", "d", {MIN: "1"}), target("MachineSet", "d-x", {MIN: "1"}, owner="d"))
    assert [(item.code, item.object) for item in both] == [("OneSizeAnnotation", "MachineDeployment n/d")]


@pytest.mark.parametrize(("of_set", "codes"), [("4", []), ("8", ["CapacitySaidTwice"])])
def test_s121_capacity_on_both_is_told_where_they_differ(of_set: str, codes: list[str]) -> None:
    """A MachineDeployment hands its annotations on to its MachineSets: the same value twice is its own."""
    deployment = target("MachineDeployment", "d", {CPU: "4"})
    assert [item.code for item in found(deployment, target("MachineSet", "d-x", {CPU: of_set}, owner="d"))] == codes


def test_what_a_platform_does_by_itself_is_told() -> None:
    """Cautions of a target, under the name of its group."""
    caution = Caution(code="ZoneRebalance", message="AWS ends instances", advice="suspend it")
    facts = TargetFacts(ref=TargetRef(kind="AutoScalingGroup", region="r", name="spot"), replicas=1, cautions=(caution,))
    spot = msgspec.structs.replace(
        node_group("spot"), target=TargetSpec(provider="aws", kind="AutoScalingGroup", name="spot", region="r")
    )
    made = msgspec.structs.replace(world(), targets=(facts,))
    view = View.of(made, policy(node_group("general"), spot), Memory(), 0, Work(1_000_000))
    assert [(item.code, item.object, item.advice) for item in setup_findings(view)] == [
        ("ZoneRebalance", "NodeGroup spot", "suspend it")
    ]
