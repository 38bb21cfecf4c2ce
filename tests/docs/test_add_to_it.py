"""What `docs/how-to/add-to-it.md` says is enough: its exercises are carried out on a copy of the project.

A platform has a test of its own (`tests/providers/test_example_platform.py`): one folder and one line.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
A_FIELD = {
    "reconciler/policy/documents/group_fields.py": (
        "    unneeded_time_seconds: Annotated[\n",
        """    amd64_utilization_threshold_percent: Annotated[
        int | Missing, Key("The same for nodes of the architecture amd64.", 70, default=50)
    ] = NOT_WRITTEN
""",
    ),
    "reconciler/decisions/removal/utilization.py": (
        "    settings = group.scale_down\n",
        """    if ("kubernetes.io/arch", "amd64") in shape.labels:
        return group.scale_down.amd64_utilization_threshold_percent
""",
    ),
}
AN_EXPANDER = {
    "reconciler/policy/documents/node_group_policy.py": ('    MOST_PODS = "MostPods"\n', '    MOST_CPU = "MostCpu"\n'),
    "reconciler/decisions/growth/expanders.py": (
        "    Expander.MOST_PODS: _Rule(",
        """    Expander.MOST_CPU: _Rule(
        lambda option: Fraction(-option.shape.capacity.cpu_milli),
        lambda option, _: f"{option.shape.capacity.cpu_milli} cpu milli",
    ),
""",
    ),
}
A_RULE = {
    "reconciler/policy/documents/group_fields.py": (
        "    without_machines: Annotated[\n",
        """    max_unneeded_nodes: Annotated[
        int | None, Key("How many nodes may be unneeded at a time. If omitted, any number.", 5, unit="nodes", loosens=Loosens.UP)
    ] = None
""",
    ),
    "reconciler/decisions/removal/keeps.py": (
        "OF_REMOVALS: tuple",
        """class EnoughUnneeded(KeepsNode, frozen=True, kw_only=True):
    \"\"\"As many nodes of the group are unneeded as may be.\"\"\"

    code = "EnoughUnneeded"
    max: int

    template = "scaleDown.maxUnneededNodes is {max}"


def _enough_unneeded(one: RemovalAsked) -> KeepsNode | None:
    most = one.group.group.scale_down.max_unneeded_nodes
    return None if most is None or one.so_far.gone[one.group.position] < most else EnoughUnneeded(max=most)


""",
    ),
}
ITS_ROW = {
    "reconciler/decisions/removal/keeps.py": (
        "    Keep(GroupGrows,",
        "    Keep(EnoughUnneeded, Ends.REMOVALS, PLAN, _enough_unneeded),\n",
    )
}
PROD = "policies/prod.yaml"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project without its history."""
    project = tmp_path / "project"
    for name in ("reconciler", "docs", "schemas", "policies", "examples/quickstart"):
        shutil.copytree(ROOT / name, project / name, ignore=shutil.ignore_patterns("__pycache__"))
    # A page of the reference shows these figures.
    figures = Path("tests/benchmarks/history.json")
    (project / figures.parent).mkdir(parents=True)
    shutil.copy(ROOT / figures, project / figures)
    return project


def edit(project: Path, edits: dict[str, tuple[str, str]]) -> None:
    """Each edit puts a text before the only place that reads so."""
    for name, (before, added) in edits.items():
        path = project / name
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1, name
        path.write_text(text.replace(before, added + before), encoding="utf-8")


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=project, capture_output=True, text=True, check=False)


def plan(project: Path) -> dict[str, Any]:
    done = run(project, "-m", "reconciler", "plan", "--policy", "policies", "--cluster", "examples/quickstart", "-o", "json")
    assert done.returncode in (0, 2), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def underutilized(project: Path) -> list[str]:
    return [node["node"] for node in plan(project)["nodes"] if node["state"] == "Underutilized"]


def test_a_field_that_changes_a_threshold(copy: Path) -> None:
    """Two files: the attribute with its key, the decision that reads it. Everything else follows."""
    assert len(A_FIELD) <= 2
    assert underutilized(copy)
    edit(copy, A_FIELD)
    generated = run(copy, "-m", "docs.generator")
    assert generated.returncode == 0, generated.stderr
    for name in ("schemas/policy.schema.json", "docs/reference/policy.md", "schemas/crds/nodegroups.reconciler.dev.yaml"):
        assert "amd64UtilizationThresholdPercent" in (copy / name).read_text(encoding="utf-8"), name
    assert underutilized(copy), "the built-in value is that of the general threshold"
    path = copy / PROD
    text = path.read_text(encoding="utf-8")
    assert text.count("    scaleDown:\n") == 1
    path.write_text(
        text.replace("    scaleDown:\n", "    scaleDown:\n      amd64UtilizationThresholdPercent: 0\n"), encoding="utf-8"
    )
    assert run(copy, "-m", "reconciler", "validate", "policies").returncode == 0
    assert underutilized(copy) == []
    value = "auto/scaleDown.amd64UtilizationThresholdPercent"
    told = run(copy, "-m", "reconciler", "explain", "value", value, "--policy", "policies", "--cluster", "examples/quickstart")
    assert "0%" in told.stdout, told
    assert "prod.yaml:" in told.stdout
    refused = copy / "refused.yaml"
    refused.write_text(path.read_text(encoding="utf-8").replace("ThresholdPercent: 0", "ThresholdPercent: 101"), encoding="utf-8")
    assert "amd64UtilizationThresholdPercent" in run(copy, "-m", "reconciler", "validate", str(refused)).stdout


def test_an_expander(copy: Path) -> None:
    """Two files: its name, its rule."""
    assert len(AN_EXPANDER) <= 2
    edit(copy, AN_EXPANDER)
    path = copy / PROD
    text = path.read_text(encoding="utf-8")
    assert text.count("expanders:") == 1, text
    lines = ["  expanders: [MostCpu]" if line.strip().startswith("expanders:") else line for line in text.splitlines()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    reasons = [action["reason"]["message"] for action in plan(copy)["actions"] if action["kind"] == "Resize"]
    assert any("MostCpu" in reason for reason in reasons), reasons


def test_a_rule_that_keeps_a_node_and_its_field(copy: Path) -> None:
    """Two files: the attribute with its key, the reason with its rule and row. A number that nobody writes is no limit."""

    def kept() -> list[str]:
        return [node["node"] for node in plan(copy)["nodes"] if "EnoughUnneeded" in [one["code"] for one in node["blockers"]]]

    assert len(A_RULE.keys() | ITS_ROW.keys()) <= 2
    candidates = underutilized(copy)
    edit(copy, A_RULE)
    edit(copy, ITS_ROW)
    generated = run(copy, "-m", "docs.generator")
    assert generated.returncode == 0, generated.stderr
    for name in ("schemas/policy.schema.json", "docs/reference/policy.md"):
        assert "maxUnneededNodes" in (copy / name).read_text(encoding="utf-8"), name
    row = next(line for line in (copy / "docs/reference/reasons.md").read_text("utf-8").splitlines() if "EnoughUnneeded" in line)
    assert "when other nodes leave" in row
    assert kept() == []
    told = ("-m", "reconciler", "explain", "value", "auto/scaleDown.maxUnneededNodes", "--policy", "policies")
    assert "no limit" in run(copy, *told, "--cluster", "examples/quickstart").stdout
    path = copy / PROD
    written = path.read_text(encoding="utf-8").replace("    scaleDown:\n", "    scaleDown:\n      maxUnneededNodes: 0\n")
    path.write_text(written, encoding="utf-8")
    assert kept()
    assert set(kept()) <= set(candidates)
