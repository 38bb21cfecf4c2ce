"""The programs of the control plane, and where each comes from: KUBEBUILDER_ASSETS, PATH, the cache, or a build."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.testbed.build import VERSION_FLAGS, GoProgram, built
from tests.testbed.cache import cache_directory, content_key, locked
from tests.testbed.toolchain import NotAvailableError, go_binary, go_environment

_MODULES = Path(__file__).parent / "modules"


def _kubernetes(name: str) -> GoProgram:
    return GoProgram(name=name, module=_MODULES / "kubernetes", package=f"k8s.io/kubernetes/cmd/{name}", flags=VERSION_FLAGS)


PROGRAMS: dict[str, GoProgram] = {
    program.name: program
    for program in (
        GoProgram(name="etcd", module=_MODULES / "etcd"),
        _kubernetes("kube-apiserver"),
        _kubernetes("kube-scheduler"),
        _kubernetes("kube-controller-manager"),
        GoProgram(name="kwok", module=_MODULES / "kwok", package="sigs.k8s.io/kwok/cmd/kwok"),
    )
}

# What kwok does to nodes and pods: they become ready at once, pods of Jobs complete, deleted pods go away.
_STAGES = (
    "kustomize/stage/node/fast/node-initialize.yaml",
    "kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "kustomize/stage/pod/fast/pod-ready.yaml",
    "kustomize/stage/pod/fast/pod-complete.yaml",
    "kustomize/stage/pod/fast/pod-delete.yaml",
)


def program(name: str) -> Path:
    """The binary of one program. Raises NotAvailableError."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and (Path(assets) / name).is_file():
        return Path(assets) / name
    on_path = shutil.which(name)
    return Path(on_path) if on_path else built(PROGRAMS[name])


def kwok_stages() -> Path:
    """kwok's own stage definitions in one file, taken from its module. Raises NotAvailableError."""
    module = PROGRAMS["kwok"].module
    target = cache_directory() / f"kwok-stages-{content_key([module / 'go.mod'], *_STAGES)}.yaml"
    with locked(target.with_name(f"{target.name}.lock")):
        if not target.exists():
            source = _module_directory(module, "sigs.k8s.io/kwok")
            target.write_text("\n---\n".join((source / stage).read_text() for stage in _STAGES))
    return target


def _module_directory(module: Path, name: str) -> Path:
    command = [str(go_binary(module / "go.mod")), "list", "-m", "-f", "{{.Dir}}", name]
    for attempt in (["go", "mod", "download", name], None):
        done = subprocess.run(command, check=False, cwd=module, env=go_environment(), capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip():
            return Path(done.stdout.strip())
        if attempt:
            subprocess.run([command[0], *attempt[1:]], check=False, cwd=module, env=go_environment(), capture_output=True)
    raise NotAvailableError(f"the module {name} cannot be downloaded: {done.stderr.strip()}")
