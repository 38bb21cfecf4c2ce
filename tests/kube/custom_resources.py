"""Custom resources of ours, for tests: as objects that are handed in, and as manifests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from reconciler.kube.custom.custom_object import CustomObject
from tests.testbed.api import Api, ApiError

Object = dict[str, Any]
API_VERSION = "reconciler.dev/v1alpha1"


def policy_spec(**fields: object) -> Object:
    return {"tiers": [{"name": "spot"}, {"name": "on-demand"}], **fields}


def group_spec(target: str, *, policy: str = "prod", low: int = 0, high: int = 5, **fields: object) -> Object:
    return {
        "policyRef": {"name": policy},
        "target": {"clusterAPI": {"kind": "MachineDeployment", "namespace": "prod", "name": target}},
        "size": {"min": low, "max": high},
        **fields,
    }


def policy(name: str = "prod", *, generation: int = 1, **fields: object) -> CustomObject:
    """A NodeGroupPolicy as a server would have it."""
    return CustomObject(kind="NodeGroupPolicy", name=name, uid=f"p-{name}", generation=generation, spec=policy_spec(**fields))


def group(name: str, *, namespace: str = "infra", generation: int = 1, created: str = "", **fields: Any) -> CustomObject:
    """A NodeGroup; its target is called like it unless `target` says otherwise."""
    spec = group_spec(fields.pop("target", name), **fields)
    return CustomObject(
        kind="NodeGroup", name=name, namespace=namespace, uid=f"g-{namespace}-{name}", generation=generation, created=created,
        spec=spec,
    )  # fmt: skip


def manifest(kind: str, name: str, spec: Object, namespace: str = "") -> Object:
    """What somebody applies."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_CRDS = Path(__file__).resolve().parents[2] / "schemas" / "crds"


@contextmanager
def definitions(api: Api) -> Iterator[None]:
    """Our definitions, established; afterwards those that were made here are gone, with their objects."""
    made = []
    for path in sorted(_CRDS.glob("*.yaml")):
        item = yaml.safe_load(path.read_text(encoding="utf-8"))
        try:
            made += api.create(item)
        except ApiError as error:
            if error.status != 409:
                raise
    api.wait(DEFINITIONS, lambda items: all(_established(item) for item in _ours(items)), "the definitions being established")
    try:
        yield
    finally:
        for item in made:
            api.delete(item)
        if made:
            api.wait(DEFINITIONS, lambda items: not _ours(items), "the definitions being gone")


def _ours(items: list[Object]) -> list[Object]:
    return [item for item in items if item["spec"]["group"] == "reconciler.dev"]


def _established(item: Object) -> bool:
    conditions = item.get("status", {}).get("conditions") or ()
    return any(entry["type"] == "Established" and entry["status"] == "True" for entry in conditions)


def conditions(item: Object) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition of an object, by type."""
    found = item.get("status", {}).get("conditions") or ()
    return {entry["type"]: (entry["status"], entry["reason"]) for entry in found}


def kstatus(item: Object) -> str:
    """What kstatus makes of an object of a kind that it does not know. SOURCE: sigs.k8s.io/cli-utils, kstatus: deletion, then
    the generation that was observed, then Reconciling and Stalled, then Ready."""
    if item["metadata"].get("deletionTimestamp"):
        return "Terminating"
    if item.get("status", {}).get("observedGeneration", item["metadata"]["generation"]) != item["metadata"]["generation"]:
        return "InProgress"
    found = {kind: status for kind, (status, _) in conditions(item).items()}
    if found.get("Reconciling") == "True":
        return "InProgress"
    if found.get("Stalled") == "True":
        return "Failed"
    if found.get("Ready") in ("False", "Unknown"):
        return "InProgress"
    return "Current"


def fields_of(item: Object, manager: str) -> dict[str, set[str]]:
    """What a manager owns: the top-level fields, by subresource ("" is the object itself)."""
    found: dict[str, set[str]] = {}
    for entry in item["metadata"]["managedFields"]:
        if entry["manager"] == manager:
            found.setdefault(entry.get("subresource", ""), set()).update(
                f"{top.removeprefix('f:')}.{key.removeprefix('f:')}" for top, below in entry["fieldsV1"].items() for key in below
            )
    return found
