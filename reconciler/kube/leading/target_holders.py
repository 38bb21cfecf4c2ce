"""Which cluster of a fleet may write a target of a cloud: a ConfigMap for each target, which the first loop that writes creates.

A cloud has no precondition for a write, and its answers lag. So two loops that read a target at the same time both find no mark
on it. The API server of the management cluster is shared by all loops of a fleet, and creates an object only once. Nobody takes a
target over: a loop that releases it deletes the ConfigMap, and else a person does.
"""

import hashlib
from collections.abc import Mapping
from typing import Protocol

import msgspec

from reconciler.decisions.ownership.other_policies import STATE_PREFIX
from reconciler.kube.connection.api import Api, ApiError
from reconciler.values.decoding import decode

PREFIX = f"{STATE_PREFIX}target-"
"""The admission policies let the loop write ConfigMaps of state, by the beginning of their names."""
_NOT_FOUND, _CONFLICT = 404, 409
_DIGITS = 40


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


class Holders(Protocol):
    """Who may write targets."""

    def take(self, target: str, uid: str) -> str:
        """Take the target unless another cluster has it. Returns why it may not be written; empty: it may."""

    def give_back(self, uid: str) -> None:
        """Other clusters may have the target."""


class TargetHolders:
    """Those of the loop of one cluster, by its `title` (`namespace/name`). `api` writes while this process leads. Both methods
    raise `ApiError` and `UnreachableError`, and what the guard of `api` raises."""

    def __init__(self, api: Api, namespace: str, title: str, labels: Mapping[str, str]) -> None:
        """`labels` are those of the ConfigMaps."""
        self._api = api
        self._collection = f"/api/v1/namespaces/{namespace}/configmaps"
        self._namespace = namespace
        self._title = title
        self._labels = dict(labels)

    def take(self, target: str, uid: str) -> str:
        """As the protocol says."""
        name = _name(uid)
        holder = self._holder(name)
        if holder is None:
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": self._namespace, "labels": self._labels},
                "data": {"cluster": self._title, "target": target, "id": uid},
            }
            try:
                self._api.write("POST", self._collection, body)
            except ApiError as error:
                if error.status != _CONFLICT:
                    raise
                holder = self._holder(name)
            else:
                return ""
        if holder == self._title:
            return ""
        whose = f"cluster {holder}" if holder else "another cluster"
        return (
            f"{whose} has {target}, as ConfigMap {self._namespace}/{name} says: nothing is written. "
            "The group is held until the loop of that cluster releases the target, or a person deletes the ConfigMap"
        )

    def give_back(self, uid: str) -> None:
        """As the protocol says."""
        name = _name(uid)
        if self._holder(name) == self._title:
            self._api.write("DELETE", f"{self._collection}/{name}")

    def _holder(self, name: str) -> str | None:
        """The cluster; None: nobody has it yet. Empty where nobody can tell."""
        try:
            found = decode(self._api.get(f"{self._collection}/{name}"), _ConfigMap)
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return None
            raise
        except msgspec.DecodeError:
            return ""
        return (found.data or {}).get("cluster", "")


def _name(uid: str) -> str:
    return f"{PREFIX}{hashlib.sha256(uid.encode()).hexdigest()[:_DIGITS]}"
