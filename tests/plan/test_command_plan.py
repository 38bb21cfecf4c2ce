"""`reconciler plan` as scripts use it."""

import hashlib
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded

ROOT = Path(__file__).resolve().parents[2]
QUICKSTART = ROOT / "examples" / "quickstart"
POLICY = "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: NAME}\nspec: {currency: EUR}\n"


class Result(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `reconciler plan …` in an empty directory."""
    monkeypatch.chdir(tmp_path)

    def call(*argv: object) -> Result:
        code = guarded(cli, ["plan", *(str(word) for word in argv)])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


def test_text_by_default(run: Run):
    """Data on stdout, nothing on stderr, the summary last but for the digest."""
    result = run("--cluster", QUICKSTART, "--no-settled")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[0] == "cluster c1 · policy default · mode Observe (nothing is written)"
    assert re.match(r"(Plan: |No changes)", result.out.splitlines()[-2])
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", result.out.splitlines()[-1])
    assert max(len(line) for line in result.out.splitlines()) <= 100


def test_policies_directory_is_the_default(run: Run, tmp_path: Path):
    """`policies/` in the working directory is read; an empty one is as good as none."""
    (tmp_path / "policies").mkdir()
    assert run("--cluster", QUICKSTART, "--no-settled").out.startswith("cluster c1 · policy default ")
    (tmp_path / "policies" / "a.yaml").write_text(POLICY.replace("NAME", "mine"))
    assert run("--cluster", QUICKSTART, "--no-settled").out.startswith("cluster c1 · policy mine ")


def test_several_policies_need_a_name(run: Run, tmp_path: Path):
    """Without `--name` the error lists them; with it that one is taken; a wrong one lists them again."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(POLICY.replace("NAME", name))
    result = run("--cluster", QUICKSTART, "--policy", tmp_path)
    assert (result.code, result.out) == (1, "")
    assert "--name (one, two)" in result.err
    assert run("--cluster", QUICKSTART, "--policy", tmp_path, "--name", "two", "--no-settled").out.startswith(
        "cluster c1 · policy two "
    )
    assert "holds one, two" in run("--cluster", QUICKSTART, "--policy", tmp_path, "--name", "three").err


def test_policy_errors_are_printed_as_validate_does(run: Run, tmp_path: Path):
    """Place, caret and hint on stderr, nothing on stdout, exit code 1."""
    (tmp_path / "bad.yaml").write_text(POLICY.replace("currency", "curency"))
    result = run("--policy", tmp_path / "bad.yaml", "--cluster", QUICKSTART)
    assert (result.code, result.out) == (1, "")
    assert f"{tmp_path / 'bad.yaml'}:4:8: error: unknown key 'curency' in spec" in result.err
    assert "^^^^^^^" in result.err
    assert "did you mean currency" in result.err


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "--cluster PATH takes a snapshot"),
        (["--cluster", "nowhere"], "nowhere"),
        (["--cluster", QUICKSTART, "--policy", "nowhere"], "nowhere: no such file or directory"),
        (["--cluster", QUICKSTART, "--now", "yesterday"], "--now: invalid instant 'yesterday': not RFC 3339"),
        (["--cluster", QUICKSTART, "--name", "x"], "Name the policy files with --policy"),
        (["--cluster", QUICKSTART, "-o", "yaml"], "'yaml' is not one of 'text', 'markdown', 'json', 'html'"),
        (["--cluster", QUICKSTART, "--work-budget", "0"], "0 is not in the range"),
    ],
)
def test_wrong_usage(run: Run, argv: list[object], says: str):
    """One sentence that says what is wrong, exit code 1, no output."""
    result = run(*argv)
    assert (result.code, result.out) == (1, "")
    assert says in result.err


def test_json_to_stdout_and_file(run: Run, tmp_path: Path):
    """`-o json` and `--out` write the same plan, and the same bytes each time."""
    out = tmp_path / "plan.json"
    first = run("--cluster", QUICKSTART, "-o", "json", "--out", out)
    again = run("--cluster", QUICKSTART, "-o", "json")
    assert first.out == again.out == out.read_text(encoding="utf-8")
    assert json.loads(first.out)["formatVersion"] == "1.0"
    assert list(tmp_path.iterdir()) == [out]


def test_out_that_cannot_be_written(run: Run, tmp_path: Path):
    """The plan is not printed as if it had been saved."""
    result = run("--cluster", QUICKSTART, "--no-settled", "--out", tmp_path / "no" / "plan.json")
    assert (result.code, result.out) == (1, "")
    assert "--out" in result.err


def test_detailed_exitcode(run: Run):
    """2 with changes, 0 without, and only when asked; the default policy on the snapshot has a group to grow."""
    assert run("--cluster", QUICKSTART, "--no-settled").code == 0
    assert run("--cluster", QUICKSTART, "--no-settled", "--detailed-exitcode").code == 2


def test_detailed_exitcode_without_changes(run: Run, tmp_path: Path):
    """A policy that takes no target has nothing to do."""
    (tmp_path / "a.yaml").write_text(POLICY.replace("NAME", "none"))
    result = run("--cluster", QUICKSTART, "--policy", tmp_path / "a.yaml", "--no-settled", "--detailed-exitcode")
    assert result.code == 0
    assert "No changes, " in result.out


def test_now_moves_the_clock(run: Run):
    """The instant that is asked for is the plan's; without it the snapshot's own newest one."""
    document = json.loads(run("--cluster", QUICKSTART, "-o", "json", "--no-settled", "--now", "2027-01-02T03:04:05Z").out)
    assert document["now"] == "2027-01-02T03:04:05Z"


def test_settled_column(run: Run):
    """With it every group has a settled size; with `--no-settled` none has, and the digests differ."""
    with_it = json.loads(run("--cluster", QUICKSTART, "-o", "json").out)
    without = json.loads(run("--cluster", QUICKSTART, "-o", "json", "--no-settled").out)
    assert all(isinstance(group["settled"], int) for group in with_it["groups"])
    assert all(group["settled"] is None for group in without["groups"])
    assert with_it["digest"] != without["digest"]


@pytest.mark.parametrize("options", [[], ["--no-settled"]])
def test_digest_is_that_of_the_printed_plan(run: Run, options: list[str]):
    """Anybody can check it: SHA-256 of the sorted compact JSON with `now`, `digest` and `pods` emptied, followed by that of
    the pods: of lines in a row that differ in the pod alone the first, and all names."""
    document = json.loads(run("--cluster", QUICKSTART, "-o", "json", *options).out)

    def alike(line: dict[str, object]) -> dict[str, object]:
        return {key: value for key, value in line.items() if key != "pod"}

    runs = [list(lines) for _, lines in itertools.groupby(document["pods"], key=alike)]
    parts = (document | {"now": "", "digest": "", "pods": []}, [[lines[0], [line["pod"] for line in lines]] for lines in runs])
    text = "".join(json.dumps(part, sort_keys=True, separators=(",", ":"), ensure_ascii=False) for part in parts)
    assert document["digest"] == "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def test_stats(run: Run):
    """One line of JSON on stderr, stdout as without it."""
    result = run("--cluster", QUICKSTART, "--no-settled", "--stats")
    (line,) = result.err.splitlines()
    stats = json.loads(line)
    assert {"load", "decide", "render", "peakMemoryMiB"} <= set(stats)
    nodes = json.loads((QUICKSTART / "nodes.json").read_text(encoding="utf-8"))["items"]
    pods = json.loads((QUICKSTART / "pods.json").read_text(encoding="utf-8"))["items"]
    assert (stats["nodes"], stats["pods"]) == (len(nodes), len(pods))
    assert result.out == run("--cluster", QUICKSTART, "--no-settled").out


def test_places_are_relative_to_the_policy_root(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The same tree read from two working directories gives the same bytes."""
    one = run("--cluster", QUICKSTART, "--policy", ROOT / "policies", "-o", "json", "--no-settled").out
    monkeypatch.chdir(ROOT)
    assert run("--cluster", "examples/quickstart", "--policy", "policies", "-o", "json", "--no-settled").out == one
