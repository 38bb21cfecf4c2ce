"""The health of our custom resources as Argo CD and Flux compute it from what the loop really writes into their status."""

from typing import Any

import celpy
import pytest
import yaml
from lupa import LuaRuntime

from reconciler.control.policy.plan_conditions import of_awaiting, of_group, of_invalid, of_policy
from reconciler.gitops.git.fault import Fault, FaultCode
from reconciler.kube.custom.status import Condition
from reconciler.plan.plan import GroupLine, Ownership, OwnerState
from reconciler.policy.fields import document_kinds
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem
from reconciler.rendering.schemas.crd_status import status_schema
from tests.deploy.rendered import DEPLOY, kustomized

KEY = "resource.customizations.health.reconciler.dev_{}"
"""SOURCE: Argo CD's name for a health check: group, underscore, kind."""


def line(current: int, desired: int, *, held: bool = False) -> GroupLine:
    owner = Ownership(
        state=OwnerState.HELD if held else OwnerState.OURS,
        by="capi-topology" if held else "",
        evidence=("the topology declares 2",),
    )
    return GroupLine(
        name="a", target="t/a", tier="spot", current=current, desired=desired, min=0, max=9, owner=owner, held=held, reasons=()
    )


PROBLEM = Problem(code="Bounds", message="min 5 is above max 3", place=Place("NodeGroup a/b spec.size", 0, 0))


def resource(conditions: tuple[Condition, ...] | None, *, generation: int = 2) -> dict[str, Any]:
    """An object of generation 2 whose status was judged at `generation`."""
    item: dict[str, Any] = {"metadata": {"name": "a", "generation": 2}}
    if conditions is not None:
        written = [{"type": one.type, "status": one.status, "reason": one.reason, "message": one.message} for one in conditions]
        item["status"] = {"observedGeneration": generation, "conditions": written}
    return item


def health(item: dict[str, Any]) -> tuple[str, str]:
    """What Argo CD gets: it runs the script with the object as `obj`."""
    (config,) = yaml.safe_load_all(kustomized("argocd"))
    lua = LuaRuntime(unpack_returned_tuples=True, register_eval=False, register_builtins=False)
    lua.globals().obj = lua.table_from(item, recursive=True)
    result = lua.execute(config["data"][KEY.format("NodeGroup")])
    return result["status"], result["message"]


@pytest.mark.parametrize(("item", "status", "words"), [
    (resource(of_group(line(3, 3), observed=False)), "Healthy", "3 replicas, as desired"),
    (resource(of_group(line(3, 5), observed=False)), "Progressing", "3 -> 5 replicas"),
    (resource(of_group(line(3, 5), observed=True)), "Healthy", "mode is Observe"),
    (resource(of_group(line(2, 2, held=True), observed=False)), "Healthy", "held: capi-topology: the topology declares 2"),
    (resource(of_invalid((PROBLEM,), "It is not used", held=False)), "Degraded", "min 5 is above max 3"),
    (resource(of_invalid((PROBLEM,), "It is held", held=True)), "Degraded", "min 5 is above max 3"),
    (resource(of_policy("abc is in force", None)), "Healthy", "abc is in force"),
    (resource(of_awaiting("there is no NodeGroupPolicy prod")), "Progressing", "there is no NodeGroupPolicy prod"),
    (resource(None), "Progressing", "not judged yet"),
    (resource(of_group(line(3, 3), observed=False), generation=1), "Progressing", "not judged yet"),
    (resource(()), "Progressing", "no condition yet"),
], ids=[
    "current", "resizing", "observed", "held", "invalid", "invalid and held", "policy", "waiting", "new", "changed", "empty",
])  # fmt: skip
def test_argo_cd_sees_what_the_conditions_say(item: dict[str, Any], status: str, words: str) -> None:
    """A held group is Healthy with its message, an invalid one Degraded, held or not, and a resize is Progressing."""
    found, message = health(item)
    assert found == status
    assert words in message


def test_argo_cd_has_the_check_for_every_kind() -> None:
    """Two keys of one ConfigMap, with the same script."""
    (config,) = yaml.safe_load_all(kustomized("argocd"))
    assert (config["metadata"]["name"], config["metadata"]["namespace"]) == ("argocd-cm", "argocd")
    script = (DEPLOY / "argocd" / "health.lua").read_text()
    assert config["data"] == {KEY.format(kind.kind): script for kind in document_kinds()}


def test_a_sync_neither_writes_replicas_nor_prunes_groups() -> None:
    """ignoreDifferences needs the group to be named and RespectIgnoreDifferences to reach a sync; policies are kept."""
    files = ("argocd/policy-as-custom-resources.yaml", "argocd/clusters.yaml")
    applications = {item["metadata"]["name"]: item["spec"] for file in files for item in documents(file)}
    (ignored,) = applications["clusters"]["ignoreDifferences"]
    assert (ignored["group"], ignored["jsonPointers"]) == ("cluster.x-k8s.io", ["/spec/replicas"])
    assert "RespectIgnoreDifferences=true" in applications["clusters"]["syncPolicy"]["syncOptions"]
    assert applications["node-group-policies"]["syncPolicy"]["automated"]["prune"] is False
    assert (DEPLOY.parents[1] / applications["nodegroup-reconciler"]["source"]["path"] / "kustomization.yaml").is_file()


def test_flux_asks_for_conditions_that_are_written() -> None:
    """Both kinds have a check; what it reads is in the status schema of the kind, and the types are those that are written."""
    checks = flux_checks()
    assert [(one["apiVersion"], one["kind"]) for one in checks] == [
        ("reconciler.dev/v1alpha1", kind) for kind in ("NodeGroup", "NodeGroupPolicy")
    ]
    written = {one.type for one in of_group(line(1, 1), observed=False)}
    assert {"Ready", "Reconciling", "Stalled", "Held"} == written
    for check in checks:
        fields = status_schema(check["kind"])["properties"]
        assert {"observedGeneration", "conditions"} <= set(fields)
        assert {"type", "status"} <= set(fields["conditions"]["items"]["properties"])


@pytest.mark.parametrize("kind", ["NodeGroup", "NodeGroupPolicy"])
@pytest.mark.parametrize(("item", "current", "failed"), [
    (resource(of_group(line(3, 3), observed=False)), True, False),
    (resource(of_group(line(3, 5), observed=False)), False, False),
    (resource(of_group(line(2, 2, held=True), observed=False)), True, False),
    (resource(of_invalid((PROBLEM,), "It is not used", held=False)), False, True),
    (resource(of_group(line(3, 3), observed=False), generation=1), False, False),
    (resource(of_policy("x", Fault(code=FaultCode.INVALID_POLICY, message="bad"))), False, True),
], ids=["current", "resizing", "held", "invalid", "changed", "refused policy"])  # fmt: skip
def test_flux_sees_what_the_conditions_say(kind: str, item: dict[str, Any], current: bool, failed: bool) -> None:
    """A held group is waited for no longer than one that is as desired, an invalid one fails at once."""
    policies = next(
        one for one in documents("flux/policy-as-custom-resources.yaml") if one["metadata"]["name"] == "node-group-policies"
    )
    check = next(one for one in policies["spec"]["healthCheckExprs"] if one["kind"] == kind)
    assert (cel(check["current"], item), cel(check["failed"], item)) == (current, failed)


def flux_checks() -> list[dict[str, str]]:
    items = documents("flux/policy-as-custom-resources.yaml")
    found: list[dict[str, str]] = next(
        item["spec"]["healthCheckExprs"] for item in items if item["metadata"]["name"] == "node-group-policies"
    )
    return found


def cel(expression: str, item: dict[str, Any]) -> bool:
    """An expression over the fields of an object, as kustomize-controller evaluates it."""
    environment = celpy.Environment()
    return bool(environment.program(environment.compile(expression)).evaluate(celpy.json_to_cel(item)))


def documents(path: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / path).read_text()))
