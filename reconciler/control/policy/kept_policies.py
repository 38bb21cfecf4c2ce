"""Which policies have their state in a namespace, and which of them came from one source: what a restart finds its name by."""

import msgspec

from reconciler.control.policy.stored_policy import LockedState, StateLastGoodStore
from reconciler.gitops.sources.last_good import LastGoodError
from reconciler.kube.connection.api import Api
from reconciler.kube.leading.loop_name import CLUSTER_LABEL, STATE_LABEL
from reconciler.kube.leading.state import StateObject
from reconciler.values.decoding import decode


class _Meta(msgspec.Struct):
    labels: dict[str, str] | None = None


class _Item(msgspec.Struct):
    metadata: _Meta


class _Items(msgspec.Struct):
    items: list[_Item]


def policies_with_state(api: Api, namespace: str) -> tuple[str, ...]:
    """The policies whose loops keep state in a namespace, sorted; loops of a fleet are left out. Raises `ApiError` and
    `UnreachableError`."""
    selector = {"labelSelector": f"{STATE_LABEL},!{CLUSTER_LABEL}"}
    config_maps = decode(api.get(f"/api/v1/namespaces/{namespace}/configmaps", selector), _Items)
    return tuple(sorted({(item.metadata.labels or {}).get(STATE_LABEL, "") for item in config_maps.items} - {""}))


def kept_from(api: Api, namespace: str, source: str) -> tuple[str, ...]:
    """The policies of a namespace whose last good one came from a source, sorted. One that cannot be read is passed over: the
    loop of its name says so when it begins. Raises `ApiError` and `UnreachableError`."""
    names = []
    for name in policies_with_state(api, namespace):
        try:
            kept = StateLastGoodStore(LockedState(StateObject(api, namespace, name))).load()
        except LastGoodError:
            continue
        if kept is not None and kept.source == source:
            names.append(name)
    return tuple(names)
