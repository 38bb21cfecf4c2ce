"""The path of a target's object on the server, for every platform."""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.kube.watching.collection import Served, followed_kinds, spoken


class TargetObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object by `apiVersion` and kind as in manifests, and its path."""

    api_version: str
    kind: str
    path: str


def object_of(target: TargetRef, served: Iterable[Served]) -> TargetObject | None:
    """The object of a target; None for a target that is on no server, or on none of these."""
    known = tuple(served)
    for reading, kind in followed_kinds():
        if kind.target and kind.known_as == target.kind:
            served_kind = spoken(known, reading, kind)
            if served_kind is None:
                return None
            path = f"/apis/{served_kind.api_version}/namespaces/{target.namespace}/{kind.plural}/{target.name}"
            return TargetObject(api_version=served_kind.api_version, kind=kind.kind, path=path)
    return None
