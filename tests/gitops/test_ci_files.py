"""The action, the pre-commit hook and the CI examples: no third-party code, no inputs in scripts, options that exist."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from reconciler.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
GITLAB = yaml.safe_load((ROOT / "examples" / "ci" / "gitlab.yml").read_text())
GITHUB = yaml.safe_load((ROOT / "examples" / "ci" / "github.yml").read_text())

GITHUB_TUNE = yaml.safe_load((ROOT / "examples" / "ci" / "github-tune.yml").read_text())
GITLAB_TUNE = yaml.safe_load((ROOT / "examples" / "ci" / "gitlab-tune.yml").read_text())


def options(command: str) -> set[str]:
    """The options of a command."""
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    return {name for parameter in found.params for name in parameter.opts}


def named(script: str) -> set[str]:
    """Long options in a script."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", script))


def test_action_puts_no_expression_into_a_script():
    """What a pull request can name reaches the shell only through the environment, quoted."""
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
        for name in step["env"]:
            assert not re.search(rf'(?<!")(?<!=)\${name}\b(?!")', re.sub(r'"[^"]*"', "", step["run"])), name


def test_action_uses_no_other_action():
    """Nothing to pin but the action itself."""
    assert ACTION["runs"]["using"] == "composite"
    assert not [step for step in ACTION["runs"]["steps"] if "uses" in step]


def test_action_names_options_that_exist():
    """The preview of the action is a command that this version has, and every input is used."""
    script = ACTION["runs"]["steps"][1]
    assert named(script["run"]) <= options("preview") | options("previewer")
    used = " ".join(script["env"].values())
    assert set(re.findall(r"inputs\.([a-z-]+)", used)) == set(ACTION["inputs"])


def test_outputs_of_the_action_are_written():
    """Each output is one that the preview or the script writes."""
    named_here = {re.search(r"outputs\.([a-z-]+)", output["value"])[1] for output in ACTION["outputs"].values()}  # type: ignore[index]
    assert named_here == {"has-changes", "digest", "summary", "comment-url", "preview-json-path"}


def _words(tmp_path: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """The script of the action with a program that writes its words down, one a line."""
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nfor word; do printf "%s\\n" "$word"; done\n')
    program.chmod(0o755)
    given = dict.fromkeys(ACTION["runs"]["steps"][1]["env"], "") | {
        "PATH": "/usr/bin:/bin",
        "GITHUB_OUTPUT": str(tmp_path / "out"),
    }
    given |= {"TARGET": str(tmp_path), "REPOSITORY": "/w", "BASE": "b", "HEAD": "HEAD", "POLICY_PATH": "policies", **inputs}
    command = ["bash", "-euo", "pipefail", "-c", ACTION["runs"]["steps"][1]["run"]]
    return subprocess.run(command, env=given, capture_output=True, text=True, check=False)


def test_action_previews_a_fleet(tmp_path: Path):
    """Every published snapshot, and one comment about all of them."""
    words = _words(tmp_path, CLUSTER_REF="refs/x", FLEET="true", COMMENT="true").stdout.splitlines()
    assert words[-3:] == ["--cluster-ref=refs/x", "--fleet", "--comment"]


def test_action_takes_rendered_directories(tmp_path: Path):
    """In place of revisions and of a place in the repository; relative ones are below the checkout."""
    done = _words(tmp_path, BASE_DIR="/tmp/rendered/base", HEAD_DIR="out/head", CLUSTER_REF="refs/x")
    words = done.stdout.splitlines()
    assert {"--base-dir=/tmp/rendered/base", "--head-dir=/w/out/head", "--cluster-ref=refs/x"} <= set(words)
    assert not [word for word in words if word.startswith(("--base=", "--head=", "--path="))]


@pytest.mark.parametrize(("inputs", "why"), [
    ({"BASE_DIR": "a", "CLUSTER_REF": "refs/x"}, "head-dir"), ({"HEAD_DIR": "a", "CLUSTER_REF": "refs/x"}, "base-dir"),
    ({"BASE_DIR": "a", "HEAD_DIR": "b", "CLUSTER": "snapshots"}, "cluster-ref"),
])  # fmt: skip
def test_action_refuses_half_of_it(tmp_path: Path, inputs: dict[str, str], why: str):
    """One directory alone, or a snapshot at a base that nobody names."""
    done = _words(tmp_path, **inputs)
    assert done.returncode != 0
    assert why in done.stderr


@pytest.mark.parametrize("published", [False, True])
def test_action_script_runs(tmp_path: Path, published: bool):
    """The script with hostile inputs: each arrives as one word, nothing is expanded."""
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done > {tmp_path}/words\n')
    program.chmod(0o755)
    hostile = f"$(touch {tmp_path}/CANARY); `touch {tmp_path}/CANARY` * --head=x"
    environment = {
        "TARGET": str(tmp_path), "REPOSITORY": "/w s", "BASE": hostile, "HEAD": "HEAD",
        "POLICY_PATH": "p q", "CLUSTER": "-x", "POLICY_NAME": "",
        "CLUSTER_REF": hostile if published else "", "CLUSTER_NAME": hostile if published else "",
        "BASE_DIR": "", "HEAD_DIR": "", "COMMENT": "true", "STATUS": "true", "APPROVALS": f"{hostile}\n\nwarning=a,@b/c",
        "COMMENT_KEY": hostile, "RENEW": "false", "FLEET": "",
        "GITHUB_OUTPUT": str(tmp_path / "out"), "PATH": "/usr/bin:/bin",
    }  # fmt: skip
    subprocess.run(["bash", "-euo", "pipefail", "-c", ACTION["runs"]["steps"][1]["run"]], env=environment, check=True)
    words = (tmp_path / "words").read_text().split("\0")[:-1]
    assert words == [
        "-I", "-m", "reconciler", "preview", "--repo=/w s",
        f"--base={hostile}", "--head=HEAD", "--path=p q", f"--out={tmp_path}/preview.json",
        *([f"--cluster-ref={hostile}", f"--cluster-name={hostile}"] if published else ["--cluster-in-base=-x"]),
        "--comment", "--status", f"--approval={hostile}", "--approval=warning=a,@b/c", f"--comment-key={hostile}",
    ]  # fmt: skip
    assert not (tmp_path / "CANARY").exists()


def test_action_renews_what_is_open(tmp_path: Path):
    """On a push: one round over the open pull requests. The token is in a file of its own for as long as it runs."""
    import subprocess

    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done > {tmp_path}/words\nstat -c %a {tmp_path}/token\n')
    program.chmod(0o755)
    environment = {
        "TARGET": str(tmp_path), "REPOSITORY": "/w s", "BASE": "", "HEAD": "HEAD", "POLICY_PATH": "p q", "CLUSTER": "snap shot",
        "POLICY_NAME": "", "CLUSTER_REF": "", "CLUSTER_NAME": "$(prod)", "COMMENT": "true", "COMMENT_KEY": "", "RENEW": "true",
        "GITHUB_TOKEN": "secret", "GITHUB_API_URL": "https://api", "GITHUB_REPOSITORY": "a/b", "GITHUB_SERVER_URL": "https://host",
        "GITHUB_REF_NAME": "main", "GITHUB_OUTPUT": str(tmp_path / "out"), "PATH": "/usr/bin:/bin",
    }  # fmt: skip
    script = ["bash", "-euo", "pipefail", "-c", ACTION["runs"]["steps"][1]["run"]]
    done = subprocess.run(script, env=environment, check=True, capture_output=True, text=True)
    assert (done.stdout, (tmp_path / "token").exists()) == ("600\n", False)
    words = (tmp_path / "words").read_text().split("\0")[:-1]
    assert words[:5] == ["-I", "-m", "reconciler", "previewer", "--once"]
    assert {word.partition("=")[0] for word in words[4:]} <= options("previewer")
    assert set(words) > {
        "--repository=a/b", "--git=https://host/a/b", "--branch=main", "--path=p q", "--cluster=/w s/snap shot",
        "--cluster-name=$(prod)", "--forks=never",
    }  # fmt: skip
    assert "secret" not in " ".join(words)
    for missing in ("CLUSTER", "CLUSTER_NAME"):
        failed = subprocess.run(script, env=environment | {missing: ""}, check=False, capture_output=True, text=True)
        assert (failed.returncode != 0, "renew needs cluster" in failed.stderr) == (True, True)


def test_pre_commit_hook():
    """The keys that pre-commit needs; the entry is a command of ours, over the whole tree and one at a time."""
    (hook,) = HOOKS
    assert {"id", "name", "entry", "language"} <= set(hook)
    assert shlex.split(hook["entry"]) == ["python", "-I", "-m", "reconciler", "validate"]
    assert (hook["pass_filenames"], hook["require_serial"]) == (False, True)
    assert [bool(re.search(hook["files"], name)) for name in ("policies/a.yaml", "a.yml", "a.json", "README.md")] == [
        True, True, True, False,
    ]  # fmt: skip


def test_gitlab_example():
    """Its previews have options that exist, run for every merge request and for what moves below; the image is pinned."""
    for name, command in (("node-groups", "preview"), ("node-groups-renew", "previewer")):
        job = GITLAB[name]
        script = "\n".join(job["script"])
        assert named(script.partition(f"reconciler {command} ")[2]) <= options(command)
        assert not any("changes" in rule for rule in job["rules"])
        assert job["extends"] == ".node-groups"
    assert GITLAB["node-groups"]["rules"] == [{"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'}]
    assert GITLAB["node-groups"]["variables"] == {"GIT_DEPTH": "0"}
    shared = GITLAB[".node-groups"]
    assert shared["image"]["name"] == "$RECONCILER_IMAGE"
    assert re.search("@sha256:[0-9a-f]{64}$", shared["variables"]["RECONCILER_IMAGE"])


def test_github_example():
    """Least rights, actions by commit id, never on a target that would give a fork's change a token; no filter on paths, which
    ends at 300 files; a pull request that goes into another branch, a queue and what is pushed to the branch each start it."""
    assert GITHUB["permissions"] == {}
    assert GITHUB[True] == {
        "pull_request": {"types": ["opened", "synchronize", "reopened", "edited"]},
        "pull_request_review": {"types": ["submitted", "dismissed"]},
        "merge_group": None,
        "push": {"branches": ["main"]},
    }  # fmt: skip
    conditions = {name: job["if"] for name, job in GITHUB["jobs"].items()}
    assert conditions == {"preview": "github.event_name != 'push'", "renew": "github.event_name == 'push'"}
    for job in GITHUB["jobs"].values():
        steps = job["steps"]
        assert all(re.search("@[0-9a-f]{40}$", step["uses"]) for step in steps)
        assert set(steps[1]["with"]) <= set(ACTION["inputs"])
        more = {"statuses": "write"} if job is GITHUB["jobs"]["preview"] else {}
        assert job["permissions"] == {"contents": "read", "pull-requests": "write", **more}
    assert GITHUB["jobs"]["preview"]["steps"][0]["with"]["fetch-depth"] == 0


def test_weekly_searches():
    """Their commands exist. The job that runs our image has no token. Nothing is opened without a proposal."""
    search, propose = GITHUB_TUNE["jobs"]["tune"]["steps"][1:]
    assert named(search["run"].partition("reconciler tune ")[2]) <= options("tune")
    assert "TOKEN" not in str(search)
    assert "--network none" in search["run"]
    assert propose["if"] == "steps.search.outputs.proposed == 'true'"
    assert GITHUB_TUNE["permissions"] == {}
    assert re.search("@[0-9a-f]{40}$", GITHUB_TUNE["jobs"]["tune"]["steps"][0]["uses"])
    assert re.search("@sha256:[0-9a-f]{64}$", GITHUB_TUNE["jobs"]["tune"]["env"]["IMAGE"])
    search, propose = GITLAB_TUNE["node-groups-search"], GITLAB_TUNE["node-groups-propose"]
    assert named("\n".join(search["script"]).partition("reconciler tune ")[2]) <= options("tune")
    assert "TOKEN" not in str(search)
    assert re.search("@sha256:[0-9a-f]{64}$", propose["image"]["name"])
    assert propose["script"][0] == "test -f request.md || exit 0"


@pytest.mark.parametrize(("code", "proposed"), [(0, "false"), (2, "true"), (1, None)])
def test_a_weekly_search_tells_a_proposal_from_a_failure(tmp_path: Path, code: int, proposed: str | None):
    """By the exit code of `tune --detailed-exitcode`; any other one fails the job."""
    program = tmp_path / "docker"
    program.write_text(f"#!/bin/sh\nexit {code}\n")
    program.chmod(0o755)
    out = tmp_path / "out"
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "RUNNER_TEMP": str(tmp_path), "IMAGE": "image"}
    environment |= {"GITHUB_OUTPUT": str(out), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    script = ["bash", "-euo", "pipefail", "-c", GITHUB_TUNE["jobs"]["tune"]["steps"][1]["run"]]
    done = subprocess.run(script, env=environment, cwd=tmp_path, check=False)
    assert (done.returncode == 0) == (proposed is not None)
    assert (out.read_text() if out.exists() else None) == (f"proposed={proposed}\n" if proposed else None)


EXAMPLES = tuple(f"examples/ci/{name}.yml" for name in ("gitlab", "github", "gitlab-tune", "github-tune"))


SCHEMAS = {
    "github.yml": "github-workflows", "github-tune.yml": "github-workflows", "gitea.yml": "github-workflows",
    "gitlab.yml": "gitlab-ci", "gitlab-tune.yml": "gitlab-ci", "bitbucket-pipelines.yml": "bitbucket-pipelines",
    "azure-pipelines.yml": "azure-pipelines", "github-report.yml": "github-workflows", "gitlab-report.yml": "gitlab-ci",
    "bitbucket-report.yml": "bitbucket-pipelines", "azure-report.yml": "azure-pipelines",
}  # fmt: skip


def accepted(path: Path, schema: str) -> bool:
    """By the schema of the host. Every proxy is a closed port: nothing is fetched."""
    closed = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", path]
    if schema in ("gitlab-ci", "azure-pipelines"):
        words += ["--data-transform", schema]
    return subprocess.run(words, env=os.environ | closed, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(("name", "schema"), SCHEMAS.items())
def test_hosts_take_their_examples(tmp_path: Path, name: str, schema: str):
    """Each file; not the same with a step that is a number, which shows that something is looked at."""
    path = ROOT / "examples" / "ci" / name
    assert accepted(path, schema)
    broken = tmp_path / name
    broken.write_text(
        re.sub(r"(?m)^( *)(steps|script|step):.*$", r"\1\2: 5", path.read_text(), count=1).split(": 5")[0] + ": 5\n"
    )
    assert not accepted(broken, schema)


def test_every_example_is_checked():
    assert {path.name for path in (ROOT / "examples" / "ci").iterdir()} == set(SCHEMAS)


@pytest.mark.parametrize("name", ["gitea.yml", "bitbucket-pipelines.yml", "azure-pipelines.yml"])
def test_commands_of_other_hosts(name: str):
    """Their options exist; they keep a comment and a status; the image is pinned; nothing runs in the checkout."""
    text = (ROOT / "examples" / "ci" / name).read_text()
    assert named(text.partition("reconciler preview ")[2]) <= options("preview")
    assert {"--comment", "--status", "--cluster-in-base"} <= named(text)
    assert re.search("@sha256:[0-9a-f]{64}", text)
    assert re.search(r"cd /tmp\n", text)


@pytest.mark.parametrize("path", ["action.yml", ".pre-commit-hooks.yaml", *EXAMPLES])
def test_files_are_plain_yaml(path: str):
    """One document, no tags."""
    assert len(list(yaml.safe_load_all((ROOT / path).read_text()))) == 1
