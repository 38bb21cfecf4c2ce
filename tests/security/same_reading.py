"""Drawn holds and claims on one target, and whether the API server's guard lets our account write them.

Nothing is stored by our account: its writes are tried with dryRun=All on a real API server.
"""

import random
from collections.abc import Iterator

import pytest

from reconciler.cluster.target import FieldOwner
from tests.deploy.attempt import Attempt, Guarded, Object, merge
from tests.testbed.api import Api, ApiError

HOLDS, CLAIMS = 600, 400
PARTS = ("migration", "a person's", "x; until y", "", " ", "; until ", "line\nbreak")
ENDS = (
    "2099-01-01T00:00:00Z", "2099-01-01T00:00:00+02:00", "2099-01-01T00:00:00.123456789Z", " 2099-01-01T00:00:00Z ",
    "2099-02-29T00:00:00Z", "2096-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2099-04-31T00:00:00Z", "2099-12-31T23:59:60Z",
    "2099-01-01T24:00:00Z", "2099-01-01T00:00:00", "2099-01-01t00:00:00z", "2099-01-01 00:00:00Z", "further notice", "",
    "0000-01-01T00:00:00Z", "2099-13-01T00:00:00Z", "2099-01-01T00:00:00+24:00", "2099-01-01T00:00:00.Z",
    "2099-01-01T00:00:00Z\n", "\u0662\u0660\u0669\u0669-01-01T00:00:00Z", "2099-01-01T00:00:00.1234567890Z",
    "2099-01-01T00:00:00Z\u00a0", "2099-01-01T00:00:00Z; until further notice",
)  # fmt: skip
MANAGERS = (
    "kubectl", "kubectl-edit", "kubectl-patch", "kubectl-create", "kubectl-replace", "kubectl-set", "k9s", "oc", "Mozilla",
    "kubectl-client-side-apply", "cluster-autoscaler", "cluster-autoscaler2", "capi-thing", "argocd-controller", "helm",
    "rancher", "fleetagent", "manager", "terraform-provider-helm_v2.17.0_x5", "pulumi-resource-kubernetes", "kapp-controller",
    "k0smotron", "control-plane-operator", "ancient-changes", "before-first-apply", "team-gitops", "team", "kubectl-",
    "kubectl/scale",
)  # fmt: skip


def drawn_holds(draw: random.Random) -> Iterator[str]:
    """Every part with every end, then ends with a slip of the pen."""
    yield from (f"{reason}; until {end}" for reason in PARTS for end in ENDS)
    yield from PARTS
    for _ in range(HOLDS - len(PARTS) * (len(ENDS) + 1)):
        end = "".join(draw.choice("0123456789-:TZ.+ ") if draw.random() < 0.1 else sign for sign in draw.choice(ENDS))
        yield draw.choice(PARTS) + draw.choice(("; until ", ";until ", "; until", "; Until ")) + end


def drawn_owners(draw: random.Random) -> Iterator[FieldOwner]:
    """Known names, and names of any printable signs, by an apply, an update or a write of the scale."""
    for _ in range(CLAIMS):
        manager = draw.choice(MANAGERS) if draw.random() < 0.8 else "".join(draw.choices("abk-_./", k=draw.randint(1, 9)))
        operation, subresource = draw.choice((("Apply", ""), ("Update", ""), ("Update", "scale")))
        yield FieldOwner(manager=manager, operation=operation, subresource=subresource)


def refusal(attempt: Attempt, guard: Guarded) -> str:
    """What the guard says to our account; empty where it lets the write pass."""
    try:
        attempt.by(guard.ours)
    except ApiError as error:
        if error.status != 422:
            raise
        return str(error)
    return ""


def claim_may_go(guard: Guarded, api: Api, bare: Object, owner: FieldOwner) -> bool:
    """Whether our account may take the claim of `owner`, the only one on the target. Cluster API writes to it as well, so that
    it may move between the steps."""
    for _ in range(100):
        try:
            item = claimed_by(api, bare, owner)
            return not refusal(with_entries(item, [one for one in entries(item) if not claims(one)]), guard)
        except ApiError as error:
            if error.status != 409:
                raise
    pytest.fail("the object moved 100 times")


def claimed_by(api: Api, bare: Object, owner: FieldOwner) -> Object:
    """The target with one claim on its replicas."""
    item = api.read(bare)
    entry = {
        "manager": owner.manager, "operation": owner.operation, "apiVersion": item["apiVersion"], "fieldsType": "FieldsV1",
        "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}},
    } | ({"subresource": owner.subresource} if owner.subresource else {})  # fmt: skip
    attempt = with_entries(item, [*(one for one in entries(item) if not claims(one)), entry])
    item = api.merge(item, attempt.body, "somebody")
    found = [(one["manager"], one["operation"], one.get("subresource", "")) for one in entries(item) if claims(one)]
    assert found == [(owner.manager, owner.operation, owner.subresource)]
    return item


def entries(item: Object) -> list[Object]:
    return list(item["metadata"]["managedFields"])


def claims(entry: Object) -> bool:
    return "f:replicas" in entry["fieldsV1"].get("f:spec", {})


def with_entries(item: Object, kept: list[Object]) -> Attempt:
    """The merge patch that leaves these entries alone."""
    return merge(item, {"metadata": {"managedFields": kept, "resourceVersion": item["metadata"]["resourceVersion"]}})
