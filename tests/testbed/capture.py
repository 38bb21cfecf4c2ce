"""What a snapshot of the control plane holds, as the API returns it: one file a kind."""

import json

from tests.testbed.api import Api

_PATHS = {
    "nodes": "/api/v1/nodes",
    "pods": "/api/v1/pods",
    "namespaces": "/api/v1/namespaces",
    "persistentvolumes": "/api/v1/persistentvolumes",
    "persistentvolumeclaims": "/api/v1/persistentvolumeclaims",
    "services": "/api/v1/services",
    "replicationcontrollers": "/api/v1/replicationcontrollers",
    "statefulsets": "/apis/apps/v1/statefulsets",
    "replicasets": "/apis/apps/v1/replicasets",
    "daemonsets": "/apis/apps/v1/daemonsets",
    "poddisruptionbudgets": "/apis/policy/v1/poddisruptionbudgets",
    "priorityclasses": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "storageclasses": "/apis/storage.k8s.io/v1/storageclasses",
    "csinodes": "/apis/storage.k8s.io/v1/csinodes",
}


def captured(api: Api) -> dict[str, bytes]:
    """The files of a snapshot, by name."""
    return {f"{name}.json": json.dumps(api.get(path)).encode() for name, path in _PATHS.items()}
