"""A short scenario whose end is known: three pods of a core on one node of four, and a minute to go by."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from reconciler.cli.commands.run import command
from reconciler.plan.plan import Plan
from reconciler.policy.documents import PolicySet
from reconciler.simulation.embedded.rules import RuleBook, Violation

QUICKSTART = Path(__file__).parents[2] / "examples" / "quickstart"
SCENARIO: dict[str, Any] = {
    "apiVersion": "simulation.reconciler.dev/v1alpha1",
    "kind": "Scenario",
    "metadata": {"name": "short"},
    "spec": {
        "start": {
            "groups": [{"name": "general", "nodes": 1, "cpu": "4", "memory": "16Gi"}],
            "workloads": [{"name": "shop/web", "replicas": 3, "cpu": "1"}],
        },
        "until": "1m",
    },
}
POLICY: dict[str, Any] = {
    "apiVersion": "reconciler.dev/v1alpha1", "kind": "NodeGroupPolicy", "metadata": {"name": "p"}, "spec": {"mode": "Enforce"},
}  # fmt: skip
GROUP: dict[str, Any] = {
    "apiVersion": "reconciler.dev/v1alpha1", "kind": "NodeGroup", "metadata": {"name": "general", "namespace": "reconciler"},
    "spec": {
        "policyRef": {"name": "p"}, "size": {"min": 1, "max": 4},
        "target": {"clusterAPI": {"kind": "MachineDeployment", "namespace": "prod", "name": "general"}},
    },
}  # fmt: skip


def _run(path: Path, *arguments: str, **spec: Any) -> Result:
    scenario = {**SCENARIO, "spec": {**SCENARIO["spec"], **spec}}
    path = path / "short.yaml"
    path.write_text("\n---\n".join(json.dumps(document) for document in (scenario, POLICY, GROUP)))
    return CliRunner().invoke(command, ["--simulate", str(path), *arguments], standalone_mode=False)


@pytest.mark.parametrize(
    ("expect", "told"),
    [
        ({"groups": [{"name": "general", "nodes": 1, "atLeast": 1, "atMost": 1}], "pendingPods": 0}, ""),
        ({"groups": [{"name": "general", "atLeast": 1}]}, ""),
        ({"groups": [{"name": "general", "nodes": 2}]}, "general has 1 node at the end instead of 2"),
        ({"groups": [{"name": "general", "nodes": 0}]}, "general has 1 node at the end instead of 0"),
        ({"groups": [{"name": "general", "atLeast": 2}]}, "general has 1 node at the end instead of at least 2"),
        ({"groups": [{"name": "general", "atMost": 0}]}, "general has 1 node at the end instead of at most 0"),
        ({"groups": [{"name": "other", "atLeast": 1}]}, "other has 0 nodes at the end instead of at least 1"),
        ({"pendingPods": 1}, "0 pending pods at the end instead of 1"),
    ],
)
def test_what_must_be_true_at_the_end(tmp_path: Path, expect: dict[str, Any], told: str) -> None:
    """Exactly, at least, at most; 0 where nothing else is said of a group."""
    result = _run(tmp_path, expect=expect)
    assert result.return_value == (1 if told else 0), result.output
    assert told in result.output


def test_pods_that_are_pending_at_the_end_are_counted(tmp_path: Path) -> None:
    """Of nine pods of a core four are on the node, and no machine comes within ten seconds."""
    events = [{"at": "50s", "scale": {"workload": "shop/web", "replicas": 9}}]
    assert "5 pending pods at the end instead of 0" in _run(tmp_path, expect={"pendingPods": 0}, events=events).output
    assert json.loads(_run(tmp_path, "-o", "json", events=events).output)["summary"]["podsPending"] == 5


def test_a_timer_that_ends_between_two_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three nodes run nothing: both go at the second at which 75 s of unneeded time are over, and are gone 25 s later.
    A node that ran for 360 s and two that ran for 100 s, at 36 an hour, cost 5.60."""
    start = {**SCENARIO["spec"]["start"], "groups": [{"name": "general", "nodes": 3, "cpu": "4", "memory": "16Gi"}]}
    monkeypatch.setitem(GROUP, "spec", {**GROUP["spec"], "scaleDown": {"unneededTime": "75s"}, "pricePerHour": "36"})
    document = json.loads(_run(tmp_path, "-o", "json", start=start, interval="5s", until="6m").output)
    assert [(turn["atSeconds"], len(turn["actions"]), len(turn["gone"])) for turn in document["turns"]] == [
        (75, 2, 0),
        (100, 0, 2),
    ]
    assert (document["summary"]["nodeSeconds"], document["summary"]["cost"]) == (560, "5.60")
    # Before, nothing but a timer that runs: a look at the start and one when the pods are bound.
    assert json.loads(_run(tmp_path, "-o", "json", start=start, interval="5s").output)["decisions"] == 2


def test_a_run_ends_with_its_last_second(tmp_path: Path) -> None:
    """Looked at every second, of which the last one is part."""
    events = [
        {"at": "59s", "scale": {"workload": "shop/web", "replicas": 2}},
        {"at": "60s", "scale": {"workload": "shop/web", "replicas": 1}},
    ]
    document = json.loads(_run(tmp_path, "-o", "json", interval="1s", events=events).output)
    assert [turn["atSeconds"] for turn in document["turns"]] == [59, 60]
    assert document["summary"]["seconds"] == 60


def test_nodes_of_no_group_have_no_price_and_no_name(tmp_path: Path) -> None:
    """Machines that nobody knows the target of: 12 nodes for a minute."""
    (tmp_path / "cluster").mkdir()
    for name in ("nodes.json", "snapshot.yaml"):
        shutil.copy(QUICKSTART / name, tmp_path / "cluster")
    summary = json.loads(_run(tmp_path, "-o", "json", start={"cluster": "cluster"}).output)["summary"]
    assert (summary["nodeSeconds"], summary["unpriced"]) == (720, [])


def test_the_loop_also_looks_when_nothing_happened(tmp_path: Path) -> None:
    """At the start, once the pods are on their node, and every minute from then on: at 0, 10, 70 and 130 s; more often where
    something happens."""
    quiet = json.loads(_run(tmp_path, "-o", "json", until="130s").output)
    assert quiet["decisions"] == 4
    assert (quiet["turns"], quiet["summary"]["seconds"]) == ([], 130)
    events = [{"at": "15s", "scale": {"workload": "shop/web", "replicas": 2}}]
    assert json.loads(_run(tmp_path, "-o", "json", until="130s", events=events).output)["decisions"] > 4


def test_a_run_may_be_longer_or_shorter_than_its_scenario(tmp_path: Path) -> None:
    assert json.loads(_run(tmp_path, "-o", "json", "--until", "3m").output)["summary"]["seconds"] == 180
    assert json.loads(_run(tmp_path, "-o", "json", "--until", "30s").output)["summary"]["seconds"] == 30


def test_a_group_that_must_grow(tmp_path: Path) -> None:
    """Six pods of a core more: one node for four of them and one for the rest, 90 s after they were asked for."""
    events = [{"at": "10s", "scale": {"workload": "shop/web", "replicas": 9}}]
    result = _run(tmp_path, "-o", "json", until="5m", events=events, expect={"groups": [{"name": "general", "nodes": 3}]})
    document = json.loads(result.output)
    assert result.return_value == 0
    (grown,) = [action for turn in document["turns"] for action in turn["actions"]]
    assert (grown["kind"], grown["from"], grown["to"], grown["state"], document["actions"]) == ("Resize", 1, 3, "Done", 1)
    joined = [turn for turn in document["turns"] if turn["joined"]]
    assert [(turn["atSeconds"], len(turn["joined"])) for turn in joined] == [(100, 2)]
    assert (document["violations"], document["unmet"]) == ([], [])


def test_the_first_thing_that_happens_is_told(tmp_path: Path) -> None:
    """Nothing runs at the start; then two pods come, which fit."""
    start = {**SCENARIO["spec"]["start"], "workloads": [{"name": "shop/web", "replicas": 0, "cpu": "1"}]}
    events = [{"at": "10s", "scale": {"workload": "shop/web", "replicas": 2}}]
    (turn,) = json.loads(_run(tmp_path, "-o", "json", start=start, events=events).output)["turns"]
    assert turn["told"] == ["shop/web scales from 0 to 2 pods"]


def test_rules_that_a_turn_breaks_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each turn's plan is checked against what is there."""
    seen: list[Plan] = []

    def check(book: RuleBook, policy: PolicySet, plan: Plan) -> tuple[Violation, ...]:
        seen.append(plan)
        return (Violation(at_seconds=0, rule="PDB", object="shop/web", message="two at once"),)

    monkeypatch.setattr(RuleBook, "check", check)
    document = json.loads(_run(tmp_path, "-o", "json", until="2m").output)
    assert [turn["violations"] for turn in document["turns"]] == [["PDB shop/web: two at once"]] * 3
    assert [plan.summary for plan in seen] == ["No changes."] * 3
