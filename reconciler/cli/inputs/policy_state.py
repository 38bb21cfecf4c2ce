"""The policy whose loop keeps state in a namespace."""

from reconciler.cli.outputs.failure import InputError
from reconciler.control.policy.kept_policies import policies_with_state
from reconciler.decisions.ownership.other_policies import LEASE_PREFIX
from reconciler.kube.connection.api import Api, ApiError, UnreachableError
from reconciler.policy.problems.suggestion import choose
from reconciler.values.two_sentences import two_sentences

_NOT_FOUND = 404


def policy_with_state(api: Api, namespace: str, name: str | None) -> str:
    """`name` if a loop of that policy has state or a Lease there; without a name, the only policy that has. Raises
    `InputError`."""
    try:
        policies = policies_with_state(api, namespace)
        if name is not None and name not in policies:
            api.get(f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{LEASE_PREFIX}{name}")
    except (ApiError, UnreachableError) as error:
        if name is None or not isinstance(error, ApiError) or error.status != _NOT_FOUND:
            raise InputError(f"namespace {namespace}: {error}") from None
        hint = choose(name, policies) if policies else "--namespace names another namespace"
        raise InputError(two_sentences(f"no loop of a policy {name} has kept state in namespace {namespace}", hint)) from None
    if name is not None:
        return name
    if not policies:
        raise InputError(
            f"no loop has kept state in namespace {namespace} yet. Name another one with --namespace (`run --namespace`)"
        )
    if len(policies) > 1:
        raise InputError(
            f"loops of several policies keep state in namespace {namespace}: choose with --name ({', '.join(policies)})"
        )
    return policies[0]
