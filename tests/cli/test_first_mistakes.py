"""What a newcomer gets wrong first: the answer names what is there and what to do, and never offers what does not help."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from reconciler.cli.outputs.terminal import text_width

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = ("--cluster", str(ROOT / "examples/quickstart"))
POLICY = ("--policy", str(ROOT / "policies"))


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _refusal(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """What the command says on stderr when it refuses."""
    code = guarded(cli, [str(word) for word in words])
    told = capsys.readouterr()
    assert (code, told.out) == (1, "")
    return told.err


def test_a_workload_with_letters_exchanged_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """The hash behind a pod's name does not keep it from being suggested."""
    assert "Did you mean batch/giant-76c5fdf9f8-" in _refusal(capsys, "explain", "pod", "batch/gaint", *POLICY, *CLUSTER)


def test_of_many_names_the_rest_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """The quickstart has 91 pods; ten are shown."""
    assert _refusal(capsys, "explain", "pod", "xyz", *POLICY, *CLUSTER).endswith(" and 81 more.\n")


def test_an_empty_name_asks_for_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Every name begins with nothing; the four groups are listed."""
    told = _refusal(capsys, "explain", "group", "", *POLICY, *CLUSTER)
    assert told == "error: name a group. There are 4: spot, auto, big, fixed\n"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "the file is empty: the capture failed"),
        (
            b"just text",
            "neither a Kubernetes object nor a list of them. A snapshot is the output of `kubectl get … -o json` or -o yaml",
        ),
        (b"[1, 2]", "a list of something other than Kubernetes objects. Pass the complete output, without --query and jq"),
    ],
)
def test_a_yaml_file_that_is_no_snapshot_is_called_so(
    body: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not "it does not say when it was taken", and no words of the decoder."""
    file = tmp_path / "cluster.yaml"
    file.write_bytes(body)
    assert _refusal(capsys, "plan", *POLICY, "--cluster", file) == f"error: {file}: {said}\n"


@pytest.mark.parametrize("files", [0, 1])
def test_policies_without_a_policy_say_how_to_get_one(files: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty directory, and one whose only file holds objects of others."""
    if files:
        (tmp_path / "other.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", encoding="utf-8")
    found = "no NodeGroupPolicy in 1 file" if files else "no policy files"
    told = _refusal(capsys, "plan", "--policy", tmp_path, *CLUSTER)
    assert told == f"error: {tmp_path}: {found}. `reconciler init --out DIR` writes a first policy from the existing objects\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "a directory. Name the file that `reconciler plan --out FILE` wrote"),
        ("none.json", "no such file. `reconciler plan --out {path}` writes one"),
        ("empty.json", "the file is empty: make a new plan with `reconciler plan --out`"),
    ],
)
def test_a_plan_that_is_none_is_told_apart(name: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A directory, nothing, and an empty file."""
    (tmp_path / "empty.json").touch()
    path = tmp_path / name if name else tmp_path
    assert _refusal(capsys, "apply", path) == f"error: {path}: {said.format(path=path)}\n"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("plan",), True),
        (("doctor", "--context", "prod"), True),
        (("status",), False),
        (("hold", "--all", "--reason", "x"), False),
        (("snapshot", "--out", "new"), False),
    ],
)
def test_a_snapshot_is_offered_only_where_it_is_taken(
    words: tuple[str, ...], offered: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    """Commands that write to a cluster, or read what only a live one has, know no `--cluster` snapshot."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    assert ("--cluster PATH" in _refusal(capsys, *words)) is offered


def test_init_names_the_cluster_for_the_next_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line can be run as it stands, against what was read."""
    out = tmp_path / "first policies"
    assert guarded(cli, ["init", *CLUSTER, "--out", str(out)]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == f"next: reconciler plan --policy '{out}' --cluster {CLUSTER[1]}"


def test_a_reader_that_goes_away_is_no_failure() -> None:
    """`reconciler schema crds | head -1`: more than a pipe holds is written, to nobody; no message, exit code 0."""
    command = [sys.executable, "-m", "reconciler", "schema", "crds"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.close()
        assert running.stderr is not None
        assert (running.stderr.read(), running.wait()) == (b"", 0)


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("40", 60), ("200", 200), ("", 100)])
def test_text_fits_a_narrow_terminal(columns: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are broken at what COLUMNS says, and not below 60."""
    monkeypatch.setenv("COLUMNS", columns)
    assert text_width(_Terminal()) == width


def test_a_pipe_gets_the_same_text_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared or kept does not depend on the window in which it was made, unless COLUMNS says so."""
    monkeypatch.delenv("COLUMNS", raising=False)
    assert text_width(io.StringIO()) == 100
