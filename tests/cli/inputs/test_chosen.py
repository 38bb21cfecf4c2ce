"""`--group`, `--node` and `--pod-namespace`: the part of a plan that is asked about, and only that."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from reconciler.plan.narrowed import Chosen, narrowed
from tests.rendering.test_any_size import plans

ROOT = Path(__file__).resolve().parents[3]
INPUTS = ("--policy", str(ROOT / "policies"), "--cluster", str(ROOT / "examples" / "quickstart"))

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Exit code, output and errors of a command on the captured cluster."""

    def call(*words: str) -> tuple[int, str, str]:
        code = guarded(cli, list(words))
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


@pytest.fixture
def part(run: Run) -> Callable[..., Any]:
    """The narrowed plan as JSON."""

    def call(*words: str) -> Any:
        code, out, err = run("plan", *INPUTS, "--no-settled", "-o", "json", *words)
        assert code == 0, err
        return json.loads(out)

    return call


def test_one_group(part: Callable[..., Any]):
    """Its row, its actions, its nodes, the pods that go to it; the summary says what it is a part of, and nobody can apply it."""
    whole, big = part(), part("--group", "big")
    assert [line["name"] for line in big["groups"]] == ["big"]
    for key in ("actions", "nodes"):
        assert big[key] == [entry for entry in whole[key] if entry["group"] == "big"] != []
    assert {pod["group"] for pod in big["pods"]} == {"big"}
    assert big["summary"].endswith(f"The whole plan: {whole['summary']}")
    assert big["digest"] == ""


def test_patterns_add_up(part: Callable[..., Any]):
    """Several of one option are OR, options are AND."""
    found = part("--group", "big", "--group", "spo*")
    assert [line["name"] for line in found["groups"]] == ["spot", "big"]
    assert {node["group"] for node in part("--group", "big", "--node", "*-wlrs7")["nodes"]} == {"big"}


def test_one_node(part: Callable[..., Any]):
    """The node and the group that it belongs to."""
    found = part("--node", "big-cvpqs-75zr8")
    assert [node["node"] for node in found["nodes"]] == ["big-cvpqs-75zr8"]
    assert [group["name"] for group in found["groups"]] == ["big"]


def test_pods_of_a_namespace(part: Callable[..., Any]):
    """What the plan means for one team: its pending pods, what is bought for them, the nodes that its pods keep."""
    whole, found = part(), part("--pod-namespace", "batch")
    assert found["pods"] == [pod for pod in whole["pods"] if pod["pod"].startswith("batch/")] != []
    assert {action["group"] for action in found["actions"]} <= {pod["group"] for pod in found["pods"]}
    for node in found["nodes"]:
        assert any(blocker["pod"].startswith("batch/") for blocker in node["blockers"])


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--group", "bgi"), "no group is called bgi: did you mean big?"),
        (("--node", "nope"), "no node is called nope. There are 12"),
        (("--pod-namespace", "btach"), "no namespace is called btach: did you mean batch?"),
    ],
)
@pytest.mark.parametrize("command", [("plan", "--no-settled"), ("explain", "pod", "batch/giant")])
def test_what_nobody_is_called(run: Run, command: tuple[str, ...], option: tuple[str, ...], said: str):
    """An empty answer would be taken for good news."""
    code, out, err = run(*command, *INPUTS, *option)
    assert (code, out) == (1, "")
    assert said in err


def test_explained_of_one_group(run: Run):
    """The answer of that group and of its nodes alone."""
    _, out, _ = run("explain", "pod", "batch/giant", *INPUTS, "--group", "big")
    answers = out.partition("A new node of each group:")[2]
    assert "- big:" in answers
    assert "0 of 3 nodes" in answers
    assert "spot:" not in answers
    _, out, _ = run("explain", "pod", "giant", *INPUTS, "--pod-namespace", "shop")
    assert out == ""


def test_fit_of_one_group(run: Run):
    """Nodes of the target of that name; a name that no target has is an error."""
    cluster = ("--cluster", str(ROOT / "examples" / "quickstart"))
    _, out, _ = run("fit", *cluster, "--group", "big", "-o", "json")
    assert {node["node"].rpartition("-")[0] for pod in json.loads(out)["pods"] for node in pod["nodes"]} == {"big-cvpqs"}
    code, _, err = run("fit", *cluster, "--group", "bgi")
    assert code == 1
    assert "there is no node of bgi" in err


def test_a_part_of_a_large_plan():
    """Every line of it is a line of the whole."""
    plan = plans(1_500)[1]
    group = plan.actions[0].group
    found = narrowed(plan, Chosen(groups=(group,)))
    assert found.nodes == tuple(line for line in plan.nodes if line.group == group)
    assert found.actions == tuple(action for action in plan.actions if action.group == group)
    assert narrowed(plan, Chosen()) is plan


def test_pods_of_many_groups_are_folded(run: Run, monkeypatch: pytest.MonkeyPatch):
    """`explain pod` tells groups that say the same together where there are many; --wide tells each."""
    monkeypatch.setattr("reconciler.rendering.printers.text.explanation.placing._FEW_GROUPS", 2)
    _, folded, _ = run("explain", "pod", "batch/giant", *INPUTS)
    assert "3 groups (" in folded
    _, wide, _ = run("explain", "pod", "batch/giant", *INPUTS, "--wide")
    assert wide.count("after this plan") == 4 > folded.count("after this plan")
