"""The steps of the action and of every example, as their files have them, in a checkout that wants to be imported."""

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.gitops.hosts import TOKEN, Host, github_host, gitlab_host
from tests.security.hostile_checkout import (
    ROOT,
    Checkout,
    evaluated,
    event,
    git_environment,
    hostile_checkout,
    run_shell,
    sources,
    steps_of,
)

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runner")


@pytest.fixture(scope="module")
def checkout(place: Path) -> Checkout:
    return hostile_checkout(place)


@pytest.fixture
def github(place: Path) -> Iterator[Host]:
    with github_host() as host:
        yield host


def job(place: Path, checkout: Checkout, **inputs: str) -> dict[str, str]:
    """What expressions of the action stand for."""
    given = {name: str(value.get("default", "")) for name, value in ACTION["inputs"].items()}
    given |= {"base": given["base"].replace("${{ github.base_ref }}", "main"), "token": TOKEN, "cluster": "snapshot"} | inputs
    return {
        "runner.temp": str(place), "github.action_path": str(place / "action"), "github.workspace": str(checkout.work),
        **{f"inputs.{name}": value for name, value in given.items()},
    }  # fmt: skip


def run_step(number: int, place: Path, checkout: Checkout, host: str = "", **inputs: str) -> "subprocess.CompletedProcess[str]":
    step, values = steps_of("action.yml")[number], job(place, checkout, **inputs)
    environment = {name: evaluated(value, values) for name, value in step["env"].items()}
    environment |= {
        "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "team/policies", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_RUN_ID": "1",
        "GITHUB_API_URL": host, "GITHUB_EVENT_PATH": str(event(place)), "GITHUB_OUTPUT": str(place / "output"),
        "GITHUB_STEP_SUMMARY": str(place / "summary"),
    }  # fmt: skip
    cwd = evaluated(step.get("working-directory", str(checkout.work)), values)
    return run_shell(step["run"], Path(cwd), environment)


@pytest.fixture(scope="module")
def installed(place: Path, checkout: Checkout) -> Path:
    """The Python that the action's own first step leaves."""
    sources(place)
    done = run_step(0, place, checkout)
    assert done.returncode == 0, done.stderr
    return place / "reconciler" / "bin" / "python"


@pytest.mark.parametrize(
    "command",
    ["python3 -m venv ../elsewhere", "python3 -m pip --version", "python3 -c 'import click'", "python3 -m reconciler --help"],
)
def test_the_checkout_is_hostile(tmp_path: Path, command: str):
    """What was done once, in the checkout and not isolated, runs what lies there: the trap works."""
    checkout = hostile_checkout(tmp_path)
    run_shell(command, checkout.work, {})
    assert not checkout.unmarked()


def test_the_action_installs_without_the_checkout(checkout: Checkout, installed: Path):
    """Its first step leaves the product, of its own sources, and no mark."""
    shown = subprocess.run(
        [installed, "-I", "-c", "import reconciler; print(reconciler.__file__)"], capture_output=True, text=True, check=False
    )
    assert shown.stdout.startswith(str(installed.parents[1]))
    assert checkout.unmarked()


def test_the_action_previews_without_the_checkout(place: Path, checkout: Checkout, installed: Path, github: Host):
    """Its second step writes the comment, with the token, and nothing of the change has run."""
    done = run_step(1, place, checkout, github.url)
    assert done.returncode == 0, done.stderr
    assert "general" in github.comments[0]["body"]
    assert checkout.unmarked()


def test_the_gitlab_job_runs_without_the_checkout(place: Path, checkout: Checkout, installed: Path):
    """Its script, line by line, with the Python of the image."""
    jobs = yaml.safe_load((ROOT / "examples" / "ci" / "gitlab.yml").read_text())
    work = jobs["node-groups"]
    shared = jobs[work["extends"]]["variables"]
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=checkout.work, env=git_environment(), capture_output=True, text=True, check=True
    ).stdout.strip()
    with gitlab_host() as host:
        environment = {
            **shared, **work["variables"], "RECONCILER_PYTHON": str(installed), "GITLAB_CI": "true", "CI_PROJECT_ID": "42",
            "CI_MERGE_REQUEST_IID": "7", "CI_PIPELINE_ID": "5", "CI_SERVER_URL": host.url, "GITLAB_TOKEN": TOKEN,
            "CI_PROJECT_DIR": str(checkout.work), "CI_COMMIT_SHA": commit, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        }  # fmt: skip
        done = run_shell("\n".join(work["script"]), checkout.work, environment)
        assert done.returncode == 0, done.stderr
        assert "general" in host.comments[0]["body"]
    assert checkout.unmarked()


def test_the_pre_commit_hook_runs_without_the_checkout(checkout: Checkout, installed: Path):
    """pre-commit starts it in the checkout, with the programs of its own environment in front."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    words = [*shlex.split(hook["entry"]), *hook["args"]]
    path = f"{installed.parent}:{os.environ['PATH']}"
    program = str(installed.parent / words[0])
    done = subprocess.run(
        [program, *words[1:]], cwd=checkout.work, env={"PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "3 files, 1 policy, 2 groups: no problems" in done.stdout
    assert checkout.unmarked()


def test_what_is_saved_does_not_follow_a_planted_link(place: Path, checkout: Checkout, installed: Path, tmp_path: Path):
    """A neighbour under the name of the half-written file, or the file itself, is no way to write elsewhere."""
    target = tmp_path / "target"
    target.write_text("kept")
    out = tmp_path / "out"
    out.mkdir()
    for name in (".preview.json.part", "preview.json"):
        (out / name).symlink_to(target)
    words = [
        "--repo",
        str(checkout.work),
        "--base",
        "refs/remotes/origin/main",
        "--cluster-in-base",
        "snapshot",
        "--out",
        str(out / "preview.json"),
    ]
    done = subprocess.run(
        [installed, "-I", "-m", "reconciler", "preview", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert target.read_text() == "kept"
    assert (out / "preview.json").read_text().startswith("{")
