"""How the settings of other autoscalers name targets, read value by value. SOURCE: the Cluster Autoscaler's cloud providers and
its Helm chart, cluster-autoscaler-operator."""

from collections.abc import Mapping
from typing import Any

import pytest

from reconciler.platforms.aws.autoscaler_flags import FLAGS as AWS
from reconciler.platforms.clusterapi.autoscaler_flags import FLAGS as CLUSTER_API
from reconciler.platforms.crusoe.autoscaler_flags import FLAGS as CRUSOE
from reconciler.platforms.openshift.autoscaler_flags import FLAGS as OPENSHIFT
from reconciler.policy.platform.autoscaler_flags import NamedTarget, PlatformFlags, SizedTarget

PLACE = "eu-central-1"


@pytest.mark.parametrize(
    ("flags", "text", "target", "namespace"),
    [
        (AWS, "general", {"aws": {"autoScalingGroup": "general", "region": PLACE}}, ""),
        (CRUSOE, "general", {"crusoe": {"nodePool": "general", "location": PLACE}}, ""),
        (
            CLUSTER_API,
            "MachineSet/capi/general",
            {"clusterAPI": {"kind": "MachineSet", "namespace": "capi", "name": "general"}},
            "capi",
        ),
        (OPENSHIFT, "MachineSet/capi/general", {"openshift": {"namespace": "capi", "machineSet": "general"}}, "capi"),
    ],
)
def test_a_target_by_name(flags: PlatformFlags, text: str, target: Mapping[str, Any], namespace: str) -> None:
    """The NAME of `--nodes=MIN:MAX:NAME`, in the form of each cloud."""
    assert flags.named(text, lambda: PLACE) == NamedTarget(target=target, name="general", namespace=namespace)


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (AWS, "MachineSet/capi/general"),
        (CLUSTER_API, "general"),
        (CLUSTER_API, "capi/general"),
        (OPENSHIFT, "general"),
        (OPENSHIFT, "MachineSet/general"),
        (OPENSHIFT, "MachineDeployment/capi/general"),
    ],
)
def test_the_form_of_another_cloud(flags: PlatformFlags, text: str) -> None:
    """It is left to that one."""
    assert flags.named(text, lambda: PLACE) is None


@pytest.mark.parametrize(
    ("flags", "text", "found"),
    [
        (AWS, "asg:tag=a,b=c", {"aws": {"region": PLACE, "tags": {"a": "", "b": "c"}}}),
        (AWS, "clusterapi:namespace=a", None),
        (CLUSTER_API, "asg:tag=a", None),
        (
            CLUSTER_API,
            "clusterapi:namespace=a,clusterName=c,team=x",
            {"clusterAPI": {"namespaces": ["a"], "clusterName": "c", "labels": {"team": "x"}}},
        ),
        (CLUSTER_API, "clusterapi:", {"clusterAPI": {}}),
        (CLUSTER_API, "clusterapi:namespace=", {"clusterAPI": {}}),
        (OPENSHIFT, "clusterapi:namespace=a", None),
    ],
)
def test_discovery(flags: PlatformFlags, text: str, found: Mapping[str, Any] | None) -> None:
    """The value of `--node-group-auto-discovery` as an item of a policy."""
    assert flags.discovered(text, lambda: PLACE) == found


@pytest.mark.parametrize("text", ["namespace=a", "clusterapi:namespace", "clusterapi:=a", "clusterapi:a=b,,c=d"])
def test_discovery_that_cannot_be_read(text: str) -> None:
    """It is told with the flag, and by the place of the item."""
    with pytest.raises(ValueError, match=f'"{text}"'):
        CLUSTER_API.discovered(text, lambda: PLACE)


def test_the_item_that_is_none() -> None:
    """Counted from one."""
    with pytest.raises(ValueError, match='invalid item 2 "c": write key=value'):
        CLUSTER_API.discovered("clusterapi:a=b,c", lambda: PLACE)


@pytest.mark.parametrize(
    ("flags", "values", "text"),
    [
        (AWS, {"clusterName": "prod"}, "asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/prod"),
        (AWS, {"clusterName": "prod", "tags": ["a", "b/{{ .Values.autoDiscovery.clusterName }}"]}, "asg:tag=a,b/prod"),
        (AWS, {"tags": ["a"]}, ""),
        (AWS, {"clusterName": ""}, ""),
        (CLUSTER_API, {"namespace": "a", "clusterName": "c"}, "clusterapi:namespace=a,clusterName=c"),
        (CLUSTER_API, {"clusterName": "c"}, "clusterapi:clusterName=c"),
        (CLUSTER_API, {"labels": [{"a": "b"}, {"c": "d"}, "e"]}, "clusterapi:a=b,c=d"),
        (CLUSTER_API, {"labels": {"a": "b"}}, ""),
        (CLUSTER_API, {}, ""),
    ],
)
def test_what_the_chart_makes_of_its_values(flags: PlatformFlags, values: Mapping[str, Any], text: str) -> None:
    """Its `autoDiscovery`, as the flag that it writes."""
    assert flags.chart_discovery(values) == text


def test_which_cloud_the_chart_means() -> None:
    """AWS, where its values name none; its region stands in a value of its own."""
    assert [one.chart_default for one in (AWS, CLUSTER_API, OPENSHIFT, CRUSOE)] == [True, False, False, False]
    assert (AWS.chart_place, AWS.place_variables) == ("awsRegion", ("AWS_REGION", "AWS_DEFAULT_REGION"))


def autoscaler(**spec: Any) -> Mapping[str, Any]:
    whole = {
        "minReplicas": 1,
        "maxReplicas": 5,
        "scaleTargetRef": {"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": "a"},
    }
    return {"kind": "MachineAutoscaler", "metadata": {"name": "x", "namespace": "n"}, "spec": {**whole, **spec}}


def test_a_machine_autoscaler() -> None:
    """The range of one MachineSet, in its own namespace."""
    (found,) = OPENSHIFT.objects["MachineAutoscaler"](autoscaler()).sized
    assert found == SizedTarget(
        by="MachineAutoscaler",
        api_group="machine.openshift.io",
        kind="MachineSet",
        namespace="n",
        name="a",
        min_size=1,
        max_size=5,
    )
    bare = OPENSHIFT.objects["MachineAutoscaler"](autoscaler(scaleTargetRef={"name": "a"}) | {"metadata": None}).sized[0]
    assert (bare.api_group, bare.kind, bare.namespace) == ("", "", "")


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"minReplicas": None}, "spec.minReplicas is missing"),
        ({"maxReplicas": "many"}, "spec.maxReplicas must be a whole number"),
        ({"scaleTargetRef": None}, "spec.scaleTargetRef.name is missing"),
        ({"scaleTargetRef": {}}, "spec.scaleTargetRef.name is missing"),
    ],
)
def test_a_machine_autoscaler_that_cannot_be_read(spec: Mapping[str, Any], wrong: str) -> None:
    """By its name, with what is wrong."""
    with pytest.raises(ValueError, match=f"^MachineAutoscaler x: {wrong}$"):
        OPENSHIFT.objects["MachineAutoscaler"](autoscaler(**spec))


def test_a_cluster_autoscaler() -> None:
    """Its spec holds settings; one that is none holds nothing."""
    read = OPENSHIFT.objects["ClusterAutoscaler"]
    assert read({"spec": {"logVerbosity": 4}}).settings == {"logVerbosity": 4}
    assert (read({}).settings, read({"spec": ["x"]}).settings, read({}).sized) == ({}, {}, ())
