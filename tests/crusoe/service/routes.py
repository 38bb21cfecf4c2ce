"""What each path answers, with the fields that are published for it."""

import re
from collections.abc import Callable
from typing import Any

from tests.crusoe.service.behaviour import NO_STOCK, delete, settle, start, stop
from tests.crusoe.service.state import (
    CLUSTER,
    LOCATION,
    ORGANIZATION,
    PROJECT,
    TYPE,
    Account,
    Machine,
    Operation,
    Pool,
    stamp,
)

Answer = dict[str, Any]
_TYPES = ((TYPE, 176, 960, 8, "h100-80gb-sxm"), ("c1a.8x", 8, 32, 0, ""))


class Refused(Exception):  # noqa: N818 - an answer, no fault of the server
    """What a call is refused with."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class Call:
    """One request that was let in."""

    def __init__(self, account: Account, user: str, query: dict[str, str], body: Answer) -> None:
        self.account, self.user, self.query, self.body = account, user, query, body


def answered(account: Account, user: str, method: str, path: str, query: dict[str, str], body: Answer) -> Answer:
    """The answer. Raises `Refused`."""
    for wanted, pattern, handle in _ROUTES:
        match = re.fullmatch(pattern, path)
        if match is not None and wanted == method:
            return handle(Call(account, user, query, body), *match.groups())
    raise Refused(404, "not_found", f"no such path: {method} {path}")


def description(account: Account, pool: Pool) -> Answer:
    """A pool as it is told."""
    machines = [one for one in account.of(pool) if one.state != "DELETED"]
    issues = []
    if account.health and pool.issue_since is not None:
        missing = pool.count - len(account.counted(pool))
        issues.append(
            {"code": "INSUFFICIENT_CAPACITY", "message": pool.issue, "since": stamp(pool.issue_since), "affected_count": missing}
        )
    return {
        "id": pool.id,
        "name": pool.name,
        "cluster_id": CLUSTER,
        "project_id": PROJECT,
        "count": pool.count,
        "instance_ids": [one.id for one in machines],
        "instance_details": [{"id": one.id, "using_latest_config": True} for one in machines],
        "type": pool.type,
        "state": f"STATE_{pool.state}",
        "node_labels": dict(pool.labels),
        "node_taints": [],
        "reservation_id": pool.reservation,
        "image_id": "image",
        "subnet_id": "subnet",
        "ephemeral_storage_for_containerd": False,
        "created_at": stamp(0),
        "updated_at": stamp(pool.updated_at),
        **({"health": {"issues": issues}} if issues else {}),
        **pool.extra,
    }


def _pools(call: Call) -> Answer:
    if call.query.get("cluster_id", CLUSTER) != CLUSTER:
        return {"items": []}
    return pools(call.account)


def pools(account: Account) -> Answer:
    """All of them, as the list has them."""
    return {"items": [description(account, pool) for pool in account.pools.values()]}


def _pool(call: Call, name: str) -> Pool:
    pool = call.account.pools.get(name)
    if pool is None:
        raise Refused(404, "not_found", f"node pool {name} not found")
    return pool


def _one(call: Call, name: str) -> Answer:
    return description(call.account, _pool(call, name))


def _patch(call: Call, name: str) -> Answer:
    pool, account = _pool(call, name), call.account
    count = int(call.body.get("count", pool.count))
    if not call.body or not 0 <= count <= 254:
        raise Refused(400, "bad_request", "count must be between 0 and 254")
    if pool.state == "ROTATING":
        raise Refused(400, "bad_request", "a rotation is in progress")
    before = description(account, pool)
    pool.count, pool.updated_at = count, account.now
    settle(account)
    missing = pool.count - len(account.counted(pool))
    error = account.partial or (NO_STOCK if missing > 0 and not account.replaces_after else "")
    number = f"e0000000-0000-4000-8000-{account.number():012x}"
    account.operations[number] = Operation(
        number, call.user, pool.id, account.now, account.now + account.operation_seconds, before, error
    )
    return {"operation": _operation(account, account.operations[number])}


def _operation(account: Account, one: Operation) -> Answer:
    done = account.now >= one.ends_at
    state = "IN_PROGRESS" if not done else "FAILED" if one.failed else "SUCCEEDED"
    told: Answer = {"operation_id": one.id, "state": state, "started_at": stamp(one.started_at), "metadata": {}}
    if done:
        told["completed_at"] = stamp(one.ends_at)
        told["result"] = {"node_pool": one.before, "details": {"error": one.error, "num_vms_created": 0}}
    else:
        told["completed_at"] = ""
    return told


def _operations(call: Call) -> Answer:
    mine = [one for one in call.account.operations.values() if one.user == call.user]
    return {"items": [_operation(call.account, one) for one in mine]}


def _operation_of(call: Call, name: str) -> Answer:
    found = call.account.operations.get(name)
    if found is None or found.user != call.user:
        raise Refused(403, "unauthorized", "not authorized")
    return _operation(call.account, found)


def _machine(account: Account, one: Machine) -> Answer:
    return {
        "id": one.id,
        "name": f"np-{one.id[-4:]}",
        "project_id": PROJECT,
        "state": f"STATE_{one.state}",
        "type": account.pools[one.pool].type,
        "location": LOCATION,
        "reservation_id": one.reservation,
        "created_at": stamp(one.created_at),
        "updated_at": stamp(one.created_at),
        "maintenance_policy": "unspecified",
        "disks": [],
        "network_interfaces": [],
        "host_channel_adapters": [],
    }


def _machines(call: Call, name: str) -> Answer:
    found = call.account.of(_pool(call, name))
    first = int(call.query.get("next_token") or 0)
    last = first + min(int(call.query.get("limit") or 50), call.account.page)
    more = {"next_token": str(last)} if last < len(found) else {}
    return {"items": [_machine(call.account, one) for one in found[first:last]], **more}


def _delete(call: Call, name: str) -> Answer:
    machine = call.account.machines.get(name)
    if machine is None:
        raise Refused(404, "not_found", f"instance {name} not found")
    if machine.state != "DELETING":
        call.account.deleted.append(name)
        delete(call.account, machine)
        settle(call.account)
    return {"operation": {"operation_id": name, "state": "IN_PROGRESS", "started_at": "", "completed_at": "", "metadata": {}}}


def _act(call: Call, name: str) -> Answer:
    """START and STOP of one machine: what a person does."""
    machine = call.account.machines.get(name)
    if machine is None:
        raise Refused(404, "not_found", f"instance {name} not found")
    if call.body.get("action") == "STOP":
        stop(call.account, machine)
    elif call.body.get("action") == "START":
        if not start(call.account, machine):
            raise Refused(400, "bad_request", f"rpc error: code = ResourceExhausted desc = {NO_STOCK}")
    else:
        raise Refused(400, "bad_request", "unknown action")
    return {"operation": {"operation_id": name, "state": "IN_PROGRESS", "started_at": "", "completed_at": "", "metadata": {}}}


def _remediations(call: Call) -> Answer:
    rest = {"started_at": "", "completed_at": "", "metadata": {}}
    return {"items": [{**rest, **one} for one in call.account.remediations]}


def _cluster(call: Call, name: str) -> Answer:
    if name != CLUSTER:
        raise Refused(404, "not_found", "cluster not found")
    pools = list(call.account.pools)
    return {
        "id": CLUSTER,
        "name": "prod",
        "project_id": PROJECT,
        "location": LOCATION,
        "add_ons": call.account.add_ons,
        "node_pools": pools,
        "configuration": "ha",
        "dns_name": "prod.example.org",
        "kubelogin_args": {},
        "state": "STATE_RUNNING",
        "subnet_id": "subnet",
        "version": "1.33.4-cmk.1",
        "created_at": stamp(0),
        "updated_at": stamp(0),
    }


def _capacities(call: Call) -> Answer:
    asked = call.query.get("product_name", "").split(",")
    stock = {name: left for name, left in call.account.stock.items() if name in asked}
    return {"items": [{"type": name, "location": LOCATION, "quantity": max(0, left)} for name, left in stock.items()]}


def _reservations(call: Call, name: str) -> Answer:
    if name != ORGANIZATION:
        raise Refused(403, "unauthorized", "not authorized")
    account = call.account
    return {
        "items": [
            {
                "id": one,
                "quantity": size,
                "used_quantity": account.used(one),
                "vm_ids": [],
                "projects": [PROJECT],
                "locations": [LOCATION],
                "contract_start_date": stamp(0),
                "contract_end_date": stamp(4_000_000_000),
                "date_delivered": stamp(0),
                "delivery_deadline": stamp(0),
                "duration": 12,
                "price": "0",
                "product_line": "h100",
                "reservation_type": "standard",
            }
            for one, size in account.reservations.items()
        ]
    }


def _machine_types(call: Call) -> Answer:
    keys = ("product_name", "cpu_cores", "memory_gb", "num_gpu", "gpu_type")
    return {"items": [{**dict(zip(keys, one, strict=True)), "disk_gb": 0} for one in _TYPES]}


def _quotas(call: Call) -> Answer:
    return {"items": [{"programmatic_name": "h100", "max": 64, "used": 0, "available": 64}]}


_P = f"/projects/{PROJECT}"
POOLS = f"{_P}/kubernetes/nodepools"
_VMS = f"{_P}/compute/vms/instances"
_ROUTES: tuple[tuple[str, str, Callable[..., Answer]], ...] = (
    ("GET", POOLS, _pools),
    ("GET", f"{POOLS}/operations", _operations),
    ("GET", f"{POOLS}/operations/([^/]+)", _operation_of),
    ("GET", f"{POOLS}/([^/]+)/vms", _machines),
    ("GET", f"{POOLS}/([^/]+)", _one),
    ("PATCH", f"{POOLS}/([^/]+)", _patch),
    ("DELETE", f"{_VMS}/([^/]+)", _delete),
    ("PATCH", f"{_VMS}/([^/]+)", _act),
    ("GET", f"{_P}/compute/vms/types", _machine_types),
    ("GET", f"{_P}/quotas", _quotas),
    ("GET", f"{_P}/kubernetes/clusters/([^/]+)", _cluster),
    ("GET", f"{_P}/kubernetes/autocluster-operations", _remediations),
    ("GET", "/capacities", _capacities),
    ("GET", "/organizations/([^/]+)/reservations", _reservations),
)
