"""What kustomize and helm make of the files that are shipped."""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.testbed.missing import not_run
from tests.testbed.programs import program
from tests.testbed.toolchain import NotAvailableError

Object = dict[str, Any]

DEPLOY = Path(__file__).resolve().parents[2] / "examples" / "deploy"
CHART = DEPLOY / "chart"
OVERLAYS = ("read-only", "observe", "enforce", "namespaced", "openshift", "fleet")
COMPONENTS = ("bounds", "custom-resources", "flux-source", "fleet-access", "previewer")
# For a cluster in which no loop runs: what a loop that runs elsewhere may do there.
ACCOUNTS = ("workload-cluster", "workload-cluster-observe")
# The values by which the chart says what the overlays say.
SOURCE = {"url": "https://git.example.org/platform/policies.git", "ref": "main", "path": "clusters/prod", "name": "prod"}
VALUES: dict[str, Object] = {
    "read-only": {"rights": "ReadOnly", "policy": SOURCE},
    "observe": {"rights": "Observe", "policy": SOURCE},
    "enforce": {"rights": "Enforce", "policy": SOURCE},
    "namespaced": {"rights": "Enforce", "policy": SOURCE, "targetNamespaces": ["clusters"]},
    "openshift": {"rights": "Enforce", "policy": SOURCE, "openshift": True},
    "fleet": {"rights": "Enforce", "policy": SOURCE, "fleet": {"enabled": True}},
}


@cache
def kustomized(path: str) -> str:
    """The output of `kustomize build` on a directory below examples/deploy."""
    return _output(installed("kustomize"), "build", str(DEPLOY / path))


def overlay(name: str) -> list[Object]:
    """The objects of one overlay."""
    return list(yaml.safe_load_all(kustomized(f"overlays/{name}")))


def with_component(name: str, component: str | tuple[str, ...], directory: Path, patch: str = "") -> list[Object]:
    """The objects of an overlay with a component, or several in their order, put together from a directory of the user's own,
    which may have a patch."""
    shutil.copytree(DEPLOY, directory / "deploy", dirs_exist_ok=True)
    file = directory / "kustomization.yaml"
    components = (component,) if isinstance(component, str) else component
    parts = {"resources": [f"deploy/overlays/{name}"], "components": [f"deploy/components/{one}" for one in components]}
    if patch:
        (directory / "patch.yaml").write_text(patch)
    patches = {"patches": [{"path": "patch.yaml"}]} if patch else {}
    head = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    file.write_text(yaml.safe_dump({**head, **parts, **patches}))
    return list(yaml.safe_load_all(_output(installed("kustomize"), "build", str(directory))))


def chart(values: Object, directory: Path, namespace: str = "reconciler") -> list[Object]:
    """The objects of the chart with these values, its definitions included."""
    done = helm_template(values, directory, namespace)
    assert done.returncode == 0, done.stderr
    return [item for item in yaml.safe_load_all(done.stdout) if item]


def helm_template(values: Object, directory: Path, namespace: str = "reconciler") -> "subprocess.CompletedProcess[str]":
    """`helm template` with a file of values, whatever comes of it."""
    file = directory / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    command = (installed("helm"), "template", "reconciler", CHART, "--include-crds", "--namespace", namespace, "--values", file)
    return subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True, env=_home(directory))


def helm_lint(values: Object, directory: Path) -> "subprocess.CompletedProcess[str]":
    """`helm lint --strict` with a file of values."""
    file = directory / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    command = (installed("helm"), "lint", "--strict", CHART, "--values", file)
    return subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True, env=_home(directory))


def notes(values: Object, directory: Path) -> str:
    """What helm says after an installation with these values."""
    file = directory / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    words = ("install", "reconciler", CHART, "--dry-run=client", "--namespace", "reconciler", "--values", file)
    command = (installed("helm"), *words)
    done = subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True, env=_home(directory))
    assert done.returncode == 0, done.stderr
    return done.stdout.partition("\nNOTES:\n")[2]


def kubeconform(schemas: Path, file: Path) -> "subprocess.CompletedProcess[str]":
    """`kubeconform --strict` on one file, with the schemas of one directory and no others."""
    location = f"{schemas}/{{{{.Group}}}}_{{{{.ResourceAPIVersion}}}}_{{{{.ResourceKind}}}}.json"
    command = (installed("kubeconform"), "-strict", "-summary", "-schema-location", location, str(file))
    return subprocess.run(command, check=False, capture_output=True, text=True)


def of_kind(objects: list[Object], kind: str) -> list[Object]:
    """The objects of one kind."""
    return [item for item in objects if item["kind"] == kind]


def deployment(objects: list[Object]) -> Object:
    """The only Deployment."""
    (found,) = of_kind(objects, "Deployment")
    return found


def _output(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _home(directory: Path) -> dict[str, str]:
    return {"HOME": str(directory), "PATH": "/usr/bin:/bin"}


def installed(name: str) -> str:
    """Where the program is that the tests use."""
    try:
        return str(program(name))
    except NotAvailableError as error:
        not_run(name, str(error))
