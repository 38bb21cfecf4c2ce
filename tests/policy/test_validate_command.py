"""`reconciler validate` as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reconciler.cli.commands.plan import command as plan
from reconciler.cli.commands.validate import command
from tests.policy.texts import POLICY, group

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory `policies/` with one policy in the current directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "prod.yaml").write_text(POLICY)
    return tmp_path / "policies"


def _run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(command, list(arguments), input=stdin, prog_name="reconciler validate")


def test_no_problems(policies: Path) -> None:
    """Exit code 0 and a summary; the default path is policies/."""
    result = _run()
    assert (result.exit_code, result.stdout) == (0, "1 file, 1 policy, 0 groups: no problems\n")


def _cloud(policies: Path) -> None:
    """A group and an item of discovery in a cloud, beside a group of the cluster itself."""
    tags = "{region: eu-central-1, tags: {team: a}}"
    discovering = POLICY.replace("spec: {}", f"spec:\n  discovery: [{{name: eks, aws: {tags}}}]")
    here = "clusterAPI: {kind: MachineDeployment, namespace: prod, name: a}"
    assert here in group("a")
    of_aws = group("a").replace(here, "aws: {autoScalingGroup: a, region: eu-central-1}")
    (policies / "prod.yaml").write_text(f"{discovering}{of_aws}{group('b')}")


UNREAD = (
    "1 group (a) and 1 discovery item (eks) name targets of which none was read. A snapshot must contain them, "
    "and a live command must be able to list them"
)


def test_a_note_says_of_which_cloud_nobody_asked(policies: Path) -> None:
    """In the words of `plan`, with its code; no problem of the policy, also with --strict."""
    _cloud(policies)
    result = _run("--strict")
    assert (result.exit_code, result.stdout) == (0, "1 file, 1 policy, 2 groups: no problems\n")
    assert result.stderr == f"note: TargetsNotRead: aws: {UNREAD}\n"
    report = json.loads(_run("-o", "json").stdout)
    assert report["notes"] == [{"code": "TargetsNotRead", "object": "aws", "message": UNREAD}]


def test_plan_says_the_same_of_a_group_that_nobody_asked_for(policies: Path) -> None:
    """Its own problem, from a snapshot without any group of AWS: code, object and sentence are those of the note."""
    _cloud(policies)
    nodes = policies.parent / "nodes.json"
    nodes.write_text('{"apiVersion": "v1", "kind": "NodeList", "items": []}')
    told = CliRunner().invoke(
        plan, ["--policy", str(policies), "--cluster", str(nodes), "--now", "2026-11-22T00:00:00Z", "-o", "json"]
    )
    problems = [one for one in json.loads(told.stdout)["problems"] if one["object"] == "aws"]
    alone = UNREAD.replace(" and 1 discovery item (eks) name", " names")
    assert problems == [{"code": "TargetsNotRead", "object": "aws", "message": alone}]


def test_problems(policies: Path) -> None:
    """Exit code 1, every problem with a path that can be opened from here, and a summary."""
    (policies / "team").mkdir()
    (policies / "team" / "a.yaml").write_text(group("a", "  sizes: {}\n  tier: x\n"))
    result = _run()
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "policies/team/a.yaml:8:3: error: unknown key 'sizes' in spec [UnknownField]"
    assert any(line.startswith("policies/team/a.yaml:9:3: error: unknown tier 'x'") for line in lines)
    assert lines[-1] == "2 files, 1 policy, 1 group: 2 errors"


def test_warnings_fail_only_when_strict(policies: Path) -> None:
    """An expired hold is printed; with --strict it fails."""
    (policies / "a.yaml").write_text(group("a", '  hold: {reason: x, until: "2020-01-01T00:00:00Z"}\n'))
    assert _run().exit_code == 0
    assert "[ExpiredHold]" in _run().stdout
    assert _run("--strict").exit_code == 1


def test_neighbours_are_counted_and_named(policies: Path) -> None:
    """What lies beside a policy is no problem of it; --verbose names each, -o json too."""
    (policies / "kustomization.yaml").write_text("resources: [prod.yaml]\n")
    (policies / "secrets.yaml").write_text("apiVersion: v1\nkind: Secret\n")
    (policies / "link.yaml").symlink_to("/etc/hostname")
    result = _run()
    skipped = "1 document of other kinds and 2 files that are no policy skipped"
    assert (result.exit_code, result.stdout) == (0, f"3 files, 1 policy, 0 groups ({skipped}): no problems\n")
    assert result.stderr == ""
    named = _run("--verbose").stderr.splitlines()
    assert [line.split(": ")[1] for line in named] == [f"policies/{name}.yaml" for name in ("kustomization", "link", "secrets")]
    report = json.loads(_run("-o", "json").stdout)
    assert [(one["file"], one["code"]) for one in report["neighbours"]] == [
        ("policies/kustomization.yaml", "NoKind"), ("policies/link.yaml", "SymbolicLink"), ("policies/secrets.yaml", "OtherKind"),
    ]  # fmt: skip


def test_standard_input(policies: Path) -> None:
    """`-` reads one text, called stdin.yaml in messages."""
    result = _run("-", stdin="kind: x\n")
    assert result.exit_code == 1
    assert result.stdout.startswith("stdin.yaml:1:1: error: apiVersion is missing")
    assert _run("-", stdin=POLICY).exit_code == 0


@pytest.mark.parametrize(("output", "begin"), [("json", "{"), ("sarif", "{"), ("github", "::error file=policies/a.yaml,")])
def test_other_formats_leave_stdout_to_the_data(policies: Path, output: str, begin: str) -> None:
    """The summary goes to stderr; the exit code is the same."""
    (policies / "a.yaml").write_text("kind: NodeGroup\n")
    result = _run("-o", output)
    assert result.exit_code == 1
    assert result.stdout.startswith(begin)
    assert result.stderr == "2 files, 1 policy, 0 groups: 1 error\n"
    if begin == "{":
        json.loads(result.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("missing",), "missing: no such file or directory"), (("empty",), "no .yaml, .yml or .json file in empty")],
)
def test_wrong_usage_is_explained(policies: Path, arguments: tuple[str, ...], message: str) -> None:
    """One sentence on stderr, exit code 1."""
    (policies.parent / "empty").mkdir()
    result = _run(*arguments)
    assert result.exit_code == 1
    assert result.stderr == f"error: {message}\n"


def test_a_missing_default_directory_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside a repository with policies, the message says what to give."""
    monkeypatch.chdir(tmp_path)
    result = _run()
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "error: no directory policies/ here. Name a file or directory: reconciler validate PATH\n"


def test_help_has_examples() -> None:
    """Help shows how it is called."""
    result = _run("--help")
    assert result.exit_code == 0
    assert "kustomize build overlays/prod | reconciler validate -" in result.stdout


_TESTS = "1 document of other kinds skipped"


def test_the_reference_policies_are_clean_through_the_real_command() -> None:
    """`reconciler validate --strict` on this repository's own policies/, as a process."""
    done = subprocess.run(
        [sys.executable, "-m", "reconciler", "validate", "--strict", "policies"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"4 files, 1 policy, 4 groups ({_TESTS}): no problems\n", "")


def test_validating_loads_neither_templates_nor_clients() -> None:
    """What only other commands need stays unloaded, so that checking stays quick."""
    code = (
        "import sys; from reconciler.cli.main import cli; cli(['validate', 'policies'], standalone_mode=False);"
        "heavy = {'kubernetes', 'boto3', 'git', 'jsonschema', 'asyncio', 'reconciler.decisions'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"
