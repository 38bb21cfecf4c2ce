"""No change silences a policy test unseen: a preview compares the tests that judge a policy on main and in the change."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import yaml

from reconciler.cli.inputs.preview_tests import CommittedFiles, read_change_tests
from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded

ROOT = Path(__file__).resolve().parents[2]
TEST = "policies/tests/prod.yaml"
WAITING, LEFT_ALONE = "waiting batch pods get nodes", "the shop is left alone and the cost is bounded"
SPOT = "pods that tolerate spot nodes get spot nodes"
SMALLER = ("size: {min: 2, max: 10}", "size: {min: 2, max: 4}")


@pytest.fixture
def sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example twice: `main` and `change`, each with its policies and its snapshot."""
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(tmp_path)
    for side in ("main", "change"):
        shutil.copytree(ROOT / "policies", tmp_path / side / "policies")
        shutil.copytree(ROOT / "examples" / "quickstart", tmp_path / side / "examples" / "quickstart")
    return tmp_path


def lost(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, str], dict[str, object]]:
    """The exit code, why each test of main does not judge any more, and the preview."""
    words = words or ("--base-dir", "main/policies", "--head-dir", "change/policies")
    code = guarded(cli, ["preview", *words, "--cluster", "main/examples/quickstart", "-o", "json"])
    out, err = capsys.readouterr()
    assert out, err
    document = json.loads(out)
    return code, {one["name"]: one["why"] for one in (document["tests"] or {}).get("lost", [])}, document


def replace(path: Path, old: str, new: str) -> None:
    """One piece of a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def without_a_pod(snapshot: Path) -> None:
    """Remove the last pod of a snapshot."""
    pods = json.loads((snapshot / "pods.json").read_text(encoding="utf-8"))
    pods["items"] = pods["items"][:-1]
    (snapshot / "pods.json").write_text(json.dumps(pods), encoding="utf-8")


def _another_name(change: Path) -> None:
    replace(change / TEST, "  policy: ..\n", "  policy: ..\n  policyName: nobody\n")


def _nowhere(change: Path) -> None:
    replace(change / TEST, "  policy: ..\n", "  policy: nowhere\n")


def _renamed_policy(change: Path) -> None:
    replace(change / TEST, "  policy: ..\n", "  policy: ..\n  policyName: prod\n")
    replace(change / "policies" / "prod.yaml", "name: prod", "name: prod2")
    for file in (change / "policies").glob("*.yaml"):
        file.write_text(file.read_text().replace("policyRef: {name: prod}", "policyRef: {name: prod2}"))


def _moved(change: Path) -> None:
    (change / "elsewhere").mkdir()
    (change / TEST).rename(change / "elsewhere" / "prod.yaml")


@pytest.mark.parametrize(("silence", "why"), [
    (_another_name, "JudgesAnother"), (_nowhere, "JudgesAnother"), (_renamed_policy, "JudgesAnother"), (_moved, "Removed"),
])  # fmt: skip
def test_each_way_to_silence_all_is_told(
    sides: Path, capsys: pytest.CaptureFixture[str], silence: Callable[[Path], None], why: str
) -> None:
    """It is a warning, and in the headline where nothing graver is."""
    replace(sides / "change" / "policies" / "on-demand.yaml", *SMALLER)
    silence(sides / "change")
    _, found, document = lost(capsys)
    assert found == {WAITING: why, LEFT_ALONE: why, SPOT: why}
    graded = {one["code"]: one["grade"] for one in document["consequences"]}  # type: ignore[attr-defined]
    assert graded["TestsLost"] == "warning"


def test_a_change_of_tests_alone_is_in_the_headline(sides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing else differs; it is not `No effect`."""
    _nowhere(sides / "change")
    _, _, document = lost(capsys)
    assert document["headline"] == "3 policy tests of main do not judge it as before, no decision changes"
    assert document["changed"] is True
    digest = document["digest"]
    (sides / "change" / TEST).write_bytes((sides / "main" / TEST).read_bytes())
    assert lost(capsys)[2]["digest"] != digest


def test_a_decoy_of_the_same_name_hides_nothing(sides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A weakened test is told by its file, although the strong one is somewhere else, where it judges nothing."""
    change = sides / "change"
    (change / "policies" / "zz").mkdir()
    text = (change / TEST).read_text(encoding="utf-8").replace("policy: ..", "policy: nowhere")
    (change / "policies" / "zz" / "decoy.yaml").write_text(text, encoding="utf-8")
    replace(change / TEST, "desired: 7..10", "desired: 1..10")
    _, found, _ = lost(capsys)
    assert found == {WAITING: "Edited"}


def test_a_name_twice_is_an_error(sides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a preview and in `reconciler test`: a report could show one for the other."""
    change = sides / "change"
    (change / "policies" / "tests" / "again.yaml").write_bytes((change / TEST).read_bytes())
    code, found, document = lost(capsys)
    assert (code, found) == (4, {})
    assert "is taken by the test at " in document["tests"]["notRun"][0]  # type: ignore[index]
    assert guarded(cli, ["test", "change/policies"]) == 1
    assert "is taken by the test at " in capsys.readouterr().err


def test_another_snapshot_is_another_test(sides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same words about another cluster judge something else. The same cluster stored otherwise is the same."""
    assert lost(capsys)[:2] == (0, {})
    without_a_pod(sides / "change" / "examples" / "quickstart")
    _, found, _ = lost(capsys)
    assert found == {WAITING: "InputChanged", LEFT_ALONE: "InputChanged", SPOT: "InputChanged"}


def _no_snapshot(change: Path) -> None:
    shutil.rmtree(change / "examples")


def _names_nothing(change: Path) -> None:
    replace(change / TEST, "../../examples/quickstart", "../../nowhere")


@pytest.mark.parametrize("missing", [_no_snapshot, _names_nothing])
def test_a_missing_snapshot_is_told_once(
    sides: Path, capsys: pytest.CaptureFixture[str], missing: Callable[[Path], None]
) -> None:
    """The tests are not run, which fails. That they do not judge as before needs no second sentence."""
    missing(sides / "change")
    code, found, document = lost(capsys)
    assert (code, set(found.values())) == (4, {"NotRun"})
    assert document["headline"] == "3 policy tests of main were not run, no decision changes"
    words = ("--base-dir", "main/policies", "--head-dir", "change/policies", "--cluster", "main/examples/quickstart")
    assert guarded(cli, ["preview", *words]) == 4
    (told,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("! ")]
    assert told.startswith("! 3 policy tests were not run. change/policies/tests/prod.yaml:")
    assert "judge this policy" not in told


def test_a_moved_test_that_judges_alike_is_not_told(sides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files may be put in order."""
    change = sides / "change"
    (change / "policies" / "checks").mkdir()
    (change / TEST).rename(change / "policies" / "checks" / "other.yaml")
    assert lost(capsys)[:2] == (0, {})


def test_an_input_is_read_once_for_all_tests() -> None:
    """Not once for each test that names it."""
    read: list[str] = []

    class Files(CommittedFiles):
        def digest(self, path: str) -> str:
            read.append(path)
            return f"digest of {path}"

    head = "apiVersion: test.reconciler.dev/v1alpha1\nkind: PolicyTest\nmetadata: {name: many}\nspec:\n  tests:\n"
    body = "".join(f"    - {{name: t{n}, given: {{cluster: s{n % 2}}}, expect: {{pendingPods: {n}}}}}\n" for n in range(200))
    tests = read_change_tests({"tests.yaml": (head + body).encode()})
    tests = msgspec.structs.replace(tests, files=Files({}))
    judging = list(tests.judging(tests.texts, fleet=False))
    assert [one.inputs for one in judging[:2]] == [("digest of s0",), ("digest of s1",)]
    assert (len(judging), read) == (200, ["s0", "s1"])


def git(*words: str) -> None:
    """Run git in the working directory, whatever the user's own configuration."""
    settings = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    clean = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    subprocess.run(["git", *settings, *words], check=True, capture_output=True, env=clean)


def test_inputs_of_commits_are_compared(sides: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot in the repository, which the change replaces."""
    shutil.rmtree(sides / "change")
    monkeypatch.chdir(sides / "main")
    git("init", "--quiet", "--initial-branch=main")
    git("add", "--all")
    git("commit", "--quiet", "--message=base")
    git("checkout", "--quiet", "-b", "change")
    without_a_pod(Path("examples/quickstart"))
    git("commit", "--quiet", "--all", "--message=change")
    monkeypatch.chdir(sides)
    _, found, _ = lost(capsys, "--repo", "main", "--base", "main", "--head", "change")
    assert set(found.values()) == {"InputChanged"}


def test_directories_by_absolute_paths_run_the_tests(sides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the action names them. Until now no test ran then."""
    replace(sides / "change" / "policies" / "on-demand.yaml", *SMALLER)
    for base, head in (("main/policies", sides / "change/policies"), (sides / "main/policies", sides / "change/policies")):
        code, found, document = lost(capsys, "--base-dir", str(base), "--head-dir", str(head))
        verdicts = [one["verdict"] for one in document["tests"]["results"]]  # type: ignore[index]
        assert (code, found, verdicts) == (4, {}, ["Failed", "Passed", "Passed"])


def test_the_action_runs_the_tests_of_directories(sides: Path) -> None:
    """The script of the action itself, with this program in the place of the one that it installs."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    replace(sides / "change" / "policies" / "on-demand.yaml", *SMALLER)
    program, runner = sides / "target" / "bin" / "python", sides / "runner"
    program.parent.mkdir(parents=True)
    runner.mkdir()
    python = ROOT / ".venv" / "bin" / "python"
    program.write_text(f'#!/bin/sh\nshift; exec "{python}" "$@"\n')
    program.chmod(0o755)
    (sides / ".git").mkdir()
    given = dict.fromkeys(action["runs"]["steps"][1]["env"], "") | {
        "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "GITHUB_OUTPUT": str(sides / "out"), "TARGET": str(sides / "target"),
        "REPOSITORY": str(sides), "BASE_DIR": "main/policies", "HEAD_DIR": "change/policies", "COMMENT": "false",
        "CLUSTER": str(sides / "main" / "examples" / "quickstart"),
    }  # fmt: skip
    script = ["bash", "-euo", "pipefail", "-c", action["runs"]["steps"][1]["run"]]
    done = subprocess.run(script, env=given, cwd=runner, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 4, done.stderr
    assert "2 of 3 policy tests pass. Failed: waiting batch pods get nodes" in done.stdout.replace("\n  ", " ")
