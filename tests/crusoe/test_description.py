"""What the program reads and asks for is what is published, and the server would tell if it were not."""

import msgspec
import pytest

from reconciler.platforms.crusoe.facts import states, wire
from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.client import HttpCrusoe
from tests.crusoe.service.description import STATES, TYPES, asked_wrongly, call, violations
from tests.crusoe.service.server import Service

READ = {
    "NodePool": wire.NodePool, "NodeTaint": wire.NodeTaint, "Health": wire.Health, "HealthIssue": wire.HealthIssue,
    "AutoscalingConfig": wire.AutoscalingConfig, "Instance": wire.Instance, "Cluster": wire.Cluster, "Capacity": wire.Capacity,
    "Reservation": wire.Reservation, "MachineType": wire.MachineType, "PoolDetails": wire.OperationDetails,
    "PoolResult": wire.OperationResult, "PoolOperation": wire.PoolOperation, "Operation": wire.ClusterOperation,
}  # fmt: skip
OURS = ("kind", "read_seconds")
"""Of documents: no answer has them."""
VALUES = {"string": "x", "integer": 1, "boolean": True, "any": {}}


@pytest.mark.parametrize("name", READ)
def test_fields_that_are_read(name: str) -> None:
    """Each is published; a whole answer is read, and so is one with everything left out that may be missing."""
    described = TYPES[name]
    assert [one.encode_name for one in msgspec.structs.fields(READ[name]) if one.encode_name not in (*described, *OURS)] == []
    for fields in (described, {key: kind for key, kind in described.items() if not kind.endswith("?")}):
        answer = {key: example(kind.removesuffix("?")) for key, kind in fields.items()}
        assert violations(name, answer) == []
        msgspec.json.decode(msgspec.json.encode(answer), type=READ[name])


def example(kind: str) -> object:
    """A value of a type."""
    if kind.startswith("["):
        return [example(kind[1:-1])]
    if kind.startswith("{"):
        return {"key": example(kind[1:-1])}
    if kind in VALUES:
        return VALUES[kind]
    return {key: example(inner) for key, inner in TYPES[kind].items() if not inner.endswith("?")}


def test_states_of_pools() -> None:
    """Those that the program tells apart are published ones."""
    assert {states.RUNNING, states.ROTATING, *states.CHANGING} <= {states.bare(state) for state in STATES}


def test_every_call_is_described(service: Service) -> None:
    """All that an account can ask for, and nothing of it is answered otherwise than described."""
    client = HttpCrusoe(service.credentials)
    account, pool = Account(client, client.credentials), service.account.add(count=2, labels={"team": "a"})
    pool.extra["autoscaling_config"] = {"enabled": False}
    service.account.reservations["r1"] = 2
    service.account.remediations.append({"operation_id": "o1", "state": "SUCCEEDED"})
    account.operation(account.set_count(pool.id, 0, 3))
    account.delete_machine(account.machines(pool.id)[0]["id"])
    asked = (account.pools, account.operations, account.cluster, account.remediations, account.machine_types, account.quotas)
    assert all(answer() for answer in (*asked, account.reservations, lambda: [account.capacities([pool.type])]))
    assert service.wrong == []


def test_what_is_wrong_is_noticed(service: Service) -> None:
    """A field that is not published, in a request and in an answer; a query; a type; an error of another name."""
    client = HttpCrusoe(service.credentials)
    pool = service.account.add()
    with pytest.raises(CrusoeError, match="size is not described"):
        client.call("PATCH", f"{client_pools(service)}/{pool.id}", None, {"size": 3})
    pool.extra["limits"] = {}
    client.call("GET", client_pools(service))
    told = [text.rpartition(" answer.")[2] for text in service.wrong]
    assert told == ["body.size is not described", "items[0].limits is not described"]
    service.wrong = []
    found = call("GET", client_pools(service))
    assert found is not None
    assert asked_wrongly(found, {"page": "2"}, {}) == ["query page"]
    wrong = {"location": "a", "quantity": True}
    assert violations("Capacity", wrong) == ["answer.type is missing", "answer.quantity is no integer"]
    assert call("POST", client_pools(service)) is None


def client_pools(service: Service) -> str:
    return f"/projects/{service.credentials().project}/kubernetes/nodepools"
