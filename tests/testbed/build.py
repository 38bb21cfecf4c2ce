"""Programs built from the Go modules of this repository, once for each state of their sources."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.testbed.cache import cache_directory, content_key, locked
from tests.testbed.progress import step
from tests.testbed.toolchain import NotAvailableError, go_binary, go_environment

KUBERNETES_VERSION = "v1.36.3"
NEWEST_KUBERNETES_VERSION = "v1.37.2"
CLUSTER_API_VERSION = "v1.14.2"


def version_flags(version: str) -> str:
    """Linker flags for a Kubernetes program. A plain build reports no version, which its own checks then refuse."""
    major, minor, _ = version.removeprefix("v").split(".")
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean", "gitCommit": "unknown"}
    return " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in values.items())


VERSION_FLAGS = version_flags(KUBERNETES_VERSION)


class GoProgram(msgspec.Struct, frozen=True):
    """A program: its name, the directory of its module, the package to build (`.` or an import path), linker flags, the name
    of its file where that is another, whether a copy of unknown version that is installed will do, and whether it is built only
    where it is named: what takes many minutes and few tests need. `modules` names the file with the versions of its modules
    where it is not `go.mod`, and `tag` is a build tag."""

    name: str
    module: Path
    package: str = "."
    flags: str = ""
    modules: str = "go.mod"
    tag: str = ""
    file: str = ""
    any_version: bool = True
    on_request: bool = False

    def sources(self) -> list[Path]:
        """What a build depends on; the modules behind go.mod are pinned by go.sum."""
        own = sorted(self.module.glob("*.go")) if self.package == "." else []
        versions = self.module / self.modules
        return [versions, versions.with_suffix(".sum"), *own]


def place(program: GoProgram) -> Path:
    """Where the binary for these sources lies in the cache, once it has been built."""
    tag = (program.tag,) if program.tag else ()
    key = content_key(program.sources(), program.package, program.flags, *tag)
    return cache_directory() / f"{program.name}-{key}" / (program.file or program.name)


def built(program: GoProgram) -> Path:
    """The program's binary, built now or taken from the cache. Raises NotAvailableError."""
    target = place(program)
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.parent / ".lock"):
        if not target.exists():
            go = go_binary(program.module / program.modules)
            with step(f"building {program.name}"):
                _run_go(go, program, target)
    return target


def _run_go(go: Path, program: GoProgram, target: Path) -> None:
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    command: Sequence[str] = (
        str(go), "build", f"-modfile={program.modules}", f"-tags={program.tag}",
        "-ldflags", f"-s -w {program.flags}".strip(), "-o", str(partial), program.package,
    )  # fmt: skip
    done = subprocess.run(command, cwd=program.module, check=False, env=go_environment(), capture_output=True, text=True)
    if done.returncode != 0:
        last = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise NotAvailableError(f"{program.name} cannot be built with {go}:\n{last}")
    partial.rename(target)
