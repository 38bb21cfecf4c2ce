"""Every command runs from a wheel in an empty folder: the examples of its help, on what `reconciler example` writes."""

import gzip
import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from reconciler.cli.main import COMMANDS
from tests.cli.commands.test_demand_imports import event, pod
from tests.wheel.conftest import ASKS_OTHERS, Installed, asking_others, examples_of

# Programs that are not there everywhere, and a key that signs.
_PROGRAMS = re.compile(r"\bkubectl\b|\boc\b|\bhelm\b|\bkustomize\b|--plan-signers")
_NEED_A_CLUSTER = ("snapshot", "hold", "status", "report", "previewer", "init")
# Names that examples make up, and what they stand for in the packaged example.
_NAMES = (
    ("batch/giant-0", "batch/giant"), ("general-a-x7k2p", "c1-fixed-bq6lz-rdw9z-x8677"), ("general-a", "big"),
    ("--group 'gpu-*'", "--group 'a*'"), ("'gpu-*'", "'c1-*'"),
    ("--until 12h --workers 2", "--until 6h --trials 2"), ("tune --trace c", "tune --trials 2 --until 6h --trace c"),
    ("--until 24h", "--until 1h"), ("examples/traces/packed", "examples/traces/packed --until 2h"),
    ("~/", "home/"), ("${fpath[1]}", "home"), ("snapshot --comment", "snapshot"),
    ("eksctl.yaml --out policies/", "eksctl.yaml --out from-eksctl/"), ("--out policies/", "--out imported/"),
    ("audit.log.gz --out demand/", "audit.log.gz --out audited/"),
    ("reconciler example &&", "mkdir fresh && cd fresh && reconciler example &&"),
)  # fmt: skip


def examples(name: str) -> list[str]:
    """The examples of a command that need nothing but files."""
    mine = [line for line in examples_of(name) if f"reconciler {name}" in line]
    return [line for line in mine if not ASKS_OTHERS.search(line) and not _PROGRAMS.search(line)]


WITHOUT_TESTS = shutil.ignore_patterns("tests")
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
    later.write_text(re.sub(r"(capturedAt: .*T)\d\d:\d\d:", r"\g<1>05:59:", later.read_text()))
    shutil.copytree(folder / "snapshot", folder / "snapshot.json.gz")
    shutil.copytree(folder / "snapshot", folder / "snapshots" / "prod")
    shutil.copytree(folder / "policies", folder / "changed", ignore=WITHOUT_TESTS)
    shutil.copytree(folder / "policies", folder / "clusters" / "prod", ignore=WITHOUT_TESTS)
    for side in ("main", "change"):
        shutil.copytree(folder / "policies", folder / "rendered" / side, ignore=WITHOUT_TESTS)
    shutil.copy(folder / "examples" / "traces" / "pool-28.csv", folder / "curve.csv")
    (folder / "home" / ".config" / "fish" / "completions").mkdir(parents=True)
    created = event(0, "create", "web-0", responseObject=pod("web-0", "1", "ReplicaSet", "web"))
    (folder / "audit.log.gz").write_bytes(gzip.compress(json.dumps(created).encode()))
    (folder / "ca.yaml").write_text("--scale-down-unneeded-time=5m\n--expander=priority\n")
    priorities = {
        "kind": "ConfigMap",
        "metadata": {"name": "cluster-autoscaler-priority-expander"},
        "data": {"priorities": "10: [.*]"},
    }
    (folder / "priority-expander.yaml").write_text(json.dumps(priorities))
    fixtures = Path(__file__).resolve().parents[1] / "fixtures" / "imports"
    shutil.copy(fixtures / "eksctl.yaml", folder / "cluster.eksctl.yaml")
    git = "git -c user.name=a -c user.email=a@example.org -c commit.gpgsign=false -c init.defaultBranch=main"
    done = installed.shell(
        f"git init -q -b main . && git add policies clusters snapshot examples/quickstart && {git} commit -qm policy"
        f" && git tag v1.4 && git tag v1.5"
        f" && git update-ref refs/remotes/origin/main HEAD && git update-ref refs/remotes/origin/snapshots HEAD"
        f" && {git} commit -q --allow-empty -m 'change'"
    )
    assert done.returncode == 0, done.stderr
    return installed


def test_it_is_the_wheel_that_runs(installed: Installed, packages: Path) -> None:
    """Not the checkout, which is installed in place beside it."""
    where = installed.shell("reconciler example kept && ls kept")
    assert where.stdout.split() == ["examples", "policies"]
    module = installed.shell(f"{sys.executable} -c 'import reconciler; print(reconciler.__file__)'")
    assert Path(module.stdout.strip()).is_relative_to(packages)
    assert list(packages.glob("nodegroup_reconciler-*.dist-info"))
    assert (packages / "reconciler" / "cli" / "packaged" / "example.tar.gz").is_file()


def test_the_demonstration_needs_no_file(installed: Installed) -> None:
    """`run --simulate` in an empty folder, to its end and with its expectations met."""
    done = installed.shell("mkdir bare && cd bare && reconciler run --simulate && ls -A")
    assert done.returncode == 0, done.stderr
    assert "violations  0" in done.stdout.splitlines()[-1]


def test_help(installed: Installed) -> None:
    """Every command is there and explains itself."""
    answers = installed.commands([f"reconciler {name} --help" for name in COMMANDS])
    assert [answer.code for answer in answers] == [0] * len(COMMANDS), answers
    assert re.findall("^Usage: reconciler ([a-z-]+)", "".join(answer.output for answer in answers), re.M) == list(COMMANDS)


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


def test_without_a_cluster_it_says_so(installed: Installed) -> None:
    """No kubeconfig, no loop, no server: an error that says what is missing, exit code 1, and no trace."""
    bare = installed.folder / "nothing"
    bare.mkdir()
    lines = asking_others()
    assert {line.split()[1] for line in lines} >= set(_NEED_A_CLUSTER)
    answers = installed.commands([line.replace("localhost:8080", "localhost:9") for line in lines], bare)
    wrong = [
        one for one in answers
        if one.code != 1 or not one.errors.startswith("error: ") or "Traceback" in one.errors or "unexpected" in one.errors
    ]  # fmt: skip
    assert wrong == []


def test_every_command_is_looked_at() -> None:
    """By an example that runs here, or by what it says without a cluster."""
    assert {name for name, _ in OFFLINE} | set(_NEED_A_CLUSTER) == set(COMMANDS)
    assert all(shlex.split(line.split("|")[0].split("<")[0].split(" > ")[0]) for _, line in OFFLINE)
