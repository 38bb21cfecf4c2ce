"""A checkout of a pull request in which everything that a Python, a pip, a build or a shell might take from it leaves a mark."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.gitops.repositories import BASE, GitRepo, group, write_cluster

ROOT = Path(__file__).resolve().parents[2]
MODULES = (
    "venv", "pip", "site", "sitecustomize", "usercustomize", "click", "json", "ensurepip", "yaml", "msgspec", "github", "gitlab",
    "git", "requests", "subprocess", "reconciler/__init__", "setuptools/__init__", "Cython/__init__", "distutils/__init__",
    "encodings/__init__", "_distutils_hack/__init__",
)  # fmt: skip


def planted(canary: Path) -> dict[str, str | bytes]:
    """Files by path; each of them, imported, built, executed or read as configuration, touches `canary`."""
    python = f"import builtins\nwith builtins.open({str(canary)!r}, 'a') as mark:\n    mark.write(__name__ + '\\n')\n"
    shell = f"#!/bin/sh\ntouch '{canary}'\n"
    pip = f"[global]\nno-index = true\nfind-links = file://{canary}\n"
    setup = f"[install]\nprefix = {canary}\n[easy_install]\nindex_url = file://{canary}\n"
    return {
        **{f"{name}.py": python for name in MODULES},
        "setup.py": python, "conftest.py": python, "evil.pth": f"import os; os.system('touch {canary}')\n",
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "setuptools"\nbackend-path = ["."]\n',
        "pip.conf": pip, "pip.ini": pip, ".pip/pip.conf": pip, ".config/pip/pip.conf": pip,
        "setup.cfg": setup, ".pydistutils.cfg": setup, "pydistutils.cfg": setup,
        "requirements.txt": "./\n", ".ci/locks/action.txt": "./\n", ".ci/locks/build.txt": "./\n",
        "bin/python": shell, "python": shell, "python3": shell, "git": shell, "sh": shell, "reconciler.sh": shell,
        ".bashrc": shell, ".profile": shell, ".bash_profile": shell, ".envrc": shell, ".env": "PYTHONPATH=.\n",
        ".python-version": "../../evil\n", "pyvenv.cfg": f"home = {canary}\n", "python311._pth": ".\n",
    }  # fmt: skip


class Checkout(NamedTuple):
    """`work` is the checkout of the change, `origin` what it was cloned from, `canary` what must not come to be."""

    work: Path
    origin: GitRepo
    canary: Path

    def unmarked(self) -> bool:
        return not self.canary.exists()


def hostile_checkout(place: Path) -> Checkout:
    """`main` has policies and a snapshot; the change, checked out, everything above and one policy value that differs."""
    canary = place / "CANARY"
    origin = GitRepo(place / "origin")
    snapshot = write_cluster(place / "captured")
    origin.commit({**BASE, **{f"snapshot/{file.name}": file.read_bytes() for file in snapshot.iterdir()}}, "policies of prod")
    origin.branch("change")
    origin.commit({**planted(canary), "policies/general.yaml": group("general").replace("min: 1", "min: 4")})
    work = place / "checkout"
    subprocess.run(
        ["git", "clone", "--quiet", "--branch", "change", str(origin.root), str(work)], check=True, env=git_environment()
    )
    # Whoever may push can make tags of any name, and a checkout with its whole history brings them.
    for name in ("origin/main", "HEAD", "refs/remotes/origin/main", origin.git("rev-parse", "main")):
        subprocess.run(["git", "-C", str(work), "update-ref", f"refs/tags/{name}", "HEAD"], check=True, env=git_environment())
    (work / "reconciler.sh").chmod(0o755)
    for name in ("python", "python3", "git", "sh", "bin/python"):
        (work / name).chmod(0o755)
    return Checkout(work, origin, canary)


def git_environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}


def steps_of(path: str) -> list[dict[str, Any]]:
    """The steps of an action, as its file has them."""
    found: list[dict[str, Any]] = yaml.safe_load((ROOT / path).read_text())["runs"]["steps"]
    return found


def evaluated(text: str, values: Mapping[str, str]) -> str:
    """Expressions of a workflow replaced by what the runner would put there."""
    return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", lambda found: values[found[1]], text)


def run_shell(
    script: str, cwd: Path, environment: Mapping[str, str], flags: tuple[str, ...] = ("--noprofile", "--norc", "-eo", "pipefail")
) -> "subprocess.CompletedProcess[str]":
    """As a runner does: bash on a file, with the environment of the job, which knows the package index of this machine."""
    own = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "http", "HTTP", "no_p", "NO_P"))}
    whole = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "LANG": "C.UTF-8", "CC": "false", **own, **environment}
    return subprocess.run(
        ["bash", *flags, "-c", script], cwd=cwd, env=whole, capture_output=True, text=True, check=False, timeout=600
    )


def sources(place: Path) -> Path:
    """What the runner has of the action itself, in a place of its own: building writes beside the sources."""
    target = place / "action"
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.c")
    for name in ("reconciler", ".ci/locks"):
        shutil.copytree(ROOT / name, target / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE", "action.yml"):
        shutil.copy(ROOT / name, target / name)
    return target


def event(place: Path) -> Path:
    """The file that GitHub hands a job for a pull request."""
    path = place / "event.json"
    path.write_text(json.dumps({"pull_request": {"number": 7, "head": {"repo": {"fork": False}}}}))
    return path
