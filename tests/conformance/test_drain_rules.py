"""The Cluster Autoscaler's drain tables (31 + 11 cases of release 1.31.5, Apache-2.0) on our drain rules.

Upstream names the first blocker only; ours must be among all that we name. Where we differ on purpose, the case says so.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import World
from reconciler.decisions.removal.drains.disruption_ledger import DisruptionLedger
from reconciler.decisions.removal.drains.drain import DrainJudge, Fate
from reconciler.policy.documents import DrainRules

DATA = Path(__file__).parent / "data"
MOVES: dict[str, Any] = json.loads((DATA / "TestGetPodsToMove.json").read_text(encoding="utf-8"))
EXPENDABLE: dict[str, Any] = json.loads((DATA / "TestIsExpendablePod.json").read_text(encoding="utf-8"))
NOW = 1_608_310_800  # 2020-12-18T17:00:00Z, as the table says
CODES = {3: "Unreplicated", 4: "LocalStorage", 5: "NotSafeToEvict", 6: "SystemPod", 7: "NotEnoughPdb"}
# A pod that has ended needs no other place: upstream lists it among the pods to evict, we let it go with its node.
ENDED = {"evicted pod", "failed pod", "pod in terminal state"}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "node"},
    "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}, "capacity": {"cpu": "4", "memory": "16Gi"}},
}


def _owners(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The controllers that the pods name: upstream's table takes them for granted where it gives no objects."""
    found = {}
    for pod in case["pods"]:
        for owner in pod["metadata"].get("ownerReferences", ()):
            version = "apps/v1" if owner["apiVersion"].startswith("extensions/") else owner["apiVersion"].removeprefix("core/")
            metadata = {"name": owner["name"], "namespace": pod["metadata"]["namespace"]}
            key = (owner["kind"], metadata["namespace"], metadata["name"])
            found[key] = {"apiVersion": version, "kind": owner["kind"], "metadata": metadata, "spec": {"replicas": 5}}
    return [body for (kind, _, _), body in found.items() if kind in ("ReplicaSet", "ReplicationController", "Job", "StatefulSet")]


def _object(kind: str, api_version: str, body: dict[str, Any]) -> dict[str, Any]:
    found = copy.deepcopy(body)
    found.update(kind=kind, apiVersion=api_version)
    found["metadata"] = {"name": "unnamed", "namespace": "default"} | found["metadata"]
    for owner in found["metadata"].get("ownerReferences", ()):
        # The table writes the core group's version as `core/v1`; an API server writes `v1`.
        owner["apiVersion"] = owner["apiVersion"].removeprefix("core/")
    if kind == "Pod":
        found["spec"]["containers"] = found["spec"].get("containers") or []
        found["spec"]["nodeName"] = "node"
    return found


def _world(case: dict[str, Any]) -> World:
    items = [NODE, *_owners(case), *(_object("PodDisruptionBudget", "policy/v1", body) for body in case["pdbs"] or [])]
    for number, pod in enumerate(case["pods"]):
        item = _object("Pod", "v1", pod)
        item["metadata"]["name"] += f"-{number}"
        items.append(item)
    manifest = (
        b"formatVersion: '1.0'\nkinds: [Pod, Node, PodDisruptionBudget, ReplicationController, ReplicaSet, Job, StatefulSet]\n"
    )
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    return read_snapshot({"all.json": json.dumps(listed).encode(), "snapshot.yaml": manifest})


@pytest.mark.parametrize("name", MOVES)
def test_pods_to_move(name: str) -> None:
    """The same pods move, stay and block."""
    case = MOVES[name]
    world = _world(case)
    ledger = DisruptionLedger(world)
    judge = DrainJudge(world, DrainRules(), ledger, NOW)
    moving: dict[str, int] = {}
    codes: set[str] = set()
    for index in range(len(world.pods)):
        verdict = judge.judge(index)
        codes |= {rule.code for rule in verdict.rules}
        if verdict.fate is Fate.MOVES:
            moving[world.pods.name[index].rsplit("-", 1)[0]] = index
            if ledger.short({world.pods.shape[index]: 1}):
                codes.add("NotEnoughPdb")
    blocking = case["wantBlocking"]
    if blocking is not None:
        assert CODES[blocking["Reason"]] in codes
        return
    assert not codes
    wanted = {pod["metadata"]["name"] for pod in case["wantPods"] or []}
    assert set(moving) == (set() if name in ENDED else wanted)


@pytest.mark.parametrize("name", EXPENDABLE)
def test_expendable_pods(name: str) -> None:
    """Below the cut-off, whatever the preemption policy; no priority counts as 0."""
    case = EXPENDABLE[name]
    pod = _object("Pod", "v1", case["pod"])
    world = read_snapshot({"pod.json": json.dumps(pod).encode()})
    shape = world.pod_shapes[world.pods.shape[0]]
    assert (shape.priority < case["cutoff"]) is case["want"]
