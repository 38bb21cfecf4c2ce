"""Checks that the bounds of admission policies for our account equal those of the policy."""

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.ownership.admission_bounds import admission_bounds
from reconciler.kube.connection.api import Api, ApiError
from reconciler.policy.documents import PolicySet
from reconciler.providers.findings import Check, State
from reconciler.rendering.manifests.bounds_manifest import BOUNDS_NAME, bounds_data, bounds_differences
from reconciler.values.clauses import clauses
from reconciler.values.decoding import decode

_CODE = "Bounds"
_NOT_FOUND = 404
SHOWN = 5


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
    data = decode(answer, _ConfigMap).data
    differ = bounds_differences(bounds_data(admission_bounds(world, policy, now_seconds)), data)
    if not differ:
        return Check(code=_CODE, state=State.PASS, message=f"ConfigMap {namespace}/{BOUNDS_NAME} matches the policy")
    return Check(
        code=_CODE,
        state=State.WARN,
        message=f"ConfigMap {namespace}/{BOUNDS_NAME} differs from the policy: {clauses(differ, SHOWN)}",
        advice=(
            "what renews it (reconciler bounds --apply) logs the cause. Without it, render the file and have it applied: "
            f"reconciler bounds --namespace {namespace}"
        ),
    )
