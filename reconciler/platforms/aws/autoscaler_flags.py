"""How the Cluster Autoscaler's settings name Auto Scaling groups. SOURCE: its AWS provider, and its Helm chart."""

from collections.abc import Callable, Mapping
from typing import Any

from reconciler.platforms.aws.eksctl import CLUSTER_CONFIG, cluster_config
from reconciler.policy.platform.autoscaler_flags import NamedTarget, PlatformFlags
from reconciler.values.loose_json import list_at

_TAGS = "asg:tag="
_CLUSTER_NAME = "{{ .Values.autoDiscovery.clusterName }}"
_CHART_TAGS = ("k8s.io/cluster-autoscaler/enabled", f"k8s.io/cluster-autoscaler/{_CLUSTER_NAME}")


def _named(text: str, place: Callable[[], str]) -> NamedTarget | None:
    """A bare name. Names of Cluster API targets have slashes."""
    return None if "/" in text else NamedTarget(target={"aws": {"autoScalingGroup": text, "region": place()}}, name=text)


def _discovered(text: str, place: Callable[[], str]) -> Mapping[str, Any] | None:
    if not text.startswith(_TAGS):
        return None
    keys = text.removeprefix(_TAGS).split(",")
    return {"aws": {"region": place(), "tags": {key.partition("=")[0]: key.partition("=")[2] for key in keys}}}


def _chart_discovery(values: Mapping[str, Any]) -> str:
    name = str(values.get("clusterName") or "")
    tags = list_at(values, "tags") or _CHART_TAGS
    return _TAGS + ",".join(str(tag).replace(_CLUSTER_NAME, name) for tag in tags) if name else ""


FLAGS = PlatformFlags(
    clouds=("aws",),
    provider="aws",
    accelerator_label="k8s.amazonaws.com/accelerator",
    named=_named,
    discovered=_discovered,
    elsewhere={
        "aws-use-static-instance-list": "the loop asks AWS for types where its rights allow that, else it uses the built-in table"
    },
    place_variables=("AWS_REGION", "AWS_DEFAULT_REGION"),
    chart_place="awsRegion",
    chart_discovery=_chart_discovery,
    chart_default=True,
    objects_called="eksctl's ClusterConfig",
    fragments={CLUSTER_CONFIG: cluster_config},
)
