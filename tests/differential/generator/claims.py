"""Volume claims in every state: bound, pre-bound, waiting for a consumer, local, lost, missing, generic ephemeral."""

from collections.abc import Callable
from typing import Any

from tests.differential.generator import local_claims
from tests.differential.generator.draft import HOSTNAME, NAMESPACES, ZONE, ZONES, Draft, Object, add_volume
from tests.differential.generator.volume import (
    DRIVER,
    NO_PROVISIONER,
    bind,
    claim,
    csi,
    in_values,
    storage_class,
    use,
    volume,
)

_ZONE_LABELS = "matchLabelExpressions"


def add(draft: Draft) -> None:
    """Make classes and volumes, then claims of every kind, and mount them."""
    storage_class(draft, "now", DRIVER, "Immediate")
    storage_class(draft, "later", DRIVER, "WaitForFirstConsumer")
    storage_class(draft, "later-zonal", DRIVER, "WaitForFirstConsumer", [{_ZONE_LABELS: [{"key": ZONE, "values": ["a", "b"]}]}])
    storage_class(draft, "local", NO_PROVISIONER, "WaitForFirstConsumer")
    local_claims.add_volumes(draft)
    names: dict[str, list[str]] = {namespace: ["no-such-claim"] for namespace in NAMESPACES}
    for index in range(draft.random.randint(12, 40)):
        namespace = draft.random.choice(NAMESPACES)
        make = draft.random.choice(_KINDS)
        item = make(draft, namespace, f"{make.__name__.strip('_').replace('_', '-')}-{index}")
        if draft.chance(15):
            item["spec"]["accessModes"] = ["ReadWriteOncePod"]
        names[namespace].append(item["metadata"]["name"])
    for pod in draft.some(draft.pods, 50):
        for name in draft.subset(names[pod["metadata"]["namespace"]], 1, 2):
            add_volume(pod, use(name))
    for pod in draft.some(draft.pods, 12):
        _ephemeral(draft, pod)


def _bound(draft: Draft, namespace: str, name: str) -> Object:
    term = draft.random.choice(
        (None, in_values(ZONE, draft.subset(ZONES, 1, 2)), in_values(HOSTNAME, draft.subset(draft.node_names(), 1, 4)))
    )
    item = claim(draft, namespace, name, "later", 5)
    bind(item, volume(draft, f"pv-{name}", "later", 5, csi(f"handle-{name}"), term))
    return item


def _bound_to_nothing(draft: Draft, namespace: str, name: str) -> Object:
    item = _bound(draft, namespace, name)
    item["spec"]["volumeName"] = "no-such-volume"
    return item


def _lost(draft: Draft, namespace: str, name: str) -> Object:
    item = _bound_to_nothing(draft, namespace, name)
    item["status"]["phase"] = "Lost"
    return item


def _half_bound(draft: Draft, namespace: str, name: str) -> Object:
    item = _bound(draft, namespace, name)
    item["metadata"]["annotations"] = {}
    return item


def _deleting(draft: Draft, namespace: str, name: str) -> Object:
    item = _bound(draft, namespace, name)
    item["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["kubernetes.io/pvc-protection"]}
    return item


def _waiting(draft: Draft, namespace: str, name: str) -> Object:
    item = claim(draft, namespace, name, draft.random.choice(("later", "later-zonal")), 5)
    if draft.chance(20):
        item["spec"]["volumeAttributesClassName"] = draft.random.choice(("gold", "silver"))
    return item


def _waiting_elsewhere(draft: Draft, namespace: str, name: str) -> Object:
    item = _waiting(draft, namespace, name)
    item["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = draft.random.choice(draft.node_names())
    return item


def _immediate(draft: Draft, namespace: str, name: str) -> Object:
    return claim(draft, namespace, name, "now", 5)


def _without_class(draft: Draft, namespace: str, name: str) -> Object:
    return claim(draft, namespace, name, draft.random.choice((None, "", "no-such-class")), 5)


def _ephemeral(draft: Draft, pod: Object) -> None:
    metadata = pod["metadata"]
    spec = {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem", "resources": {"requests": {"storage": "1Gi"}}}
    template = {"spec": spec | {"storageClassName": "later"}}
    add_volume(pod, {"ephemeral": {"volumeClaimTemplate": template}})
    if draft.chance(25):
        return  # its claim was not made yet
    name = f"{metadata['name']}-{pod['spec']['volumes'][-1]['name']}"
    item = (
        _bound(draft, metadata["namespace"], name) if draft.chance(40) else claim(draft, metadata["namespace"], name, "later", 1)
    )
    owner = "somebody-else" if draft.chance(15) else metadata["uid"]
    item["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": metadata["name"],
            "uid": owner,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


_KINDS: tuple[Callable[[Draft, str, str], dict[str, Any]], ...] = (
    _bound,
    _bound,
    local_claims.bound_local,
    _bound_to_nothing,
    _lost,
    _half_bound,
    _deleting,
    _waiting,
    _waiting,
    _waiting_elsewhere,
    local_claims.waiting_local,
    local_claims.waiting_local,
    local_claims.promised_local,
    _immediate,
    _without_class,
)
