"""The Cluster Autoscaler's CapacityQuota: a limit over the nodes that it selects.

SOURCE: its proposal of granular resource limits: `autoscaling.x-k8s.io`, limits are maximums alone.
"""

from collections.abc import Callable, Mapping
from typing import Any

from reconciler.policy.import_fragment import Fragment, Leftover
from reconciler.policy.object_part import ObjectPart
from reconciler.rendering.manifests.group_names import group_names

CAPACITY_QUOTA = ("autoscaling.x-k8s.io", "CapacityQuota")
CALLED = "the Cluster Autoscaler's CapacityQuota"
"""What people call the kind."""
_COUNTED = "A limit counts the capacity of all selected nodes, including the control plane and unmanaged nodes."


def capacity_quota(item: Mapping[str, Any], _: Callable[[], str]) -> Fragment:
    """The policy fragment for a CapacityQuota."""
    whole = ObjectPart(item)
    whole.value("apiVersion"), whole.value("kind")
    name = whole.part("metadata").text("name") or "quota"
    (called,) = group_names([(name, name)])
    spec = whole.part("spec")
    limit: dict[str, Any] = {"name": f"quota-{called}"}
    selector = spec.value("selector")
    if not _selects_everything(selector):
        # As it is: a quota without a part of its selector would count other nodes.
        limit["nodes"] = selector
    resources = spec.part("limits").part("resources")
    pieces = [
        resources.piece(resource, {"limits": [{**limit, "max": {resource: resources.value(resource)}}]})
        for resource in resources.keys()  # noqa: SIM118 - not a mapping: it records which keys were asked for
    ]
    left = () if pieces else (Leftover(path="spec.limits.resources", value="", why="it names no resource"),)
    return Fragment(
        title=f"CapacityQuota {name}", pieces=tuple(pieces), leftovers=(*left, *whole.leftovers({})), remarks=(_COUNTED,)
    )


def _selects_everything(selector: object) -> bool:
    """Kubernetes treats a selector without requirements as all objects; here it is left out."""
    if selector is None:
        return True
    if not isinstance(selector, dict) or not selector.keys() <= {"matchLabels", "matchExpressions"}:
        return False
    return all(value in (None, {}, []) for value in selector.values())
