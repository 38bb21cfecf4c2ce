"""PodGroups as a tenant writes them."""

import pytest

from reconciler.cluster.workloads.pod_group import PodGroup
from tests.cluster.objects import Object, obj, pod, world_of

GANG = {"schedulingPolicy": {"gang": {"minCount": 6}}}


def _read(spec: object, version: str = "v1beta1") -> PodGroup:
    (read,) = world_of(obj("PodGroup", f"scheduling.k8s.io/{version}", "train", "shop", spec=spec)).pod_groups
    return read


@pytest.mark.parametrize(
    ("spec", "least"),
    [
        (GANG, 6),
        ({"schedulingPolicy": {"basic": {}}}, 1),
        ({**GANG, "workloadRef": {"workloadName": "w", "templateName": "t"}, "disruptionMode": {"single": {}}}, 6),
        ({**GANG, "podGroupTemplateRef": {"workload": {}}, "disruptionMode": "Pod", "priorityClassName": "x"}, 6),
        ({**GANG, "schedulingConstraints": {}, "resourceClaims": [], "zebra": None}, 6),
    ],
)
def test_groups_that_are_understood(spec: Object, least: int) -> None:
    """Fields that decide nothing, and empty ones, change nothing."""
    assert _read(spec) == PodGroup(namespace="shop", name="train", min_count=least)


@pytest.mark.parametrize("mode", ["PodGroup", {"all": {}}])
def test_pods_that_go_together(mode: object) -> None:
    """As 1.36 and 1.37 write it."""
    assert _read({**GANG, "disruptionMode": mode}) == PodGroup(namespace="shop", name="train", min_count=6, indivisible=True)


@pytest.mark.parametrize("mode", ["Pods", {"some": {}}, {"all": {"zebra": 1}}, {"all": {}, "single": {}}])
def test_modes_of_disruption_that_are_not_known(mode: object) -> None:
    """The group names the field."""
    assert _read({**GANG, "disruptionMode": mode}).not_modelled == ("disruptionMode",)


def test_whom_pods_displace() -> None:
    """Only pods of a group keep it: all of them must agree."""
    group = {"podGroupName": "train"}
    world = world_of(
        pod("a", schedulingGroup=group),
        pod("b", schedulingGroup=group, preemptionPolicy="PreemptLowerPriority"),
        pod("c", schedulingGroup=group, preemptionPolicy="Never"),
        pod("d", preemptionPolicy="Never"),
        pod("e"),
    )
    shapes = [world.pod_shapes[one.shape] for one in world.pods]
    assert [shape.preemption_policy for shape in shapes] == ["PreemptLowerPriority", "PreemptLowerPriority", "Never", "", ""]
    assert (shapes[0] == shapes[1], shapes[3] == shapes[4]) == (True, True)
    assert _read({**GANG, "preemptionPolicy": "Never"}).preemption_policy == "Never"


def test_the_version_of_1_36() -> None:
    """With its priority."""
    assert _read({**GANG, "priority": 7}, "v1alpha2") == PodGroup(namespace="shop", name="train", min_count=6, priority=7)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("schedulingConstraints", {"topology": [{"key": "rack"}]}),
        ("resourceClaims", [{"name": "a"}]),
        ("parentCompositePodGroupName", "all"),
        ("zebra", 1),
    ],
)
def test_fields_that_decide_who_runs_where(field: str, value: object) -> None:
    """The group names them."""
    assert _read({**GANG, field: value}).not_modelled == (field,)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (None, "schedulingPolicy"),
        ([], "spec"),
        ({"schedulingPolicy": {}}, "exactly one"),
        ({"schedulingPolicy": {"gang": {"minCount": 1}, "basic": {}}}, "exactly one"),
        ({"schedulingPolicy": {"gang": {"minCount": 0}}}, "minCount"),
        ({"schedulingPolicy": {"gang": {"minCount": 1 << 31}}}, "minCount"),
        ({"schedulingPolicy": {"gang": {"minCount": 10**40}}}, "minCount"),
        ({"schedulingPolicy": {"gang": {"minCount": 2, "maxCount": 3}}}, "maxCount"),
        ({**GANG, "priority": "high"}, "priority"),
    ],
)
def test_groups_that_nobody_can_read(spec: object, words: str) -> None:
    """They say why, and everything else is read."""
    assert words in _read(spec).problem


def test_a_new_field_of_a_policy() -> None:
    """It may mean more than each pod by itself."""
    assert _read({"schedulingPolicy": {"basic": {"zebra": 1}}}).not_modelled == ("schedulingPolicy.basic",)


def test_groups_of_another_api() -> None:
    """The coscheduling plugin has a kind of the same name."""
    world = world_of(obj("PodGroup", "scheduling.x-k8s.io/v1alpha1", "train", "shop", spec={"minMember": 3}))
    assert (world.pod_groups, dict(world.skipped), "PodGroup" in world.captured) == ((), {"PodGroup": 1}, False)


@pytest.mark.parametrize(
    ("group", "name", "unknown"),
    [
        ({"podGroupName": "train"}, "train", ()),
        (None, "", ()),
        ({}, "", ()),
        ({"podGroupName": "train", "zebra": 1}, "", ("schedulingGroup",)),
        ("train", "", ("schedulingGroup",)),
    ],
)
def test_the_group_of_a_pod(group: object, name: str, unknown: tuple[str, ...]) -> None:
    """In an unknown form it makes the pod one that is not modelled."""
    (shape,) = world_of(pod("a", schedulingGroup=group)).pod_shapes
    assert (shape.pod_group, shape.not_modelled) == (name, unknown)


def test_pods_of_two_groups() -> None:
    """They are two shapes."""
    pods = (pod(name, schedulingGroup={"podGroupName": name}) for name in ("a", "b"))
    assert [shape.pod_group for shape in world_of(*pods).pod_shapes] == ["a", "b"]
