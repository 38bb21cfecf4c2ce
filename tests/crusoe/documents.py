"""Worlds from what Crusoe's API answers."""

import json
from typing import Any

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.target import TargetFacts
from reconciler.cluster.world import World

Object = dict[str, Any]
LOCATION, CLUSTER, PROJECT = "us-east1-a", "c0000000-0000-4000-8000-000000000001", "p0000000-0000-4000-8000-000000000001"
TYPE = "h100-80gb-sxm-ib.8x"
KEEPS = {"lowering": "Keeps"}


def machine_id(number: int) -> str:
    return f"aaaaaaaa-0000-4000-8000-{number:012x}"


def pool(name: str = "h100", count: int = 0, machines: tuple[str, ...] = (), **rest: Any) -> Object:
    return {
        "id": f"pool-{name}",
        "name": name,
        "cluster_id": CLUSTER,
        "project_id": PROJECT,
        "count": count,
        "instance_ids": list(machines),
        "type": TYPE,
        "state": "STATE_RUNNING",
        "node_labels": {},
        "node_taints": [],
        "reservation_id": "",
        "image_id": "image",
        "subnet_id": "subnet",
        "created_at": "2026-11-21T00:00:00Z",
        "updated_at": "2026-11-21T00:00:00Z",
        **rest,
    }


def instance(name: str, state: str = "STATE_RUNNING", **rest: Any) -> Object:
    return {"id": name, "name": f"np-{name[-4:]}", "state": state, "type": TYPE, "location": LOCATION, **rest}


def cluster(**rest: Any) -> Object:
    return {"id": CLUSTER, "name": "prod", "location": LOCATION, "add_ons": [], **rest}


def files(*pools: Object, behaviour: Object | None = KEEPS, **documents: Any) -> dict[str, bytes]:
    """`documents` by the key that a snapshot holds them below."""
    whole = {
        "nodePools": list(pools),
        "crusoeClusters": [cluster()],
        "nodePoolInstances": [instance(name) for item in pools for name in item.get("instance_ids") or ()],
        "autoClusterOperations": [],
        **documents,
    }
    if behaviour is not None:
        whole["crusoeBehaviour"] = behaviour
    return {f"{key}.json": json.dumps({key: content}).encode() for key, content in whole.items()}


def world(*pools: Object, objects: tuple[Object, ...] = (), behaviour: Object | None = KEEPS, **documents: Any) -> World:
    found = files(*pools, behaviour=behaviour, **documents)
    if objects:
        found["objects.json"] = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}).encode()
    return read_snapshot(found)


def facts(*pools: Object, objects: tuple[Object, ...] = (), behaviour: Object | None = KEEPS, **documents: Any) -> TargetFacts:
    return world(*pools, objects=objects, behaviour=behaviour, **documents).targets[0]
