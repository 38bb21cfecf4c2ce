"""What is published of the calls that this program makes: one table, which the server checks what it is asked and what it answers
against, and the tests what the program reads.

SOURCE: the models and paths of "Crusoe Cloud API Gateway" v1 in crusoecloud/client-go (2026-07-20), fields of these calls alone;
machine types, capacities and quotas as its Terraform provider reads them. Codes beside those that a call lists are met elsewhere
in the same API: 404 and 429 are declared by other calls, and Terraform's provider acts on them.
"""

import re
from typing import Any

import msgspec

STRING, INTEGER, BOOLEAN, ANY = "string", "integer", "boolean", "any"
_PYTHON: dict[str, type] = {STRING: str, INTEGER: int, BOOLEAN: bool}

# A field of a type: its own type, `[type]` for a list, `{type}` for a map; `?` behind it: it may be missing.
TYPES: dict[str, dict[str, str]] = {
    "NodePool": {
        "autoscaling_config": "AutoscalingConfig?", "cluster_id": STRING, "count": INTEGER, "created_at": STRING,
        "ephemeral_storage_for_containerd": BOOLEAN, "health": "Health?", "id": STRING, "image_id": STRING,
        "instance_details": "[InstanceDetails]?", "instance_ids": "[string]", "name": STRING, "node_labels": "{string}",
        "node_taints": "[NodeTaint]", "nvlink_domain_id": "string?", "project_id": STRING, "public_ip_type": "string?",
        "reservation_id": STRING, "state": STRING, "subnet_id": STRING, "type": STRING, "updated_at": STRING,
    },
    "NodePoolPatch": {
        "action": "string?", "autoscaling_config": "AutoscalingConfig?", "count": "integer?",
        "ephemeral_storage_for_containerd": "boolean?", "node_labels": "{string}?", "node_pool_version": "string?",
        "node_taints": "[NodeTaint]?", "reservation_id": "string?", "ssh_public_key": "string?",
    },
    "AutoscalingConfig": {"enabled": BOOLEAN, "max_node_size": "integer?", "min_node_size": "integer?"},
    "Health": {"issues": "[HealthIssue]?"},
    "HealthIssue": {
        "affected_count": "integer?", "affected_node_ids": "[string]?", "code": STRING, "message": STRING, "since": "string?",
    },
    "InstanceDetails": {"id": STRING, "using_latest_config": "boolean?"},
    "NodeTaint": {"effect": STRING, "key": STRING, "value": "string?"},
    "Instance": {
        "billing_type": "string?", "commitment_end": "string?", "commitment_period": "integer?", "created_at": STRING,
        "disks": "[any]", "host_channel_adapters": "[any]", "id": STRING, "instance_group_id": "string?",
        "instance_template_id": "string?", "location": STRING, "maintenance_policy": STRING, "name": STRING,
        "network_interfaces": "[any]", "nvlink_domain_id": "string?", "pod_id": "string?", "project_id": STRING,
        "reservation_id": "string?", "state": STRING, "type": STRING, "unit_id": "string?", "updated_at": STRING,
        "waypoint_ids": "[string]?",
    },
    "InstancePatch": {"action": STRING},
    "Cluster": {
        "add_ons": "[string]", "configuration": STRING, "created_at": STRING, "dns_name": STRING, "id": STRING,
        "kubelogin_args": "{string}", "location": STRING, "name": STRING, "node_pools": "[string]", "private": "boolean?",
        "project_id": STRING, "state": STRING, "subnet_id": STRING, "updated_at": STRING, "version": STRING,
    },
    "Operation": {
        "completed_at": STRING, "metadata": ANY, "operation_id": STRING, "result": "any?", "started_at": STRING, "state": STRING,
    },
    "PoolOperation": {
        "completed_at": STRING, "metadata": ANY, "operation_id": STRING, "result": "PoolResult?", "started_at": STRING,
        "state": STRING,
    },
    "PoolResult": {"details": "PoolDetails?", "node_pool": "NodePool?"},
    "PoolDetails": {"error": "string?", "num_vms_created": "integer?"},
    "PoolWritten": {"operation": "PoolOperation"},
    "InstanceWritten": {"operation": "Operation"},
    "Capacity": {"location": STRING, "quantity": INTEGER, "type": STRING},
    "Reservation": {
        "contract_end_date": STRING, "contract_start_date": STRING, "date_delivered": STRING, "delivery_deadline": STRING,
        "duration": INTEGER, "id": STRING, "locations": "[string]", "price": STRING, "product_line": STRING,
        "projects": "[string]", "quantity": INTEGER, "reservation_type": STRING, "used_quantity": INTEGER, "vm_ids": "[string]",
    },
    "MachineType": {
        "cpu_cores": INTEGER, "disk_gb": INTEGER, "gpu_type": STRING, "memory_gb": INTEGER, "num_gpu": INTEGER,
        "product_name": STRING,
    },
    "Quota": {"available": INTEGER, "max": INTEGER, "programmatic_name": STRING, "used": INTEGER},
    "Error": {"code": "string?", "error_id": "string?", "message": "string?", "reason": "string?"},
    **{
        f"{name}s": {"items": f"[{name}]"}
        for name in ("NodePool", "PoolOperation", "Operation", "Capacity", "Reservation", "MachineType", "Quota")
    },
    "Instances": {"items": "[Instance]", "next_token": "string?"},
}  # fmt: skip
ERRORS = {
    400: "bad_request", 401: "bad_credential", 403: "unauthorized", 404: "not_found", 429: "too_many_requests",
    500: "internal_error",
}  # fmt: skip
STATES = frozenset(
    f"STATE_{name}"
    for name in (
        "UNSPECIFIED", "PROVISIONING", "RUNNING", "DEGRADED", "UPDATING", "UPGRADING", "ROTATING", "DELETING", "DELETED",
        "UNHEALTHY",
    )
)  # fmt: skip
"""Of pools; `new states may be added over time`."""


class Described(msgspec.Struct, frozen=True):
    """One call. `{}` in its path is one segment."""

    method: str
    path: str
    answer: str
    query: tuple[str, ...] = ()
    body: str = ""


_PROJECT, _POOLS = "/projects/{}", "/projects/{}/kubernetes/nodepools"
CALLS = (
    Described("GET", _POOLS, "NodePools", ("cluster_id",)),
    Described("GET", f"{_POOLS}/operations", "PoolOperations"),
    Described("GET", f"{_POOLS}/operations/{{}}", "PoolOperation"),
    Described("GET", f"{_POOLS}/{{}}/vms", "Instances", ("limit", "next_token")),
    Described("GET", f"{_POOLS}/{{}}", "NodePool"),
    Described("PATCH", f"{_POOLS}/{{}}", "PoolWritten", body="NodePoolPatch"),
    Described("DELETE", f"{_PROJECT}/compute/vms/instances/{{}}", "InstanceWritten"),
    Described("PATCH", f"{_PROJECT}/compute/vms/instances/{{}}", "InstanceWritten", body="InstancePatch"),
    Described("GET", f"{_PROJECT}/compute/vms/types", "MachineTypes"),
    Described("GET", f"{_PROJECT}/quotas", "Quotas"),
    Described("GET", f"{_PROJECT}/kubernetes/clusters/{{}}", "Cluster"),
    Described("GET", f"{_PROJECT}/kubernetes/autocluster-operations", "Operations", ("cluster_id", "operation_id", "state")),
    Described("GET", "/capacities", "Capacitys", ("product_name", "location")),
    Described("GET", "/organizations/{}/reservations", "Reservations", ("status",)),
)


def call(method: str, path: str) -> Described | None:
    """The one that is meant; None for one that is not described."""
    return next((one for one in CALLS if one.method == method and re.fullmatch(one.path.replace("{}", "[^/]+"), path)), None)


def asked_wrongly(one: Described, query: dict[str, str], body: dict[str, Any]) -> list[str]:
    """What of a request is not as described."""
    unknown = [f"query {key}" for key in query if key not in one.query]
    return unknown + (violations(one.body, body, "body") if one.body else ["a body"] if body else [])


def violations(kind: str, value: Any, where: str = "answer") -> list[str]:
    """What of a value is not as described: fields that are missing, unknown, or of another type."""
    if kind == ANY:
        return []
    if kind.startswith("["):
        if not isinstance(value, list):
            return [f"{where} is no list"]
        return [text for number, item in enumerate(value) for text in violations(kind[1:-1], item, f"{where}[{number}]")]
    if kind.startswith("{"):
        if not isinstance(value, dict):
            return [f"{where} is no map"]
        return [text for key, item in value.items() for text in violations(kind[1:-1], item, f"{where}.{key}")]
    if kind in _PYTHON:
        return [] if type(value) is _PYTHON[kind] else [f"{where} is no {kind}"]
    if not isinstance(value, dict):
        return [f"{where} is no {kind}"]
    fields = TYPES[kind]
    found = [f"{where}.{name} is not described" for name in value if name not in fields]
    found += [f"{where}.{name} is missing" for name, read in fields.items() if name not in value and not read.endswith("?")]
    for name, item in value.items():
        if name in fields:
            found += violations(fields[name].removesuffix("?"), item, f"{where}.{name}")
    return found
