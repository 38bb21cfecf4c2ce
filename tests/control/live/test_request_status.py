"""The status of ProvisioningRequests: what is true of them, and nothing of classes that nobody here answers."""

from typing import Any

import pytest

from reconciler.cluster.world import BufferProblem, World
from reconciler.control.live.answers import Answers
from reconciler.control.live.request_status import request_answers
from reconciler.decisions.memory import Memory
from reconciler.kube.watching.collection import REQUESTS
from reconciler.policy.documents import Mode, PolicySet, RequestReading, RequestsFrom
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import plan_of
from tests.kube.api_server import FakeApiServer

COLLECTION = "/apis/autoscaling.x-k8s.io/v1/provisioningrequests"
TRAIN = "/apis/autoscaling.x-k8s.io/v1/namespaces/ml/provisioningrequests/train"
CHECK, GROW = "check-capacity.autoscaling.x-k8s.io", "best-effort-atomic-scale-up.autoscaling.x-k8s.io"


class Told:
    """A server with one request, and what tells on it."""

    def __init__(self) -> None:
        self.server = FakeApiServer()
        self.server.serve(COLLECTION, "ProvisioningRequest")
        self.server.put(TRAIN, {"metadata": {"namespace": "ml", "name": "train", "uid": "uid-train"}, "spec": {}})
        self.now = NOW
        self.answers = Answers(self.server, lambda: self.now, REQUESTS[0], request_answers)

    def turn(self, world: World, rules: PolicySet | None = None, memory: Memory | None = None, now: int = NOW) -> None:
        rules = rules or _rules()
        self.answers.turned(plan_of(world, rules, memory, now), world, rules.policy)

    @property
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.server.objects[TRAIN].get("status", {})
        return found

    def conditions(self) -> dict[str, tuple[str, str]]:
        return {entry["type"]: (entry["status"], entry["reason"]) for entry in self.status.get("conditions", ())}

    def message(self, kind: str) -> str:
        return next(str(entry["message"]) for entry in self.status["conditions"] if entry["type"] == kind)


@pytest.fixture
def told() -> Told:
    return Told()


def _world(pods: int = 5, class_name: str = GROW, **fields: Any) -> World:
    """A node of four cores of which one is used."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=1)
    cluster.pods("web", 1, cpu="1", on="a-1", traits={"safe_to_evict": "false"})
    cluster.request("train", *([(pods, "1")] if pods else []), class_name=class_name, generation=1, **fields)
    return cluster.world()


def _rules(most: int = 9, **fields: object) -> PolicySet:
    reading = RequestsFrom(provisioning_requests=RequestReading.READ)
    return policy(node_group("a", max=most), **{"requests_from": reading, "mode": Mode.ENFORCE, **fields})


ACCEPTED = ("True", "Accepted")


def test_it_is_not_provisioned_before_all_pods_would_run(told: Told) -> None:
    """A node is requested, then there is room for all. Nothing but conditions is written, once each."""
    told.turn(_world())
    assert told.conditions() == {"Accepted": ACCEPTED, "Provisioned": ("False", "CapacityIsRequested")}
    assert told.message("Provisioned") == "3 pods would run now, and a grows for 2 pods"
    told.turn(_world())
    told.now += 60
    told.turn(_world(3))
    assert told.conditions() == {"Accepted": ACCEPTED, "Provisioned": ("True", "CapacityIsProvisioned")}
    assert told.message("Provisioned").startswith("the room is kept until 2027-01-15T08:10:00Z")
    times = {entry["type"]: entry["lastTransitionTime"] for entry in told.status["conditions"]}
    assert times["Accepted"] < times["Provisioned"]
    assert (set(told.status), len(told.server.sent)) == ({"conditions"}, 2)
    assert {entry["observedGeneration"] for entry in told.status["conditions"]} == {1}


@pytest.mark.parametrize(
    ("pods", "class_name", "fields", "most", "expected"),
    [
        (3, CHECK, {}, 9, {"Provisioned": ("True", "CapacityIsFound")}),
        (4, CHECK, {}, 9, {"Provisioned": ("False", "CapacityIsNotFound")}),
        (9, GROW, {}, 1, {"Provisioned": ("False", "CapacityIsNotFound")}),
        (4, CHECK, {"retries": False}, 9,
         {"Provisioned": ("False", "CapacityIsNotFound"), "Failed": ("True", "CapacityIsNotFound")}),
        (9, GROW, {"created": NOW - 60, "valid_seconds": 60}, 9,
         {"Provisioned": ("False", "CapacityIsNotFound"), "Failed": ("True", "Expired")}),
        (1, GROW, {"shape": {"node_selector": (("pool", "b"),)}}, 9,
         {"Provisioned": ("False", "CapacityIsNotFound"), "Failed": ("True", "CapacityIsNotFound")}),
        (3, GROW, {"provisioned_seconds": NOW - 600}, 9,
         {"Provisioned": ("True", "CapacityIsProvisioned"), "BookingExpired": ("True", "CapacityReservationTimeExpired")}),
        (4, CHECK, {"provisioned_seconds": NOW - 60}, 9, {"Provisioned": ("False", "CapacityIsNotFound")}),
    ],
)  # fmt: skip
def test_what_is_true(
    told: Told, pods: int, class_name: str, fields: dict[str, Any], most: int, expected: dict[str, tuple[str, str]]
) -> None:
    told.turn(_world(pods, class_name, **fields), _rules(most))
    assert told.conditions() == {"Accepted": ACCEPTED, **expected}


def test_the_end_of_a_booking_whose_pods_run(told: Told) -> None:
    cluster = ClusterBuilder()
    cluster.group("a", nodes=1)
    marks = (("autoscaling.x-k8s.io/consume-provisioning-request", "train"),)
    cluster.pods("worker", 2, cpu="1", on="a-1", namespace="ml", traits={"annotations": marks})
    cluster.request("train", (2, "1"), provisioned_seconds=NOW - 60)
    told.turn(cluster.world())
    assert told.conditions()["BookingExpired"] == ("True", "CapacityBookingConsumed")


def test_what_cannot_be_read_is_not_accepted(told: Told) -> None:
    told.turn(_world(0, code=BufferProblem.NOT_FOUND, problem="there is no PodTemplate x"))
    assert told.conditions() == {
        "Accepted": ("False", "ReferenceNotFound"), "Provisioned": ("False", "ReferenceNotFound"),
    }  # fmt: skip
    assert told.message("Accepted") == "there is no PodTemplate x"


@pytest.mark.parametrize(
    ("world", "rules"),
    [
        (_world(class_name="queued-provisioning.gke.io"), _rules()),
        (_world(writers=("cluster-autoscaler",)), _rules()),
        (_world(over=True), _rules()),
        (_world(), _rules(mode=Mode.OBSERVE)),
        (_world(), _rules(requests_from=RequestsFrom())),
    ],
)
def test_what_is_not_ours_is_not_written(told: Told, world: World, rules: PolicySet) -> None:
    told.turn(world, rules)
    assert told.server.sent == []
