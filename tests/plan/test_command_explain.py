"""`reconciler explain`, on the captured cluster and the policy of this repository."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded

ROOT = Path(__file__).resolve().parents[2]
QUICKSTART = ROOT / "examples" / "quickstart"
INPUTS = ("--policy", str(ROOT / "policies"), "--cluster", str(QUICKSTART))

Explain = Callable[..., tuple[int, str, str]]


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str]) -> Explain:
    """Run `reconciler explain …`; exit code, stdout and stderr."""

    def call(*argv: str) -> tuple[int, str, str]:
        code = guarded(cli, ["explain", *argv, "--wide", *INPUTS])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_pod_that_fits_nowhere(explain: Explain):
    """20 cpu on nodes of 4 and 8: every group and every node says so, and who else waits for the same is named."""
    code, out, _ = explain("pod", "batch/giant")
    assert code == 0
    assert "Pending, requests 20 cpu, 8Gi memory, priority 0" in out
    assert "outcome: cannot be placed" in out
    for group in ("auto", "big", "fixed", "spot"):
        line = next(line for line in out.split("A new node of each group:")[1].splitlines() if line.startswith(f"  - {group}: "))
        assert line.startswith(f"  - {group}: needs 20 cpu (")
        assert "[NodeResourcesFit]" in line
        assert out.count(f"- {group}: ") == 1, "no list comes twice"
    assert "Existing nodes: 0 of 12 nodes would run it" in out
    assert "9 nodes: too little free capacity [NodeResourcesFit]" in out
    assert "3 nodes: too little free capacity and untolerated taint [NodeResourcesFit, TaintToleration]" in out
    assert "closest is big-cvpqs-" in out
    assert "The same holds for 1 pod: batch/giant-" in out


def test_running_pod_that_keeps_its_node(explain: Explain):
    """By its bare name; with the blocker that its disruption budget is."""
    code, out, _ = explain("pod", "db-0")
    assert code == 0
    assert "pod data/db-0: Running" in out
    assert "it is on node big-cvpqs-75zr8 of group big" in out
    assert "PodDisruptionBudget data/db allows 0 evictions, the drain needs 1 [NotEnoughPdb]" in out


def test_node(explain: Explain):
    """State, utilization with its arithmetic, threshold and blockers.

    By hand from the snapshot: 50m + 700m + 500m + 500m + 100m cpu of 4, rounded up to a permille.
    """
    code, out, _ = explain("node", "c1-auto-45vz8-m4ctm-89gsd")
    assert code == 0
    assert out.startswith("node c1-auto-45vz8-m4ctm-89gsd: underutilized, group auto\n")
    assert "cpu 1.85 of 4 = 46.3%" in out
    assert "utilization: 46.3%" in out
    assert "threshold: 50%" in out


def test_group(explain: Explain):
    """Effective values with their places, owner with evidence, size with range."""
    code, out, _ = explain("group", "auto")
    assert code == 0
    assert out.startswith("group auto: MachineDeployment capi/c1-auto-45vz8, tier on-demand")
    assert "range 2..10" in out
    assert "size.max: 10 (on-demand.yaml:" in out
    assert "owner: ours" in out
    assert "A new node: allocatable 4 cpu" in out


def test_value(explain: Explain):
    """The chain in order of precedence: what is written for the group wins over the target's own annotation."""
    code, out, _ = explain("value", "auto/size.max")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "size.max of auto is 10"
    assert lines[1].startswith("  1. 10 from on-demand.yaml:")
    assert lines[1].endswith(", which wins")
    assert lines[2].startswith("  2. 6 from ")
    assert "cluster-api-autoscaler-node-group-max-size" in lines[2]


@pytest.mark.parametrize(
    ("what", "name", "says"),
    [
        ("group", "atuo", "Did you mean auto?"),
        ("value", "auto/scaleDown.uneededTime", "Did you mean auto/scaleDown.unneededTime"),
        ("node", "nothing-like-it", "There are 12: big-cvpqs-75zr8"),
        ("node", "big-cvpqs", "several names begin with it"),
        ("pod", "batch/gaint-76c5fdf9f8-9jrqj", "Did you mean batch/giant-76c5fdf9f8-9jrqj"),
    ],
)
def test_names_that_are_not_there(explain: Explain, what: str, name: str, says: str):
    """A wrong name gets a suggestion, an ambiguous one the names that it begins."""
    code, out, err = explain(what, name)
    assert (code, out) == (1, "")
    assert says in err


def test_a_beginning_is_enough(explain: Explain):
    """A prefix that only one name has stands for it."""
    assert explain("group", "fix") == explain("group", "fixed")


def captured(prefix: str) -> tuple[list[str], dict[str, str]]:
    """Pods of the snapshot itself that begin so: those without a node, and node by pod of those that run."""
    waiting, running = [], {}
    for file in QUICKSTART.glob("*pods*.json*"):
        for pod in json.loads(file.read_text())["items"]:
            key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            if key.startswith(prefix) and pod["status"]["phase"] not in ("Succeeded", "Failed"):
                if node := pod["spec"].get("nodeName"):
                    running[key] = node
                else:
                    waiting.append(key)
    return waiting, running


def test_several_pods_that_begin_so(explain: Explain):
    """Every kind that waits is answered for once, with what nodes say to it once; those that run are a count."""
    waiting, running = captured("batch/")
    assert (len(waiting), len(running)) == (14, 12)
    code, out, _ = explain("pod", "batch/")
    assert code == 0
    assert out.count("A new node of each group:") == 3, "one for each of giant, gpu and hungry"
    assert out.count("pod batch/giant-") == out.count("pod batch/gpu-") == 1
    assert "9 pods batch/hungry-*: Pending, requests 3 cpu, 6Gi memory, priority 0" in out
    assert [line for line in out.splitlines() if line.startswith("  outcome: ")] == [
        "  outcome: a new node will take it (auto)",
        "  outcome: a new node will take it (big)",
    ]
    assert f"Running, not told here: 12 pods on {len(set(running.values()))} nodes" in out
    paragraphs = [part for part in out.split("\n\n") if part.startswith("A new node")]
    assert len(set(paragraphs)) == len(paragraphs)


def test_only_pods_that_run_begin_so(explain: Explain):
    """How many, on how many nodes, and by which names to ask."""
    waiting, running = captured("shop/api")
    assert waiting == []
    code, out, _ = explain("pod", "shop/api")
    assert code == 0
    assert out.startswith(
        f"No pod that begins with shop/api waits for a node. Running: {len(running)} pods on {len(set(running.values()))} nodes"
    )


def test_several_pods_as_values(explain: Explain):
    """The other kinds beside the first; of those that run only the number. Without any that waits there is no one answer."""
    _, out, _ = explain("pod", "batch/", "-o", "json")
    document = json.loads(out)
    kinds = [document["pod"], *document["morePods"]]
    assert sorted(pod for kind in kinds for pod in (kind["pod"], *kind["alike"])) == sorted(captured("batch/")[0])
    assert (len(kinds), document["runningPods"]) == (4, 12)
    code, _, err = explain("pod", "shop/api", "-o", "json")
    assert code == 1
    assert "several names begin with it" in err
