"""Which Cluster of a fleet an API server belongs to: a ConfigMap for each server, which the first loop that connects creates.

Two Clusters may lead to one server, since a Secret with a kubeconfig can be copied. Their loops would add a node each for one pod
and take each other's taints off. The uid of the namespace kube-system tells two servers apart, whatever their addresses.
"""

import hashlib
from collections.abc import Callable, Collection

import msgspec

from reconciler.decisions.ownership.other_policies import STATE_PREFIX
from reconciler.kube.connection.api import Api, ApiError
from reconciler.kube.leading.loop_name import CLUSTER_LABEL, cluster_label
from reconciler.values.cluster_identity import ClusterIdentity
from reconciler.values.decoding import decode

PREFIX = f"{STATE_PREFIX}server-"
"""The admission policies let the loop write ConfigMaps of state, by the beginning of their names."""
_NAMESPACE = {"fieldSelector": "metadata.name=kube-system"}
_FORBIDDEN, _NOT_FOUND, _CONFLICT = 403, 404, 409
_DIGITS = 40
_TRIES = 3


class _Meta(msgspec.Struct, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _Item(msgspec.Struct):
    metadata: _Meta
    data: dict[str, str] | None = None


class _Items(msgspec.Struct):
    items: list[_Item] = []


class ServerClaims:
    """Claims in `namespace`. `clusters` are the titles of the Clusters that there are now. Several threads may use it."""

    def __init__(self, api: Api, namespace: str, clusters: Callable[[], Collection[str]]) -> None:
        self._api = api
        self._collection = f"/api/v1/namespaces/{namespace}/configmaps"
        self._namespace = namespace
        self._clusters = clusters

    def claim(self, workload: Api, cluster: ClusterIdentity) -> str:
        """Take the server behind `workload` for a cluster. Returns which other Cluster has it. Empty: it is this one's, or may
        not be recognized. Raises `ApiError` and `UnreachableError`."""
        uid = _uid(workload)
        if not uid:
            return ""
        name = f"{PREFIX}{hashlib.sha256(uid.encode()).hexdigest()[:_DIGITS]}"
        for _ in range(_TRIES):
            found = self._read(name)
            if found is None:
                if self._create(name, cluster):
                    return ""
                continue
            holder = (found.data or {}).get("cluster", "")
            if holder == cluster.title:
                return ""
            there = self._clusters()
            if not there or holder in there:
                return (
                    f"its kubeconfig leads to the API server of Cluster {holder}, as ConfigMap {self._namespace}/{name} says: "
                    "the reconciler decides for only one of them. Correct the Secret, or delete the Cluster that is not needed"
                )
            self._forget(name, found)
        return f"ConfigMap {self._namespace}/{name} changes all the time, so the owner of the API server is unknown"

    def _read(self, name: str) -> _Item | None:
        try:
            return decode(self._api.get(f"{self._collection}/{name}"), _Item)
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    def _create(self, name: str, cluster: ClusterIdentity) -> bool:
        labels = {CLUSTER_LABEL: cluster_label(cluster.namespace, cluster.name)}
        metadata = {"name": name, "namespace": self._namespace, "labels": labels}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"cluster": cluster.title}}
        try:
            self._api.write("POST", self._collection, body)
        except ApiError as error:
            if error.status == _CONFLICT:
                return False
            raise
        return True

    def _forget(self, name: str, found: _Item) -> None:
        """The Cluster that has it is gone."""
        bound = {"preconditions": {"uid": found.metadata.uid, "resourceVersion": found.metadata.resource_version}}
        try:
            self._api.write("DELETE", f"{self._collection}/{name}", bound)
        except ApiError as error:
            if error.status not in (_NOT_FOUND, _CONFLICT):
                raise


def _uid(workload: Api) -> str:
    """What tells the server apart; empty if we may not read it."""
    try:
        found = decode(workload.get("/api/v1/namespaces", _NAMESPACE), _Items).items
    except ApiError as error:
        if error.status in (_FORBIDDEN, _NOT_FOUND):
            return ""
        raise
    return found[0].metadata.uid if found else ""
