"""The status of CapacityBuffers: what is true of them, written once, and to nobody's buffer but ours."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from reconciler.cluster.world import BufferProblem, World
from reconciler.control.live.answers import Answers
from reconciler.control.live.buffer_status import buffer_answers
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.kube.watching.collection import BUFFERS
from reconciler.policy.documents import BufferReading, HeadroomFrom, Mode, PolicySet
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import plan_of
from tests.kube.api_server import FakeApiServer

COLLECTION = "/apis/autoscaling.x-k8s.io/v1beta1/capacitybuffers"
SPARE = "/apis/autoscaling.x-k8s.io/v1beta1/namespaces/shop/capacitybuffers/spare"
READ = HeadroomFrom(capacity_buffers=BufferReading.READ)


class Told:
    """A server with one buffer, and what tells on it; its clock stands still until told."""

    def __init__(self) -> None:
        self.server = FakeApiServer()
        self.server.serve(COLLECTION, "CapacityBuffer")
        self.server.put(SPARE, {"metadata": {"namespace": "shop", "name": "spare", "uid": "u1"}, "spec": {"replicas": 5}})
        self.now = NOW
        self.status = Answers(self.server, lambda: self.now, BUFFERS[0], buffer_answers)

    def turn(self, world: World, rules: PolicySet) -> None:
        self.status.turned(plan_of(world, rules), world, rules.policy)

    @property
    def object(self) -> dict[str, Any]:
        return self.server.objects[SPARE]

    def conditions(self) -> dict[str, tuple[str, str, str]]:
        entries = self.object["status"]["conditions"]
        return {entry["type"]: (entry["status"], entry["reason"], entry["message"]) for entry in entries}

    def writes(self) -> int:
        return len(self.server.sent)


@pytest.fixture
def told() -> Told:
    return Told()


def _world(pods: int = 5, **fields: object) -> World:
    """A node of four cores of which one is used."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=1)
    cluster.pods("web", 1, cpu="1", on="a-1", traits={"safe_to_evict": "false"})
    cluster.buffer("spare", pods, cpu="1", **{"uid": "u1", "generation": 2, **fields})
    return cluster.world()


def _rules(most: int = 9, **fields: object) -> PolicySet:
    return policy(node_group("a", max=most), **{"headroom_from": READ, "mode": Mode.ENFORCE, **fields})


def test_what_is_asked_for_and_requested(told: Told) -> None:
    """Three of five pods fit, and a node more is requested."""
    told.turn(_world(template="small", template_generation=7), _rules())
    status = told.object["status"]
    assert {key: status[key] for key in status if key != "conditions"} == {
        "podTemplateRef": {"name": "small"},
        "podTemplateGeneration": 7,
        "replicas": 5,
        "provisioningStrategy": "buffer.x-k8s.io/active-capacity",
    }
    assert told.conditions() == {
        "ReadyForProvisioning": ("True", "Resolved", "it asks for 5 pods"),
        "LimitedByQuotas": ("False", "ResourceQuotasAllocated", ""),
        "Provisioning": ("False", "RequiresNewCapacity", "3 pods would run now, and a grows for 2 pods"),
    }
    assert {entry["observedGeneration"] for entry in status["conditions"]} == {2}
    ((method, path, body),) = told.server.sent
    assert (method, path, set(body)) == ("PATCH", f"{SPARE}/status", {"apiVersion", "kind", "metadata", "status"})
    assert body["apiVersion"] == "autoscaling.x-k8s.io/v1beta1"


def test_it_is_written_once_and_changes_as_things_do(told: Told) -> None:
    """The transition time of a condition stays until its status changes. A new process writes nothing that is there."""
    told.turn(_world(), _rules())
    told.turn(_world(), _rules())
    assert told.writes() == 1
    told.now += 60
    told.turn(_world(3), _rules())
    assert told.conditions()["Provisioning"] == ("True", "FitsExistingCapacity", "3 pods would run now")
    times = {entry["type"]: entry["lastTransitionTime"] for entry in told.object["status"]["conditions"]}
    assert times["ReadyForProvisioning"] < times["Provisioning"]
    another = Answers(told.server, lambda: NOW + 999, BUFFERS[0], buffer_answers)
    another.turned(plan_of(_world(3), _rules()), _world(3), _rules().policy)
    assert told.writes() == 2


@pytest.mark.parametrize(
    ("pods", "fields", "most", "expected"),
    [
        (0, {"asked": 0}, 9, ("True", "BufferEmpty")),
        (9, {}, 1, ("False", "CapacityNotAvailable")),
        (2, {"asked": 4, "limited_by": ("team",)}, 9, ("True", "FitsExistingCapacity")),
    ],
)
def test_whether_the_room_is_there(
    told: Told, pods: int, fields: dict[str, object], most: int, expected: tuple[str, str]
) -> None:
    told.turn(_world(pods, **fields), _rules(most))
    assert told.conditions()["Provisioning"][:2] == expected
    limited = (
        ("True", "ResourceQuotasAllocated", "team allow 2 of 4")
        if "limited_by" in fields
        else told.conditions()["LimitedByQuotas"]
    )
    assert told.conditions()["LimitedByQuotas"] == limited
    if most == 1:
        assert "there is no room for 6 pods" in told.conditions()["Provisioning"][2]
        assert "maximum size 1" in told.conditions()["Provisioning"][2]


def test_what_cannot_be_told(told: Told) -> None:
    world = _world(
        0, code=BufferProblem.UNKNOWN_STRATEGY, problem="the strategy x.io/cold is not known here", strategy="x.io/cold"
    )
    world = msgspec.structs.replace(world, buffers=(msgspec.structs.replace(world.buffers[0], shape=-1),))
    told.turn(world, _rules())
    assert told.conditions() == {
        "ReadyForProvisioning": ("False", "UnknownStrategy", "the strategy x.io/cold is not known here"),
        "Provisioning": ("False", "NotReadyForProvisioning", "the strategy x.io/cold is not known here"),
    }
    assert told.object["status"]["provisioningStrategy"] == "x.io/cold"


@pytest.mark.parametrize(
    "fields", [{"mode": Mode.OBSERVE}, {"headroom_from": HeadroomFrom()}, {"headroom_from": HeadroomFrom(), "mode": Mode.OBSERVE}]
)
def test_nothing_is_written_unless_the_policy_enforces_and_reads(told: Told, fields: dict[str, object]) -> None:
    told.turn(_world(), _rules(**fields))
    assert told.writes() == 0


def _answer(told: Told, manager: str = "cluster-autoscaler") -> None:
    """Another program writes the status."""
    condition = {"type": "Provisioning", "status": "True", "reason": "Theirs", "message": "", "lastTransitionTime": "x"}
    fields = {"f:status": {"f:conditions": {".": {}, 'k:{"type":"Provisioning"}': {"f:reason": {}, "f:status": {}}}}}
    entry = {"manager": manager, "operation": "Update", "subresource": "status", "fieldsV1": fields}
    there = told.object
    told.server.put(
        SPARE, there | {"metadata": there["metadata"] | {"managedFields": [entry]}, "status": {"conditions": [condition]}}
    )


def test_a_buffer_that_another_program_answers_is_left_alone(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the policy takes over from that program. Only that write is forced."""
    _answer(told)
    forced: list[str] = []
    write = told.server.write

    def noted(*asked: Any, query: Mapping[str, str] | None = None, **more: Any) -> bytes:
        forced.append((query or {}).get("force", ""))
        return write(*asked, query=query, **more)

    monkeypatch.setattr(told.server, "write", noted)
    world = _world(writers=("cluster-autoscaler",))
    told.turn(world, _rules())
    assert (told.writes(), told.conditions()["Provisioning"][1]) == (0, "Theirs")
    told.turn(world, _rules(adopt_from=("cluster-autoscaler",)))
    assert told.conditions()["Provisioning"][1] == "RequiresNewCapacity"
    told.server.put(SPARE, {"metadata": {"namespace": "shop", "name": "spare", "uid": "u1", "managedFields": []}, "spec": {}})
    told.turn(_world(4), _rules())
    assert forced == ["true", ""]


def test_who_came_first_since_the_view_keeps_it(told: Told) -> None:
    """The view does not know yet that another program answers: nothing is overwritten."""
    _answer(told)
    told.turn(_world(), _rules())
    assert (told.conditions()["Provisioning"][1], told.writes()) == ("Theirs", 0)


def test_a_status_that_was_taken_away_is_written_again(told: Told) -> None:
    """Not before the view has shown it once: it may be older than the write."""
    told.turn(_world(), _rules())
    told.turn(_world(), _rules())
    told.turn(_world(writers=("nodegroup-reconciler",)), _rules())
    assert told.writes() == 1
    told.server.put(SPARE, {"metadata": {"namespace": "shop", "name": "spare", "uid": "u1"}, "spec": {}})
    told.turn(_world(), _rules())
    assert (told.writes(), told.conditions()["Provisioning"][0]) == (2, "False")


def test_another_buffer_of_the_same_name_and_one_that_is_gone(told: Told) -> None:
    told.turn(_world(uid="u0"), _rules())
    told.server.remove(SPARE)
    told.turn(_world(), _rules())
    assert told.writes() == 0


@pytest.mark.parametrize("fault", [NotLeaderError("no"), UnreachableError("no"), ApiError(403, "Forbidden", "no")])
def test_a_refusal_ends_nothing_and_is_tried_again(told: Told, fault: Exception) -> None:
    told.server.refused[f"{SPARE}/status"] = fault
    told.turn(_world(), _rules())
    assert "status" not in told.object
    told.server.refused.clear()
    told.turn(_world(), _rules())
    assert told.conditions()["ReadyForProvisioning"][0] == "True"
