"""The programs of the control plane, and where each comes from: KUBEBUILDER_ASSETS, PATH, the cache, or a build."""

import os
import shutil
from pathlib import Path

from tests.testbed.build import CLUSTER_API_VERSION, VERSION_FLAGS, GoProgram, built
from tests.testbed.cache import cache_directory, component_wanted, content_key, locked
from tests.testbed.go_modules import module_directory

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
        _kubernetes("kubectl"),
        GoProgram(name="kwok", module=_MODULES / "kwok", package="sigs.k8s.io/kwok/cmd/kwok"),
        # Its file name is the field manager of its writes; the released image calls it so.
        GoProgram(
            name="cluster-api",
            module=_MODULES / "cluster-api",
            package="sigs.k8s.io/cluster-api/core",
            flags=f"-X sigs.k8s.io/cluster-api/version.gitVersion={CLUSTER_API_VERSION}",
            file="manager",
            any_version=False,
        ),
        # The controllers of OpenShift's machine-api-operator over an actuator of ours: its instances are Node objects.
        # Built from nothing it takes 271 s of processor time, and about 200 s after the others, of whose packages it finds 69 s
        # in the build cache that all of them share. Its Kubernetes libraries are of 1.30: the operator's controllers need
        # controller-runtime 0.18, and do not compile with what the others use.
        GoProgram(name="machine-api", module=_MODULES / "machine-api", any_version=False),
        # Flux. Each takes about six minutes of processor time, so that nothing builds them but `make test-flux`.
        GoProgram(
            name="flux-kustomize-controller",
            module=_MODULES / "flux-kustomize-controller",
            package="github.com/fluxcd/kustomize-controller",
            file="kustomize-controller",
            any_version=False,
            on_request=True,
        ),
        GoProgram(
            name="flux-source-controller",
            module=_MODULES / "flux-source-controller",
            package="github.com/fluxcd/source-controller",
            file="source-controller",
            any_version=False,
            on_request=True,
        ),
        # Kueue, as the program that asks for room. Built from nothing it takes about 25 minutes of processor time, so that
        # only `make test-kueue` builds it. Its Kubernetes libraries are those of its release.
        GoProgram(
            name="kueue",
            module=_MODULES / "kueue",
            package="sigs.k8s.io/kueue/cmd/kueue",
            flags="-X sigs.k8s.io/kueue/pkg/version.GitVersion=v0.19.2",
            file="manager",
            any_version=False,
            on_request=True,
        ),
        # Not part of a control plane: what they print is compared, so it has to be this version.
        GoProgram(
            name="kustomize",
            module=_MODULES / "kustomize",
            package="sigs.k8s.io/kustomize/kustomize/v5",
            flags="-X sigs.k8s.io/kustomize/api/provenance.version=kustomize/v5.8.2",
            any_version=False,
        ),
        GoProgram(
            name="kubeconform",
            module=_MODULES / "kubeconform",
            package="github.com/yannh/kubeconform/cmd/kubeconform",
            any_version=False,
        ),
        GoProgram(
            name="helm",
            module=_MODULES / "helm",
            package="helm.sh/helm/v4/cmd/helm",
            flags="-X helm.sh/helm/v4/internal/version.version=v4.3.1",
            any_version=False,
        ),
    )
}

# What kwok does to nodes and pods: they become ready at once, pods of Jobs complete, deleted pods go away.
_STAGES = (
    "kustomize/stage/node/fast/node-initialize.yaml",
    "kustomize/stage/pod/fast/pod-ready.yaml",
    "kustomize/stage/pod/fast/pod-complete.yaml",
    "kustomize/stage/pod/fast/pod-delete.yaml",
)


def program(name: str) -> Path:
    """The binary of one program. Raises NotAvailableError."""
    component_wanted()
    wanted = PROGRAMS[name]
    if not wanted.any_version:
        return built(wanted)
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and (Path(assets) / name).is_file():
        return Path(assets) / name
    on_path = shutil.which(name)
    return Path(on_path) if on_path else built(wanted)


def kwok_stages() -> Path:
    """kwok's own stage definitions in one file, taken from its module. Raises NotAvailableError."""
    module = PROGRAMS["kwok"].module
    target = cache_directory() / f"kwok-stages-{content_key([module / 'go.mod'], *_STAGES)}.yaml"
    with locked(target.with_name(f"{target.name}.lock")):
        if not target.exists():
            source = module_directory(module, "sigs.k8s.io/kwok")
            target.write_text("\n---\n".join((source / stage).read_text() for stage in _STAGES))
    return target
