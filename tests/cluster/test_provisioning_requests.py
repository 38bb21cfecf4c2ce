"""ProvisioningRequests in a snapshot are told as not served, as long as they wait."""

import json

import pytest

from reconciler.cluster.snapshots.redaction import Listing, Pseudonyms, redacted
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import WorldProblem
from tests.builders import policy
from tests.decisions.deciding import plan_of


def _request(*conditions: tuple[str, str], version: str = "v1") -> dict[str, object]:
    return {
        "apiVersion": f"autoscaling.x-k8s.io/{version}",
        "kind": "ProvisioningRequest",
        "metadata": {"name": "train", "namespace": "ml", "creationTimestamp": "2026-11-25T08:00:00Z"},
        "spec": {"provisioningClassName": "check-capacity.autoscaling.x-k8s.io", "podSets": [{"count": 3}]},
        "status": {"conditions": [{"type": kind, "status": status, "reason": "x"} for kind, status in conditions]},
    }


def _problems(item: dict[str, object]) -> tuple[WorldProblem, ...]:
    world = read_snapshot({"requests.json": json.dumps(item).encode()})
    assert world.skipped == ()
    return world.problems


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        ((), True),
        ((("Accepted", "True"),), True),
        ((("Provisioned", "False"),), True),
        ((("Accepted", "True"), ("Provisioned", "True")), False),
        ((("Failed", "True"),), False),
        ((("Provisioned", "True"), ("BookingExpired", "True")), False),
        ((("CapacityRevoked", "True"),), False),
    ],
)
def test_a_request_that_waits_is_told(conditions: tuple[tuple[str, str], ...], *, told: bool) -> None:
    found = _problems(_request(*conditions))
    assert [(one.code, one.object) for one in found] == [("ProvisioningRequestNotServed", "ProvisioningRequest ml/train")] * told
    assert all("check-capacity.autoscaling.x-k8s.io is not served" in one.message for one in found)


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_the_plan_says_so(version: str) -> None:
    world = read_snapshot({"requests.json": json.dumps(_request(version=version)).encode()})
    assert "ProvisioningRequestNotServed" in [problem.code for problem in plan_of(world, policy()).problems]


def test_a_redacted_snapshot_tells_the_same() -> None:
    """Of conditions stays which they are, of the class its name; the request has a pseudonym."""
    over, waiting = _request(("BookingExpired", "True")), _request(("Accepted", "True"))
    over["metadata"] = {"name": "over", "namespace": "ml"}
    items = [{key: value for key, value in item.items() if key not in ("apiVersion", "kind")} for item in (over, waiting)]
    listing = Listing(file="requests", api_version="autoscaling.x-k8s.io/v1", kind="ProvisioningRequest", items=items)
    (shown,) = redacted([listing], Pseudonyms(b"s" * 32))
    (problem,) = read_snapshot({"requests.json": shown.encoded()}).problems
    assert "check-capacity.autoscaling.x-k8s.io is not served" in problem.message
    assert "train" not in problem.object
