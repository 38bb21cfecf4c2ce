"""How OpenShift's Cluster Autoscaler is told what to size.

Its flags name MachineSets like those of Cluster API; only `--cloud-provider` tells them apart. Its operator derives flags and
annotations from a ClusterAutoscaler and MachineAutoscalers. SOURCE: its provider `openshift`, and cluster-autoscaler-operator."""

from collections.abc import Callable, Mapping
from typing import Any

from reconciler.policy.platform.autoscaler_flags import AutoscalerObject, NamedTarget, PlatformFlags, SizedTarget
from reconciler.values.loose_json import mapping_at

_RANGE = "MachineAutoscaler"


def _named(text: str, _: Callable[[], str]) -> NamedTarget | None:
    kind, _slash, rest = text.partition("/")
    namespace, slash, name = rest.partition("/")
    if not slash or kind != "MachineSet":
        return None
    return NamedTarget(target={"openshift": {"namespace": namespace, "machineSet": name}}, name=name, namespace=namespace)


def _settings(item: Mapping[str, Any]) -> AutoscalerObject:
    return AutoscalerObject(settings=mapping_at(item, "spec"))


def _range(item: Mapping[str, Any]) -> AutoscalerObject:
    meta, spec = mapping_at(item, "metadata"), mapping_at(item, "spec")
    target = mapping_at(spec, "scaleTargetRef")
    name = f"{_RANGE} {meta.get('name')}"
    if not target.get("name"):
        raise ValueError(f"{name}: spec.scaleTargetRef.name is missing")
    sized = SizedTarget(
        by=_RANGE,
        api_group=str(target.get("apiVersion", "")).partition("/")[0],
        kind=str(target.get("kind", "")),
        namespace=str(meta.get("namespace", "")),
        name=str(target["name"]),
        min_size=_replicas(spec, "minReplicas", name),
        max_size=_replicas(spec, "maxReplicas", name),
    )
    return AutoscalerObject(sized=(sized,))


def _replicas(spec: Mapping[str, Any], key: str, name: str) -> int:
    value = spec.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name}: spec.{key} {'is missing' if value is None else 'must be a whole number'}")
    return value


FLAGS = PlatformFlags(
    clouds=("openshift",),
    provider="openshift",
    named=_named,
    alike={
        "spec.maxPodGracePeriod": "max-graceful-termination-sec",
        "spec.scaleDown.cordonNodeBeforeTerminating": "cordon-node-before-terminating",
        "spec.logVerbosity": "v",
    },
    objects={"ClusterAutoscaler": _settings, _RANGE: _range},
    objects_called="OpenShift's ClusterAutoscaler and MachineAutoscalers",
)
