"""A made-up platform: one folder (`example_platform`) and one line, and every command knows it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

# The line that a real platform adds to `PLATFORMS`.
_LINE = 'registered_platforms.PLATFORMS += ("tests.providers.example_platform",)'
_RUN = f"from reconciler import registered_platforms\n{_LINE}\nfrom reconciler.cli.main import main\nmain()"

ROWS = {
    "TreeRows": [
        {"row": "north", "field": "valley", "wanted": 1, "least": 0, "most": 5, "trees": [{"id": "oak-1"}]},
        {"row": "south", "field": "hill", "wanted": 0, "least": 0, "most": 5},
    ]
}
POLICY = """apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec:
  discovery: [{name: rows, orchard: {field: valley}}]
"""
POD = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": "3"}}}]},
}
RUNNING = {
    "metadata": {"name": "full", "namespace": "default"},
    "spec": {**POD["spec"], "nodeName": "n1"},
    "status": {"phase": "Running"},
}


def run(*arguments: str, registered: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _RUN if registered else _RUN.replace(_LINE, "")]
    return subprocess.run([*command, *arguments], check=False, capture_output=True, text=True)


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[Path, Path]:
    """A policy that discovers rows, and a cluster of one full node that a pending pod does not fit on."""
    node = {
        "metadata": {"name": "n1", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"providerID": "orchard://oak-1"},
        "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"}, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    for kind, items in (("Node", [node]), ("Pod", [POD, RUNNING])):
        document = {"apiVersion": "v1", "kind": f"{kind}List", "items": items}
        (tmp_path / "cluster").mkdir(exist_ok=True)
        (tmp_path / "cluster" / f"{kind}.json").write_text(json.dumps(document))
    (tmp_path / "cluster" / "rows.json").write_text(json.dumps(ROWS))
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "policy.yaml").write_text(POLICY)
    return tmp_path / "policies", tmp_path / "cluster"


def test_a_row_is_discovered_and_grows(inputs: tuple[Path, Path]) -> None:
    """By its field alone; the other row is nobody's. Its machine became the node; the pod asks for another one."""
    policies, cluster = inputs
    done = run("plan", "--policy", str(policies), "--cluster", str(cluster), "-o", "json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    (group,) = plan["groups"]
    assert (group["target"], group["current"], group["desired"], group["owner"]["state"]) == (
        "TreeRow valley/north",
        1,
        2,
        "Ours",
    )
    assert group["owner"]["evidence"] == ["an orchard records nobody as the owner of a row"]
    assert [(node["node"], node["group"]) for node in plan["nodes"]] == [("n1", "north")]
    # What only Cluster API needs is not missed.
    assert not {"MachineDeployment", "Machine"} & set(plan["notCaptured"])


def test_a_group_names_a_row(inputs: tuple[Path, Path]) -> None:
    """With its keys checked; the kinds of the platform are not those of others."""
    policies, _ = inputs
    (policies / "group.yaml").write_text(
        "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: south, namespace: reconciler}\n"
        "spec:\n  policyRef: {name: prod}\n  target: {orchard: {row: south, feild: hill}}\n"
    )
    done = run("validate", str(policies))
    assert (done.returncode, "feild" in done.stdout, "field" in done.stdout) == (1, True, True)
    (policies / "group.yaml").write_text((policies / "group.yaml").read_text().replace("feild", "field"))
    assert run("validate", str(policies)).returncode == 0


def test_flags_that_name_a_row(tmp_path: Path) -> None:
    """The form of its cloud provider is the platform's own, the place is asked for, and no other platform's form is tried."""
    flags = tmp_path / "flags.txt"
    words = "--cloud-provider=orchard", "--nodes=1:4:north", "--node-group-auto-discovery=orchard:hill", "--orchard-season=autumn"
    flags.write_text(" ".join(words))
    there = ("import", str(flags), "--region", "valley")
    done = run(*there)
    assert done.returncode == 0, done.stderr
    policy, group = yaml.safe_load_all(done.stdout)
    assert policy["spec"]["discovery"] == [{"name": "imported-1", "orchard": {"field": "hill"}}]
    assert (group["spec"]["target"], group["spec"]["size"]) == (
        {"orchard": {"row": "north", "field": "valley"}},
        {"min": 1, "max": 4},
    )
    assert "not converted: --orchard-season=autumn: the calendar says it" in done.stderr
    assert "names no region" in run(*there[:2]).stderr
    assert "this build has no platform for it" in run(*there, registered=False).stderr


def test_without_the_line_it_is_unknown(inputs: tuple[Path, Path]) -> None:
    """The line is what does it: without it the same inputs are refused."""
    policies, _ = inputs
    done = run("validate", str(policies), registered=False)
    assert done.returncode == 1
    assert "orchard" in done.stdout
