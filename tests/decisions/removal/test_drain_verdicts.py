"""What each drain rule says of one pod, to the bound: a table of pods, settings and codes."""

from collections.abc import Mapping

import msgspec
import pytest

from reconciler.cluster.pods.pod import Owner, PodPhase
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.decisions.removal.drains.disruption_ledger import DisruptionLedger
from reconciler.decisions.removal.drains.drain import DrainJudge, Fate, Verdict
from reconciler.policy.documents import BlockRule, DrainRules
from tests.builders import NOW, ClusterBuilder


def _verdict(rules: DrainRules, fields: Mapping[str, object], **pod: object) -> Verdict:
    """Of a pod `web-1` on one node; `pod` are fields of it that its making does not set."""
    cluster = ClusterBuilder()
    cluster.node("n")
    cluster.pods("web", 1, on="n", **fields)
    if "controller" in fields.get("traits", {}):
        cluster.controller("web", "ReplicaSet", 5)
    world = cluster.world()
    world = msgspec.structs.replace(world, pods=PodTable([msgspec.structs.replace(world.pods[0], **pod)]))
    return DrainJudge(world, rules, DisruptionLedger(world), NOW).judge(0)


SYSTEM = {"namespace": "kube-system"}
HOUR = DrainRules(system_pod_timeout_seconds=3600)
ROLLOUT = {"traits": {"controller": Owner("argoproj.io", "Rollout", "web", "uid")}}
OLD_GROUP = {"traits": {"controller": Owner("extensions", "ReplicaSet", "web", "uid")}}
TWO = DrainRules(min_replicas=2)


@pytest.mark.parametrize(
    ("rules", "fields", "said"),
    [
        (DrainRules(), {}, []),
        (DrainRules(), {"owner": None}, ["it has no controller that would recreate it"]),
        (DrainRules(unreplicated=BlockRule.ALLOW), {"owner": None}, []),
        (DrainRules(), ROLLOUT, ["its controller is a Rollout, a kind that the drain rules do not know"]),
        (DrainRules(custom_controllers=BlockRule.ALLOW), ROLLOUT, []),
        (DrainRules(), OLD_GROUP, []),
        (TWO, {"replicas": 1}, ["ReplicaSet web has 1 replica, fewer than 2"]),
        (TWO, {"replicas": 2}, []),
        (TWO, {"replicas": 1, "owner": "ReplicationController"}, ["ReplicationController web has 1 replica, fewer than 2"]),
        (TWO, {"replicas": 1, "owner": "StatefulSet"}, []),
        (TWO, {"replicas": 1, "owner": "Job"}, []),
        (DrainRules(min_replicas=1), {"replicas": 0}, ["ReplicaSet web has 0 replicas, fewer than 1"]),
        (DrainRules(), SYSTEM, ["kube-system pod without a PodDisruptionBudget"]),
        (DrainRules(system_pods_without_pdb=BlockRule.ALLOW), SYSTEM, []),
        (HOUR, {**SYSTEM, "age": 3600}, ["kube-system pod without a PodDisruptionBudget, younger than 1h"]),
        (HOUR, {**SYSTEM, "age": 3601}, []),
        (HOUR, {"age": 60}, []),
        (DrainRules(blocked_namespaces=("shop",)), {}, ["drain.blockedNamespaces names shop"]),
    ],
)
def test_what_keeps_a_pod(rules: DrainRules, fields: Mapping[str, object], said: list[str]) -> None:
    """It moves with a drain in any case."""
    found = _verdict(rules, fields)
    assert (found.fate, [rule.sentence() for rule in found.rules]) == (Fate.MOVES, said)


def test_a_controller_that_does_not_say_how_many_it_runs_keeps_nobody() -> None:
    """Fewer than two is what nobody knows of it."""
    cluster = ClusterBuilder()
    cluster.node("n")
    cluster.pods("web", 1, on="n")
    cluster.controller("web", "ReplicaSet", None)
    world = cluster.world()
    assert DrainJudge(world, TWO, DisruptionLedger(world), NOW).judge(0).rules == ()


@pytest.mark.parametrize(
    ("fields", "pod", "fate"),
    [
        ({"traits": {"grace_seconds": 60}}, {"deletion_seconds": NOW - 90}, Fate.MOVES),
        ({"traits": {"grace_seconds": 60}}, {"deletion_seconds": NOW - 91}, Fate.STAYS),
        ({}, {"phase": PodPhase.FAILED}, Fate.STAYS),
        ({"traits": {"restart_policy": "Never"}}, {"phase": PodPhase.SUCCEEDED}, Fate.STAYS),
        ({"traits": {"restart_policy": "OnFailure"}}, {"phase": PodPhase.SUCCEEDED}, Fate.STAYS),
        ({"traits": {"restart_policy": "Always"}}, {"phase": PodPhase.SUCCEEDED}, Fate.MOVES),
        ({"traits": {"restart_policy": "Never"}}, {}, Fate.MOVES),
        ({"traits": {"mirror": True}}, {}, Fate.STAYS),
        ({"owner": "DaemonSet"}, {}, Fate.STAYS),
    ],
)
def test_what_a_drain_leaves_alone(fields: Mapping[str, object], pod: Mapping[str, object], fate: Fate) -> None:
    """Pods of the node itself, those that have ended, and those that should have ended half a minute ago."""
    assert _verdict(DrainRules(), fields, **pod).fate is fate
