"""Incidents of other autoscalers, as scenario files: what went wrong there does not happen here."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from reconciler.cli.commands.run import command
from tests.scenarios.documents import ScenarioFileError, read_decision
from tests.scenarios.expectations import Play

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*.yaml"))
OVER_TIME = [path for path in FILES if "kind: Scenario" in path.read_text()]
DECISIONS = [path for path in FILES if path not in OVER_TIME]

SMALL = """\
incident: 12
title: two replicas, minimum four
given: {groups: [{name: general, nodes: 2, spec: {size: {min: 4, max: 9}}}]}
steps: [{then: {groups: {general: {desired: 4}}}}]
"""


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_decisions(path):
    """Every plan of the scenario says what it must."""
    assert Play(path.name, read_decision(path)).differences() == []


@pytest.mark.parametrize("path", OVER_TIME, ids=lambda path: path.stem)
def test_over_time(path):
    """The loop in virtual time ends as the scenario expects, with no rule broken on the way."""
    result = CliRunner().invoke(command, ["--simulate", str(path)], standalone_mode=False)
    assert result.return_value == 0, result.output


def _differences(tmp_path, old, new):
    assert old in SMALL
    path = tmp_path / "small.yaml"
    path.write_text(SMALL.replace(old, new))
    return Play(path.name, read_decision(path)).differences()


def test_unmet_expectation_is_told(tmp_path):
    """A wrong number in a scenario is a difference with its step."""
    expected = ["step 1 at 0s: group general: desired is 4, expected 5"]
    assert _differences(tmp_path, "desired: 4", "desired: 5") == expected


def test_missing_reason_is_told(tmp_path):
    """A code that the plan does not give is a difference, and those that it gives are shown."""
    (text,) = _differences(tmp_path, "desired: 4", "reasons: [AtMaxSize]")
    assert "AtMaxSize is missing among ['BelowMin'" in text


def test_action_that_differs_is_told(tmp_path):
    """The complete list of actions is compared."""
    (text,) = _differences(tmp_path, "groups: {general: {desired: 4}}", "actions: []")
    assert "('Resize', 'general', 2, 4, (), 'BelowMin')" in text


def test_unknown_key_names_file_and_key(tmp_path):
    """A typing error is told with the file and the key, not passed over."""
    with pytest.raises(ScenarioFileError, match=r"small\.yaml.*unknown field `node`.*given\.groups"):
        _differences(tmp_path, "nodes: 2", "node: 2")


def test_unknown_policy_key_is_told_by_the_policy_reader(tmp_path):
    """What stands under `spec` is a real policy, read by the product."""
    with pytest.raises(ScenarioFileError, match=r"small\.yaml: step 1: .*maxx.*did you mean"):
        _differences(tmp_path, "max: 9", "maxx: 9")


def test_expectation_that_a_line_cannot_have(tmp_path):
    """`outcome` is for pods."""
    with pytest.raises(ScenarioFileError, match="outcome: such a line has only by, desired"):
        _differences(tmp_path, "desired: 4", "outcome: FitsExisting")


def test_node_that_is_not_there(tmp_path):
    """A pod on a node that nobody has is a typing error."""
    with pytest.raises(
        ScenarioFileError, match=r"small\.yaml: step 1: given\.pods web: no node 'general-9', there are general-1"
    ):
        _differences(tmp_path, "}}}]}", "}}}], pods: [{name: web, node: general-9}]}")


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_file_name_begins_with_the_incident(path):
    """So that a folder listing is a list of incidents, and of weaknesses by their number."""
    number = read_decision(path).incident
    assert path.name.startswith((f"{number:02}-", f"weakness_{number}_"))


def test_example_of_the_readme(tmp_path):
    """What the README shows can be played as it stands."""
    path = tmp_path / "12-example.yaml"
    path.write_text((FOLDER / "README.md").read_text().split("```yaml\n")[1].split("```")[0])
    assert Play(path.name, read_decision(path)).differences() == []
