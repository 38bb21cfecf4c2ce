"""Disruption budgets, controllers, namespaces."""

from typing import Any

import pytest

from reconciler.cluster.workloads.workload import Controller, DisruptionBudget, Service
from reconciler.values.label_selector import LabelSelector, Requirement
from tests.cluster.objects import Object, obj, world_of
from tests.values import selector


def budget(api_version: str = "policy/v1", **spec: Any) -> Object:
    status = {"observedGeneration": 3, "disruptionsAllowed": 1, "currentHealthy": 4, "desiredHealthy": 3, "expectedPods": 4}
    spec.setdefault("selector", {"matchLabels": {"app": "web"}})
    return obj("PodDisruptionBudget", api_version, "pdb", "shop", meta={"generation": 3}, spec=spec, status=status)


def test_budget() -> None:
    """Spec texts stay texts, the status its numbers."""
    assert world_of(budget(maxUnavailable="20%", unhealthyPodEvictionPolicy="AlwaysAllow")).budgets == (
        DisruptionBudget(
            namespace="shop",
            name="pdb",
            selector=LabelSelector((Requirement("app", "In", ("web",)),)),
            disruptions_allowed=1,
            current_healthy=4,
            desired_healthy=3,
            expected_pods=4,
            max_unavailable="20%",
            unhealthy_pod_eviction="AlwaysAllow",
        ),
    )


def test_budget_by_number() -> None:
    """`minAvailable: 0` is a zero, not an absence."""
    assert world_of(budget(minAvailable=0)).budgets[0].min_available == "0"


def test_status_behind_its_spec() -> None:
    """A status that has not seen the last change of the spec counts for nothing."""
    item = budget()
    item["metadata"]["generation"] = 4
    assert not world_of(item).budgets[0].observed


def test_budget_without_status() -> None:
    """A budget that no controller has looked at allows nothing."""
    item = budget()
    del item["status"]
    found = world_of(item).budgets[0]
    assert (found.observed, found.disruptions_allowed) == (False, 0)


@pytest.mark.parametrize(
    ("api_version", "selector", "wanted"),
    [("policy/v1", {}, LabelSelector()), ("policy/v1", None, None), ("policy/v1beta1", {}, None)],
)
def test_empty_and_missing_selectors(api_version: str, selector: Object | None, wanted: LabelSelector | None) -> None:
    """Empty: every pod of the namespace (in the beta API: none). Missing: none."""
    assert world_of(budget(api_version, selector=selector)).budgets[0].selector == wanted


def test_controllers() -> None:
    """Controllers by group, kind, namespace and name, with replicas where the kind has them."""
    world = world_of(
        obj("ReplicaSet", "apps/v1", "rs", "shop", meta={"uid": "u"}, spec={"replicas": 3}),
        obj("Deployment", "apps/v1", "d", "shop", spec={}),
        obj("StatefulSet", "apps/v1", "s", "shop", spec={"replicas": 0}),
        obj("Job", "batch/v1", "j", "shop", spec={"parallelism": 5}),
        obj("ReplicationController", "v1", "rc", "shop", spec={"replicas": 2}),
    )
    assert world.controllers == (
        Controller(api_group="", kind="ReplicationController", namespace="shop", name="rc", replicas=2),
        Controller(api_group="apps", kind="Deployment", namespace="shop", name="d", replicas=1),
        Controller(api_group="apps", kind="ReplicaSet", namespace="shop", name="rs", uid="u", replicas=3),
        Controller(api_group="apps", kind="StatefulSet", namespace="shop", name="s", replicas=0),
        Controller(api_group="batch", kind="Job", namespace="shop", name="j"),
    )


def test_namespaces() -> None:
    """A namespace always carries its name as a label, as the API server keeps it."""
    world = world_of(obj("Namespace", "v1", "b", meta={"labels": {"team": "x"}}), obj("Namespace", "v1", "a"))
    assert world.namespaces == (
        ("a", (("kubernetes.io/metadata.name", "a"),)),
        ("b", (("kubernetes.io/metadata.name", "b"), ("team", "x"))),
    )


def test_selectors_of_controllers_and_services() -> None:
    """A map of labels or a selector; a Service without one, or with an empty one, selects no pod here."""
    world = world_of(
        obj("ReplicaSet", "apps/v1", "rs", "shop", spec={"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}),
        obj("ReplicationController", "v1", "rc", "shop", spec={"selector": {"a": "b"}}),
        obj("Service", "v1", "web", "shop", spec={"selector": {"b": "2", "a": "1"}}),
        obj("Service", "v1", "outside", "shop", spec={"type": "ExternalName"}),
        obj("Service", "v1", "empty", "shop", spec={"selector": {}}),
    )
    assert [one.selector for one in world.controllers] == [selector(a="b"), LabelSelector((Requirement("a", "Exists"),))]
    assert world.services == (
        Service(namespace="shop", name="empty"),
        Service(namespace="shop", name="outside"),
        Service(namespace="shop", name="web", selector=(("a", "1"), ("b", "2"))),
    )
    assert "Service" in world.captured


def test_a_service_of_another_group_is_no_service() -> None:
    """Knative has a kind of that name."""
    world = world_of(obj("Service", "serving.knative.dev/v1", "web", "shop", spec={"template": {}}))
    assert (world.services, world.skipped) == ((), (("Service", 1),))
    assert "Service" not in world.captured
