"""Every command runs from a wheel in an empty folder: the examples of its help, on what `reconciler example` writes."""

import json
import re
import shlex
import shutil
from pathlib import Path

import click
import pytest

from reconciler.cli.main import COMMANDS, cli
from tests.wheel.conftest import Installed

# What needs a cluster, a host or a program of others. These examples are run on real ones elsewhere (tests/live, tests/docs).
_ELSEWHERE = re.compile(
    r"--context|--live|--cluster-ref|^reconciler plan$|https://|--custom-res|--flux-s|\bkubectl\b|\boc\b|\bhelm\b|\bkustomize\b"
)
_NEED_A_CLUSTER = ("snapshot", "hold", "status", "previewer", "init")
# Names that examples make up, and what they stand for in the packaged example.
_NAMES = (
    ("batch/giant-0", "batch/giant"), ("general-a-x7k2p", "c1-fixed-bq6lz-rdw9z-x8677"), ("general-a", "big"),
    ("--group 'gpu-*'", "--group 'a*'"), ("'gpu-*'", "'c1-*'"),
    ("--until 24h", "--until 1h"), ("~/", "home/"), ("${fpath[1]}", "home"), ("snapshot --comment", "snapshot"),
    ("--out policies/", "--out imported/"),
    ("reconciler example &&", "mkdir fresh && cd fresh && reconciler example &&"),
)  # fmt: skip


def examples(name: str) -> list[str]:
    """The lines below `Examples:` in the help of a command that need nothing but files."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    _, _, below = (command.help or "").partition("Examples:")
    lines = [line.strip() for line in below.strip().splitlines()]
    return [line for line in lines if line and not _ELSEWHERE.search(line) and f"reconciler {name}" in line]


OFFLINE = [(name, line) for name in COMMANDS for line in examples(name) if name not in _NEED_A_CLUSTER]


@pytest.fixture(scope="module")
def filled(installed: Installed) -> Installed:
    """The packaged example, and what else the examples name: a repository with a branch, a tag, snapshots, flags."""
    folder = installed.folder
    done = installed.shell("reconciler example")
    assert done.returncode == 0, done.stderr
    shutil.copytree(folder / "examples" / "quickstart", folder / "snapshot")
    for name in ("one", "two"):
        shutil.copytree(folder / "examples" / "quickstart", folder / "captures" / name)
    later = folder / "captures" / "two" / "snapshot.yaml"
    later.write_text(re.sub(r"(capturedAt: .*T\d\d):\d\d:", r"\1:59:", later.read_text()))
    shutil.copytree(folder / "snapshot", folder / "snapshot.json.gz")
    shutil.copytree(folder / "policies", folder / "changed")
    shutil.copytree(folder / "policies", folder / "clusters" / "prod")
    for side in ("main", "change"):
        shutil.copytree(folder / "policies", folder / "rendered" / side)
    shutil.copy(folder / "examples" / "traces" / "pool-28.csv", folder / "curve.csv")
    (folder / "home" / ".config" / "fish" / "completions").mkdir(parents=True)
    (folder / "ca.yaml").write_text("--scale-down-unneeded-time=5m\n--expander=priority\n")
    priorities = {
        "kind": "ConfigMap",
        "metadata": {"name": "cluster-autoscaler-priority-expander"},
        "data": {"priorities": "10: [.*]"},
    }
    (folder / "priority-expander.yaml").write_text(json.dumps(priorities))
    git = "git -c user.name=a -c user.email=a@example.org -c commit.gpgsign=false -c init.defaultBranch=main"
    done = installed.shell(
        f"git init -q -b main . && git add policies clusters snapshot && {git} commit -qm policy && git tag v1.4 && git tag v1.5"
        f" && git update-ref refs/remotes/origin/main HEAD && git update-ref refs/remotes/origin/snapshots HEAD"
        f" && {git} commit -q --allow-empty -m 'change'"
    )
    assert done.returncode == 0, done.stderr
    return installed


def test_it_is_the_wheel_that_runs(installed: Installed, packages: Path) -> None:
    """Not the checkout, which is installed in place beside it."""
    where = installed.shell("reconciler example kept && ls kept")
    assert where.stdout.split() == ["examples", "policies"]
    assert list(packages.glob("nodegroup_reconciler-*.dist-info"))
    assert (packages / "reconciler" / "cli" / "packaged" / "example.tar.gz").is_file()


def test_the_demonstration_needs_no_file(installed: Installed) -> None:
    """`run --simulate` in an empty folder, to its end and with its expectations met."""
    done = installed.shell("mkdir bare && cd bare && reconciler run --simulate && ls -A")
    assert done.returncode == 0, done.stderr
    assert "violations  0" in done.stdout.splitlines()[-1]


def test_help(installed: Installed) -> None:
    """Every command is there and explains itself."""
    done = installed.shell("; ".join(f"reconciler {name} --help" for name in COMMANDS))
    assert done.returncode == 0, done.stderr
    assert re.findall("^Usage: reconciler ([a-z-]+)", done.stdout, re.M) == list(COMMANDS)


@pytest.mark.parametrize(("name", "line"), OFFLINE, ids=[f"{name}: {line}" for name, line in OFFLINE])
def test_an_example_of_the_help(name: str, line: str, filled: Installed) -> None:
    """It does what it says: exit code 0, or 2 where changes are asked for; no trace, no defect."""
    for made_up, real in _NAMES:
        line = line.replace(made_up, real)
    if line.startswith("reconciler apply") and not (filled.folder / "plan.json").exists():
        filled.shell("reconciler plan --cluster snapshot/ --out plan.json")
    done = filled.shell(line)
    assert "unexpected" not in done.stderr, done.stderr
    allowed = {0, 2} if "--detailed-exitcode" in line else {0}
    assert done.returncode in allowed, f"{done.returncode}: {done.stdout[-800:]}\n{done.stderr}"


@pytest.mark.parametrize("name", _NEED_A_CLUSTER)
def test_without_a_cluster_it_says_so(name: str, installed: Installed) -> None:
    """No kubeconfig: an error that says what is missing, and no trace."""
    wanted = {
        "hold": "hold general-a --reason words", "snapshot": "snapshot --out captured", "init": "init", "status": "status",
        "previewer": "previewer --repository a/b --git https://git.invalid/a.git --token-file token --cluster-name prod",
    }  # fmt: skip
    done = installed.shell(f"reconciler {wanted[name]}")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert "unexpected" not in done.stderr


def test_every_command_is_looked_at() -> None:
    """By an example that runs here, or by what it says without a cluster."""
    assert {name for name, _ in OFFLINE} | set(_NEED_A_CLUSTER) == set(COMMANDS)
    assert all(shlex.split(line.split("|")[0].split("<")[0].split(" > ")[0]) for _, line in OFFLINE)
