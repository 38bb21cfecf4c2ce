"""The product as somebody installs it, in a folder with nothing else."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from reconciler.cli.main import COMMANDS, cli
from tests.testbed.cache import cache_directory, content_key, locked

TOP = Path(__file__).resolve().parents[2]
# What a command asks of others. These examples run on a control plane: test_on_cluster.py, tests/live, tests/docs.
ASKS_OTHERS = re.compile(
    r"--context|--live|--cluster-ref|^reconciler plan$|https://|--custom-res|--flux-s"
    r"|^reconciler (?:snapshot|hold|status|report|init)\b"
)


def examples_of(name: str) -> list[str]:
    """The lines below `Examples:` in the help of a command."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    _, _, below = (command.help or "").partition("Examples:")
    return [line.strip() for line in below.replace("\\\n", " ").strip().splitlines() if line.strip()]


def asking_others() -> list[str]:
    """Each command of ours in those lines that needs a cluster, a running loop or a server, without what its output goes into."""
    parts = [part.strip() for name in COMMANDS for line in examples_of(name) for part in re.split(r"&&?", line)]
    single = [re.split(r" [|>] ", part)[0] for part in parts if part.startswith("reconciler ")]
    return list(dict.fromkeys(part for part in single if ASKS_OTHERS.search(part)))


class Answer(NamedTuple):
    """What became of one command."""

    line: str
    code: int
    output: str
    errors: str


class Installed:
    """A wheel of this checkout, unpacked beside the packages that it needs, and an empty folder to work in."""

    def __init__(self, packages: Path, folder: Path, programs: Path, kubeconfig: Path | None = None) -> None:
        self.packages, self.folder = packages, folder
        programs.mkdir()
        command = programs / "reconciler"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from reconciler.cli.main import main; main()" "$@"\n')
        command.chmod(0o755)
        known = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "GITHUB_", "KUBE"))}
        self.environment = known | {
            "PYTHONPATH": str(packages), "PATH": f"{programs}:{os.environ['PATH']}", "NO_COLOR": "1",
            "HOME": str(folder / "home"), "GIT_CONFIG_GLOBAL": os.devnull,
        }  # fmt: skip
        if kubeconfig is not None:
            self.environment["KUBECONFIG"] = str(kubeconfig)

    def shell(self, line: str) -> "subprocess.CompletedProcess[str]":
        """A line in the folder, as a person would type it; a pipe fails where one of its commands does."""
        command = ["bash", "-c", f"set -eo pipefail; {line}"]
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)

    def commands(self, lines: Sequence[str], folder: Path | None = None) -> list[Answer]:
        """What single commands answer, each in a fork of one process; in another folder, where one is given."""
        words = [shlex.split(line)[1:] for line in lines]
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("one_process.py"))],
            cwd=folder or self.folder, env=self.environment, input=json.dumps(words), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [Answer(line, *answer) for line, answer in zip(lines, json.loads(done.stdout), strict=True)]


def wheel() -> Path:
    """A wheel of this checkout, built once for the same sources and kept where built components are.

    Its kernels are interpreted: what is compiled is looked at where the release is built.
    """
    names = ("pyproject.toml", "README.md", "LICENSE")
    ignored = ("__pycache__", "*.so", "*.c")
    sources = [path for path in (TOP / "reconciler").rglob("*") if path.is_file() and not any(path.match(one) for one in ignored)]
    sources = sorted(path for path in sources if "__pycache__" not in path.parts)
    key = content_key([*(TOP / name for name in names), *sources], *(path.relative_to(TOP).as_posix() for path in sources))
    kept = cache_directory() / "wheels" / key
    kept.mkdir(parents=True, exist_ok=True)
    with locked(kept / ".lock"):
        if found := list(kept.glob("*.whl")):
            return found[0]
        with tempfile.TemporaryDirectory(dir=kept) as made:
            source = Path(made) / "source"
            shutil.copytree(TOP / "reconciler", source / "reconciler", ignore=shutil.ignore_patterns(*ignored))
            for name in names:
                shutil.copy(TOP / name, source)
            pip("wheel", "--no-deps", "--wheel-dir", made, str(source), CC="false")
            (built,) = Path(made).glob("*.whl")
            return built.rename(kept / built.name)


def pip(*words: str, **environment: str) -> None:
    """As of this interpreter."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", words[0], "--quiet", *words[1:]]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's files, installed."""
    target = tmp_path_factory.mktemp("wheel") / "packages"
    pip("install", "--no-deps", "--target", str(target), str(wheel()))
    return target


@pytest.fixture(scope="module")
def installed(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """With an empty folder of the module."""
    folder = tmp_path_factory.mktemp("empty")
    return Installed(packages, folder, tmp_path_factory.mktemp("bin") / "programs")
