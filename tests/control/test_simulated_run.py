"""Scenarios of the project run through the real loop in virtual time and end as they say."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from reconciler.cli.commands.run import command

SCENARIOS = Path(__file__).parents[2] / "examples" / "scenarios"


def _run(*arguments: str):
    return CliRunner().invoke(command, arguments, standalone_mode=False)


def _scenario(name: str, *arguments: str):
    return _run("--simulate", str(SCENARIOS / f"{name}.yaml"), *arguments)


@pytest.mark.parametrize("name", sorted(path.stem for path in SCENARIOS.glob("*.yaml")))
def test_expectations_are_met_and_no_rule_is_broken(name):
    """Exit code 0 means that every expectation holds; the summary counts no violation."""
    result = _scenario(name)
    assert result.return_value == 0, result.output
    assert re.search(r"violations\s+0\n", result.output)


def test_output_repeats_exactly():
    """Two runs of one scenario print the same."""
    assert _scenario("burst-and-fall", "-o", "json").output == _scenario("burst-and-fall", "-o", "json").output


def test_slow_devices_are_bought_once():
    """Two jobs, two GPUs a node: one node for them and one for the third job, whatever the plugin's delay."""
    lines = [line for line in _scenario("slow-gpu").output.splitlines() if "> resize" in line]
    assert [re.search(r"gpu \d -> \d", line)[0] for line in lines] == ["gpu 0 -> 1", "gpu 1 -> 2"]


def test_held_groups_are_never_written():
    """The topology's group appears in no action."""
    actions = [line for line in _scenario("topology-hold").output.splitlines() if " > " in line]
    assert actions
    assert not any(line.split()[3] == "fixed" for line in actions)


def test_lower_tier_serves_what_the_upper_one_cannot():
    """Spot is asked first, on-demand after five minutes without a machine."""
    lines = [line for line in _scenario("out-of-stock").output.splitlines() if "> resize" in line]
    assert [(line.split()[0], line.split()[3]) for line in lines[:2]] == [("+00:02:00", "spot"), ("+00:07:10", "on-demand")]


def test_unmet_expectation_is_told_and_fails(tmp_path):
    """Exit code 1 and a sentence."""
    text = (SCENARIOS / "slow-gpu.yaml").read_text().replace("{name: gpu, nodes: 0}", "{name: gpu, nodes: 7}")
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    result = _run("--simulate", str(path))
    assert result.return_value == 1
    assert "gpu has 0 nodes at the end instead of 7" in result.output


def test_until_shortens_the_run():
    """Ten minutes of virtual time end before the load falls."""
    result = _scenario("burst-and-fall", "--until", "10m", "-o", "json")
    assert '"seconds": 600' in result.output


def test_event_that_names_nothing_is_told_with_its_place(tmp_path):
    """A misspelt target is found before anything runs."""
    text = (SCENARIOS / "topology-hold.yaml").read_text().replace('hold: {target: free, reason: ""}', "hold: {target: fre}")
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    result = _run("--simulate", str(path))
    assert result.exit_code == 1
    assert "unknown target 'fre' at the start" in result.output
    assert re.search(r"wrong\.yaml:\d+:\d+", result.output)


def test_missing_scenario_is_told():
    """A path that is not there."""
    assert "nowhere.yaml: no such file" in str(_run("--simulate", "nowhere.yaml").exception)
