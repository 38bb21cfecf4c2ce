"""Where a server keeps the object of a target, whichever platform it is of."""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.kube.watching.collection import Served, followed_kinds, spoken


class TargetObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object by `apiVersion` and kind as it is written in manifests, and its path."""

    api_version: str
    kind: str
    path: str


def object_of(target: TargetRef, served: Iterable[Served]) -> TargetObject | None:
    """The object of a target; None for one that no server keeps, or not one of these."""
    known = tuple(served)
    for reading, kind in followed_kinds():
        if kind.target and kind.known_as == target.kind:
            found = spoken(known, reading, kind)
            if found is None:
                return None
            path = f"/apis/{found.api_version}/namespaces/{target.namespace}/{kind.plural}/{target.name}"
            return TargetObject(api_version=found.api_version, kind=kind.kind, path=path)
    return None
