"""Whether the bounds that admission policies hold our account to are those of the policy."""

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.ownership.admission_bounds import admission_bounds
from reconciler.kube.connection.api import Api, ApiError
from reconciler.policy.documents import PolicySet
from reconciler.providers.check import Check, State
from reconciler.rendering.bounds_manifest import BOUNDS_NAME, bounds_data, bounds_differences

_CODE = "Bounds"
_NOT_FOUND = 404
_SHOWN = 5


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] = msgspec.field(default_factory=dict[str, str])


def bounds_check(api: Api, namespace: str, world: World, policy: PolicySet, now_seconds: int) -> Check:
    """Compares the ConfigMap of the management cluster with what the policy says of what is there. Only that one is asked for;
    where it may not be read, that is the answer."""
    try:
        answer = api.get(f"/api/v1/namespaces/{namespace}/configmaps/{BOUNDS_NAME}")
    except ApiError as error:
        if error.status == _NOT_FOUND:
            message = f"there is no ConfigMap {namespace}/{BOUNDS_NAME}: ranges and evictions are bounded by the reconciler alone"
            return Check(code=_CODE, state=State.PASS, message=message)
        message = f"ConfigMap {namespace}/{BOUNDS_NAME} cannot be read: {error.message}"
        return Check(code=_CODE, state=State.WARN, message=message)
    found = msgspec.json.decode(answer, type=_ConfigMap).data
    differ = bounds_differences(bounds_data(admission_bounds(world, policy, now_seconds)), found)
    if not differ:
        return Check(code=_CODE, state=State.PASS, message=f"ConfigMap {namespace}/{BOUNDS_NAME} is what the policy says")
    more = f"; and {len(differ) - _SHOWN} more" if len(differ) > _SHOWN else ""
    return Check(
        code=_CODE,
        state=State.WARN,
        message=f"ConfigMap {namespace}/{BOUNDS_NAME} is not what the policy says: {'; '.join(differ[:_SHOWN])}{more}",
        advice=(
            "what renews it (reconciler bounds --apply) says in its log why it does not; without it, render and have it applied: "
            f"reconciler bounds --namespace {namespace}"
        ),
    )
