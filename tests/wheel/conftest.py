"""The product as somebody installs it, in a folder with nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]


class Installed:
    """A wheel of this checkout, unpacked beside the packages that it needs, and an empty folder to work in."""

    def __init__(self, packages: Path, folder: Path, programs: Path) -> None:
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

    def shell(self, line: str) -> "subprocess.CompletedProcess[str]":
        """A line in the folder, as a person would type it; a pipe fails where one of its commands does."""
        command = ["bash", "-c", f"set -eo pipefail; {line}"]
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's files. Its kernels are interpreted: what is compiled is looked at where the release is built."""
    directory = tmp_path_factory.mktemp("wheel")
    source = directory / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(TOP / name, source)
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "loops.c", "passes.c")
    shutil.copytree(TOP / "reconciler", source / "reconciler", ignore=ignored)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(directory), str(source)]
    done = subprocess.run(build, env=os.environ | {"CC": "false"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = directory.glob("*.whl")
    target = directory / "packages"
    done = subprocess.run(
        [*pip, "install", "--quiet", "--no-deps", "--target", str(target), str(wheel)], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def installed(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """With an empty folder of the module."""
    folder = tmp_path_factory.mktemp("empty")
    return Installed(packages, folder, tmp_path_factory.mktemp("bin") / "programs")
