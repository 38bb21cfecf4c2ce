"""The rights that each way to run needs, and which of them the API server says we have."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from reconciler.kube.connection.api import Api
from reconciler.kube.connection.token_review import may
from reconciler.kube.watching.collection import (
    DEVICES,
    POD_GROUPS,
    SERVICES,
    WORKLOAD,
    Served,
    followed_kinds,
    platform_collections,
    spoken,
)

READ = ("get", "list", "watch")
_CLAIMS = "pods with resource claims"
_GOOD_FOR = {
    "ResourceSlice": _CLAIMS,
    "ResourceClaim": _CLAIMS,
    "ResourceClaimTemplate": "resource claims that are not made yet, also of DaemonSets on new nodes",
    "PodGroup": "pods of a PodGroup",
}


class RunMode(StrEnum):
    """How the loop is to run; each needs what stands before it, too. ReadOnly: `run --read-only`."""

    READ_ONLY = "ReadOnly"
    OBSERVE = "Observe"
    ENFORCE = "Enforce"


class Right(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Verbs on one resource (with its subresource), in a namespace or in all. `optional` is what the right is good for, if the
    loop can do without it (empty: it cannot)."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    namespace: str = ""
    optional: str = ""
    management: bool = False

    def __str__(self) -> str:
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{', '.join(self.verbs)} {self.resource}{f'.{self.group}' if self.group else ''}{where}"


def needed(
    mode: RunMode,
    served: tuple[Served, ...],
    namespace: str,
    target_namespaces: tuple[str, ...] = (),
    templates: Iterable[tuple[str, str]] = (),
    *,
    services: bool = False,
    apart: bool = False,
) -> tuple[Right, ...]:
    """What is asked of the API server in a mode. `namespace` is where Lease and state lie, `templates` are group and plural of
    the infrastructure templates in use (row S124). `services`: decisions read Services. `apart`: pods and targets are in two
    clusters."""
    places = target_namespaces or ("",)
    followed = (*WORKLOAD, *((SERVICES,) if services else ()))
    rights = [Right(group=item.group, resource=item.plural, verbs=READ) for item in followed]
    optional = (*DEVICES, POD_GROUPS)
    rights += [Right(group=item.group, resource=item.plural, verbs=READ, optional=_GOOD_FOR[item.kind]) for item in optional]
    rights += [
        Right(group=item.group, resource=item.plural, verbs=READ, namespace=item.namespace, management=True)
        for item in platform_collections(served, target_namespaces)
    ]
    rights += [
        Right(group=group, resource=plural, verbs=READ, namespace=place, management=True, optional="nodes of groups at zero")
        for group, plural in templates
        for place in places
    ]
    if mode is not RunMode.READ_ONLY:
        rights += _own(namespace)
        if apart:
            # Events of pods are written beside the pods.
            rights.append(Right(group="events.k8s.io", resource="events", verbs=("create", "patch"), optional="events"))
    if mode is RunMode.ENFORCE:
        rights += [
            Right(group="", resource="nodes", verbs=("get", "patch")),
            Right(group="", resource="pods/eviction", verbs=("create",)),
            *(right for place in places for right in _of_targets(served, place)),
        ]
    return tuple(rights)


def _own(namespace: str) -> list[Right]:
    return [
        _managed("coordination.k8s.io", "leases", ("get", "create", "update"), namespace),
        _managed("", "configmaps", ("get", "list", "create", "update", "delete"), namespace),
        Right(group="events.k8s.io", resource="events", verbs=("create", "patch"), optional="events", management=True),
    ]


def _of_targets(served: tuple[Served, ...], place: str) -> list[Right]:
    return [
        msgspec.structs.replace(_managed(served_kind.group, kind.plural, kind.verbs, place), optional=kind.optional)
        for reading, kind in followed_kinds()
        if kind.verbs and (served_kind := spoken(served, reading, kind)) is not None
    ]


def _managed(group: str, resource: str, verbs: tuple[str, ...], namespace: str) -> Right:
    return Right(group=group, resource=resource, verbs=verbs, namespace=namespace, management=True)


def missing(workload: Api, management: Api, rights: Iterable[Right]) -> tuple[Right, ...]:
    """Those we do not have, with the verbs that are missing. Raises `ApiError` and `UnreachableError`."""
    denied = []
    for right in rights:
        api = management if right.management else workload
        verbs = tuple(verb for verb in right.verbs if not may(api, verb, right.group, right.resource, right.namespace))
        if verbs:
            denied.append(msgspec.structs.replace(right, verbs=verbs))
    return tuple(denied)
