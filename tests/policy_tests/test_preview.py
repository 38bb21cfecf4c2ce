"""A preview says how many policy tests pass: those of the change, after merging it, with the snapshots of the change."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from reconciler.cli.processes import policy_test_run

ROOT = Path(__file__).resolve().parents[2]
TESTS = "policies/tests/prod.yaml"
FAILED = (
    "2 of 3 policy tests pass. Failed: waiting batch pods get nodes (policies/tests/prod.yaml:15:35): "
    "auto has 4 nodes in this plan, expected: 7..10."
)


def git(*words: str) -> None:
    """Run git in the working directory, whatever the user's own configuration."""
    settings = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    clean = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    subprocess.run(["git", *settings, *words], check=True, capture_output=True, env=clean)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the example on branch main; branch change is checked out."""
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "policies", tmp_path / "policies")
    shutil.copytree(ROOT / "examples" / "quickstart", tmp_path / "examples" / "quickstart")
    git("init", "--quiet", "--initial-branch=main")
    git("add", "--all")
    git("commit", "--quiet", "--message=base")
    git("checkout", "--quiet", "-b", "change")
    return tmp_path


@pytest.fixture
def change(tree: Path) -> Callable[..., None]:
    """Replace a piece of a file, and commit."""

    def changed(path: str, *pairs: tuple[str, str]) -> None:
        text = (tree / path).read_text(encoding="utf-8")
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new, 1)
        (tree / path).write_text(text, encoding="utf-8")
        git("commit", "--quiet", "--all", "--message=change")

    return changed


SMALLER = ("policies/on-demand.yaml", ("size: {min: 2, max: 10}", "size: {min: 2, max: 4}"))


def preview(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Exit code and stdout of a preview of the change."""
    code = guarded(cli, ["preview", "--base", "main", "--cluster", "examples/quickstart", *words])
    return code, capsys.readouterr().out


def test_the_failing_test_is_named(tree: Path, change: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """In text, in markdown and in JSON; the exit code is that of failed tests."""
    change(*SMALLER)
    code, out = preview(capsys)
    assert (code, f"! {FAILED}\n" in out) == (4, True)
    code, out = preview(capsys, "-o", "json")
    tests = json.loads(out)["tests"]
    assert (code, [one["verdict"] for one in tests["results"]]) == (4, ["Failed", "Passed", "Passed"])
    code, out = preview(capsys, "-o", "markdown")
    assert (code, "> [!WARNING]\n> 2 of 3 policy tests pass. Failed: `waiting batch pods get nodes`\n" in out) == (4, True)
    code, out = preview(capsys, "-o", "html")
    assert (code, "2 of 3 policy tests pass." in out) == (4, True)


def test_a_harmless_change_passes(tree: Path, change: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence, and nothing to be alarmed about."""
    change("policies/prod.yaml", ("unneededTime: 10m", "unneededTime: 15m"))
    code, out = preview(capsys)
    assert (code, "\n3 of 3 policy tests pass.\n" in out) == (0, True)


def test_directories_are_previewed_alike(tree: Path, change: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """The files of the tests stay below the directory that the command runs in."""
    shutil.copytree(tree / "policies", tree / "today")
    change(*SMALLER)
    words = ["preview", "--base-dir", "today", "--head-dir", "policies", "--cluster", "examples/quickstart"]
    assert guarded(cli, words) == 4
    assert f"! {FAILED}\n" in capsys.readouterr().out


def test_the_base_is_the_policy_of_today(tree: Path, change: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """Consequences are compared with it, without any option, and whatever the test names."""
    consequences = "given: {today: ../../nowhere}\n      expect:\n        consequences: {absent: [PodsWithoutNode]}"
    change(TESTS, ('expect:\n        evictions: [{namespace: shop, max: 0}]\n        maxPricePerHour: "5.00"', consequences))
    code, out = preview(capsys)
    assert (code, "3 of 3 policy tests pass." in out) == (0, True)
    change(*SMALLER)
    code, out = preview(capsys)
    assert (code, "1 of 3 policy tests passes. " in out) == (4, True)
    assert "PodsWithoutNode: 3 more pods have nowhere to run" in out


def test_a_test_that_is_taken_away_is_told(tree: Path, change: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever breaks a test can edit it in the same change; the reviewer sees that."""
    change(
        TESTS,
        ("desired: 7..10", "desired: 1..10"),
        ("pendingPods: ..10", "pendingPods: ..20"),
        ("the shop is left alone", "the shop is mostly left alone"),
    )
    change(*SMALLER)
    code, out = preview(capsys)
    assert code == 0
    assert "3 of 3 policy tests pass. 1 test that judges this policy on main does not judge it in this PR: " in out
    assert "prod: the shop is left alone and the cost is bounded (removed). " in out
    assert "1 test that judges this policy on main does not judge it in this PR as on main: prod: waiting batch" in out
    change("policies/prod.yaml", ("unneededTime: 10m", "unneededTime: 15m"))
    (tree / TESTS).unlink()
    git("commit", "--quiet", "--all", "--message=without tests")
    code, out = preview(capsys)
    assert "\n! This PR removes all 3 policy tests: prod: " in out
    assert " 0 " not in out.partition("This PR removes all")[2].partition("\n")[0]


def test_the_only_test_is_taken_away(tree: Path, change: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """One test is not `all 1 tests`."""
    only = (tree / TESTS).read_text(encoding="utf-8").partition("    # Nine")[0]
    (tree / TESTS).write_text(f"{only}    - {{name: ten wait, expect: {{pendingPods: 10}}}}\n", encoding="utf-8")
    git("commit", "--quiet", "--all", "--message=one test")
    git("branch", "--quiet", "--force", "main")
    (tree / TESTS).unlink()
    change("policies/prod.yaml", ("unneededTime: 10m", "unneededTime: 15m"))
    code, out = preview(capsys)
    assert (code, "\n! This PR removes the only policy test: prod: ten wait.\n" in out) == (0, True)


def test_tests_of_another_policy_are_left(tree: Path, change: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """They are not about this policy, but they are still there."""
    change(TESTS, ("  policy: ..\n", "  policy: ..\n  policyName: other\n"), ("desired: 7..10", "desired: 1..10"))
    code, out = preview(capsys)
    told = "\n! This policy has no tests. 3 tests that judge this policy on main do not judge it in this PR: "
    assert (code, told in out) == (0, True)
    assert "prod: waiting batch pods get nodes (now for another policy)" in out


@pytest.mark.parametrize(("old", "new", "why"), [
    ("../../examples/quickstart", "../../nowhere", "cannot find 'nowhere'"),
    ("../../examples/quickstart", "../../../../etc", "leads out of the directory of this run"),
    ("../../examples/quickstart", "../../link", "symbolic link"),
    ("desired: 7..10", "desird: 7..10", "unknown key 'desird'"),
])  # fmt: skip
def test_what_cannot_be_run_never_passes(
    tree: Path, change: Callable[..., None], capsys: pytest.CaptureFixture[str], old: str, new: str, why: str
) -> None:
    """It is named, nothing outside is read, and the exit code says so."""
    (tree / "link").symlink_to("/etc")
    git("add", "--all")
    change(TESTS, (old, new))
    code, out = preview(capsys)
    assert code == 4
    assert re.search(r"[13] policy tests? (was|were) not run\. policies/tests/prod\.yaml:[0-9]+:[0-9]+: ", out)
    assert why in out


def test_a_directory_elsewhere_stands_for_the_policies_here(tree: Path, tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    """Its tests have the snapshots of the checkout, and files beside them are its own."""
    place = tmp_path_factory.mktemp("elsewhere") / "rendered"
    shutil.copytree(tree / "policies", place)
    text = (place / "on-demand.yaml").read_text(encoding="utf-8")
    (place / "on-demand.yaml").write_text(text.replace(*SMALLER[1]), encoding="utf-8")
    words = ["preview", "--base-dir", "policies", "--head-dir", str(place), "--cluster", "examples/quickstart", "--no-what-if"]
    assert guarded(cli, words) == 4
    assert f"! {FAILED}\n" in capsys.readouterr().out


def test_scenarios_of_a_change_are_bounded(tree: Path, change: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """A scenario of years is not begun, and a snapshot that a scenario starts from is read from the change."""
    scenario = (ROOT / "examples" / "scenarios" / "demo.yaml").read_text(encoding="utf-8")
    (tree / "examples" / "long.yaml").write_text(scenario.replace("2h30m", "87600h").replace("../quickstart", "quickstart"))
    (tree / "examples" / "short.yaml").write_text(scenario.replace("../quickstart", "quickstart").partition("  events:")[0])
    text = (tree / TESTS).read_text(encoding="utf-8").partition("    # Nine")[0]
    for name in ("long", "short"):
        text += f"    - {{name: {name}, given: {{scenario: ../../examples/{name}.yaml}}, expect: {{pendingPods: 10}}}}\n"
    (tree / TESTS).write_text(text, encoding="utf-8")
    git("add", "--all")
    git("commit", "--quiet", "--message=scenarios")
    code, out = preview(capsys)
    assert (code, "the scenario is too long for a preview" in out) == (4, True)
    assert "1 of 2 policy tests passes." in out


_SCENARIO = """\
apiVersion: simulation.reconciler.dev/v1alpha1
kind: Scenario
metadata: {name: large}
spec:
  start:
    groups: [{name: auto, nodes: 1, cpu: "4", memory: 16Gi}]
    workloads: [{name: shop/web, kind: ReplicaSet, replicas: 1, cpu: 500m, memory: 1Gi}]
  until: 10m
  events: [{at: 1m, scale: {workload: shop/web, replicas: 2}}, {at: 2m, write: {target: auto, replicas: 3, times: 4}}]
"""


def test_a_scenario_that_starts_from_itself(tree: Path, change: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """It is a problem of its test, of commits and of directories."""
    start = _SCENARIO.partition("    groups")[0]
    (tree / "policies" / "tests" / "self.yaml").write_text(f"{start}    cluster: self.yaml\n  until: 10m\n", encoding="utf-8")
    git("add", "--all")
    change(TESTS, ("cluster: ../../examples/quickstart", "scenario: self.yaml"))
    for words in (["--base", "main"], ["--base-dir", "policies", "--head-dir", "policies"]):
        assert guarded(cli, ["preview", *words, "--cluster", "examples/quickstart"]) == 4
        assert "1 policy test was not run. policies/tests/prod.yaml:" in capsys.readouterr().out


@pytest.mark.parametrize("number", ["nodes: 1", "replicas: 1", "replicas: 2", "replicas: 3", "times: 4"])
def test_what_a_change_gives_is_bounded(
    tree: Path, change: Callable[..., None], capsys: pytest.CaptureFixture[str], number: str
) -> None:
    """A billion nodes or pods are not made, wherever a scenario states them. The same for pods of several workloads together."""
    (tree / "large.yaml").write_text(_SCENARIO.replace(number, f"{number[:-1]}1000000000"), encoding="utf-8")
    text = (tree / TESTS).read_text(encoding="utf-8").partition("    # Nine")[0]
    text += "    - {name: large, given: {scenario: ../../large.yaml}, expect: {pendingPods: 10}}\n"
    (tree / TESTS).write_text(text, encoding="utf-8")
    git("add", "--all")
    git("commit", "--quiet", "--message=large")
    code, out = preview(capsys)
    assert (code, "the scenario is too large for a preview" in out) == (4, True)


def test_workloads_together_are_bounded(tree: Path, change: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """Not only each of them. A path with a NUL character is a problem of the test as well."""
    two = ", ".join(f"{{name: shop/{name}, replicas: 5001}}" for name in "ab")
    change(
        TESTS,
        ("given: {cluster: ../../examples/quickstart}", f"given: {{cluster: ../../examples/quickstart, workloads: [{two}]}}"),
    )
    code, out = preview(capsys)
    assert (code, "10002 pods cannot be added" in out) == (4, True)
    change(TESTS, (f", workloads: [{two}]", ""), ("cluster: ../../examples/quickstart", 'cluster: "a\\0b"'))
    for words in (["--base", "main"], ["--base-dir", "policies", "--head-dir", "policies"]):
        code = guarded(cli, ["preview", *words, "--cluster", "examples/quickstart"])
        assert (code, "policy tests were not run. policies/tests/prod.yaml:" in capsys.readouterr().out) == (4, True)


def test_what_all_givens_add_is_bounded(
    tree: Path, change: Callable[..., None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 200 givens may add 10,000 pods, but not all of them."""
    monkeypatch.setattr(policy_test_run, "MOST_ADDED", 25)
    text = (tree / TESTS).read_text(encoding="utf-8").partition("    # Nine")[0]
    for number in (1, 2, 3):
        given = f"{{workloads: [{{name: shop/{number}, replicas: 10}}]}}"
        text += f"    - {{name: given {number}, given: {given}, expect: {{pendingPods: ..100}}}}\n"
    (tree / TESTS).write_text(text, encoding="utf-8")
    git("commit", "--quiet", "--all", "--message=many")
    code, out = preview(capsys)
    assert (code, "2 of 3 policy tests pass." in out) == (4, True)
    assert "a preview adds at most 25 pods and nodes for all different givens together" in out
    assert guarded(cli, ["test"]) == 0


def test_without_tests_nothing_is_said(tree: Path, change: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """As before there were any."""
    shutil.rmtree(tree / "policies" / "tests")
    git("commit", "--quiet", "--all", "--message=no tests")
    git("branch", "--quiet", "--force", "main")
    change(*SMALLER)
    code, out = preview(capsys)
    assert (code, "policy test" in out) == (0, False)
