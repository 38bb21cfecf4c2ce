"""`import` names every flag of the Cluster Autoscaler that it does not convert, with the reason of the published table."""

import csv
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reconciler.cli.main import cli
from reconciler.importers.conversion import settings_elsewhere
from reconciler.importers.flag_reasons import WHY_NOT

DOCS = Path(__file__).resolve().parents[3] / "docs"
with (DOCS / "generator" / "cluster_autoscaler_flags.csv").open(encoding="utf-8", newline="") as _file:
    FLAGS = {row["name"]: row["example"] or row["default"] for row in csv.DictReader(_file)}


def _rows() -> dict[str, tuple[str, str]]:
    """Flag -> what it becomes, and why not, as the committed page has them: no code under test made these."""
    page = (DOCS / "reference" / "cluster-autoscaler-flags.md").read_text(encoding="utf-8")
    cells = [[cell.strip() for cell in re.sub(r"^\| | \|$", "", line).split(" |")] for line in page.splitlines()]
    return {row[0].strip("`-"): (row[2], row[4]) for row in cells if row[0].startswith("`--")}


ROWS = _rows()


def imported(tmp_path: Path, text: str) -> Result:
    file = tmp_path / "flags.txt"
    file.write_text(text)
    words = ["import", str(file), "--region", "eu-central-1"]
    result = CliRunner().invoke(cli, words, prog_name="reconciler", standalone_mode=False)
    assert result.exception is None, result.exception
    return result


def test_the_table_has_every_flag() -> None:
    """Rows of the page are read here by their form: none may be missed."""
    assert set(ROWS) == set(FLAGS)
    assert len(FLAGS) == 150


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_is_converted_or_named_with_its_reason(tmp_path: Path, flag: str) -> None:
    """On stderr and in the comments of the policy."""
    result = imported(tmp_path, f"--{flag}={FLAGS[flag]}\n")
    here, why = ROWS[flag]
    if here:
        assert why == ""
        assert result.stderr == ""
        assert f"# from --{flag}={FLAGS[flag]}" in result.stdout
    else:
        assert result.stderr == f"not converted: --{flag}={FLAGS[flag]}: {why}\n"
        assert why in " ".join(result.stdout.replace("\n  # ", " ").split())


@pytest.mark.parametrize("flag", ["--no-such-flag", "--scale-down-unneeded-tmie"])
def test_a_flag_of_no_release_is_unknown(tmp_path: Path, flag: str) -> None:
    """It may be a slip, or of a later release: it is named, and nothing is made up."""
    notes = imported(tmp_path, f"--max-nodes-total=9 {flag}=7\n").stderr
    assert notes == f"not converted: {flag}=7: it is unknown: the Cluster Autoscaler 1.36 has no such flag\n"


def test_a_reason_stands_in_one_place() -> None:
    """A flag that an option of a command is like has no second reason, and the table names no other flag."""
    assert set(WHY_NOT) <= set(FLAGS)
    assert set(WHY_NOT) & set(settings_elsewhere()) == set()


OPENSHIFT = {
    "maxPodGracePeriod: 600": "max-graceful-termination-sec",
    "logVerbosity: 4": "v",
    "enforceNodeGroupMinSize: true": "enforce-node-group-min-size",
    "scaleDown: {cordonNodeBeforeTerminating: Enabled}": "cordon-node-before-terminating",
    "scaleDown: {unreadyEnabled: true}": "scale-down-unready-enabled",
    "maxBulkSoftTaintCount: 3": "max-bulk-soft-taint-count",
    "scaleDown: {candidatesPoolRatio: '0.1'}": "scale-down-candidates-pool-ratio",
}


@pytest.mark.parametrize("setting", OPENSHIFT)
def test_a_setting_of_openshift_has_the_reason_of_its_flag(tmp_path: Path, setting: str) -> None:
    """One table tells both, as the committed page has it."""
    done = imported(tmp_path, f"kind: ClusterAutoscaler\nspec:\n  podPriorityThreshold: -10\n  {setting}\n")
    assert done.stderr.endswith(f": {ROWS[OPENSHIFT[setting]][1]}\n")


def test_an_unknown_setting_of_openshift(tmp_path: Path) -> None:
    """It says so, and where the setting of the flag by that name would go."""
    text = "kind: ClusterAutoscaler\nspec: {podPriorityThreshold: -10, some: {new: 3}, scaleDown: {unreadyTime: 3m}}\n"
    told = imported(tmp_path, text).stderr.splitlines()
    unknown = "it is unknown: its object has no such setting"
    assert told == [
        f"not converted: spec.some.new=3: {unknown}",
        f"not converted: spec.scaleDown.unreadyTime=3m: {unknown}. Write spec.defaults.scaleDown.unreadyTime",
    ]
