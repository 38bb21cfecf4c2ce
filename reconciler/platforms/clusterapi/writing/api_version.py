"""Which version of Cluster API is used, and the paths of its objects."""

import re
from collections.abc import Iterable, Mapping

import msgspec

from reconciler.kube.connection.api import Api, ApiError
from reconciler.platforms.clusterapi.kinds import CAPI_GROUP, MACHINE_DEPLOYMENT, MACHINE_POOL, MACHINE_SET
from reconciler.values.decoding import decode

_PLURALS = {
    MACHINE_DEPLOYMENT: "machinedeployments",
    MACHINE_SET: "machinesets",
    MACHINE_POOL: "machinepools",
    "Machine": "machines",
    "Cluster": "clusters",
}
_VERSION = re.compile(r"v([0-9]{1,9})(?:(alpha|beta)([0-9]{1,9}))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


class ClusterApiVersion(msgspec.Struct, frozen=True):
    """A group and a version, as `CAPI_GROUP` and `CAPI_VERSION` name them upstream. The group is also the prefix of the
    size annotations, of `delete-machine`, `cluster-name` and `paused`."""

    group: str = CAPI_GROUP
    version: str = "v1beta2"

    @property
    def api_version(self) -> str:
        """`group/version`."""
        return f"{self.group}/{self.version}"

    @property
    def delete_machine(self) -> str:
        """The annotation that makes a Machine the first to go when its set shrinks. Only its key counts."""
        return f"{self.group}/delete-machine"

    def path(self, kind: str, namespace: str, name: str = "") -> str:
        """The path of an object, or of the collection of a namespace."""
        collection = f"/apis/{self.api_version}/namespaces/{namespace}/{_PLURALS[kind]}"
        return f"{collection}/{name}" if name else collection


def newest(versions: Iterable[str]) -> str:
    """The version that Kubernetes would prefer: v2 before v1, v1 before v1beta2, beta before alpha; empty without any.

    SOURCE: version priority of CustomResourceDefinitions. Names of another form come last, in alphabetical order.
    """
    there = sorted(versions)
    known = [version for version in there if _VERSION.fullmatch(version)]
    return max(known, key=_rank, default=next(iter(there), ""))


def _rank(version: str) -> tuple[int, list[int]]:
    """The stage and the numbers of a version in Kubernetes form."""
    _, major, stage, minor = _VERSION.split(version)[:4]
    return _STAGES[stage], [int(number) for number in (major, minor) if number]


def served_version(api: Api, environment: Mapping[str, str]) -> ClusterApiVersion | None:
    """The group and version to use with this server; None if it does not serve the group.

    `CAPI_VERSION` in `environment` pins the version, else the newest served one is used. `CAPI_GROUP` names another group. Raises
    `UnreachableError`, and `ApiError` for anything but an unknown group.
    """
    group = environment.get("CAPI_GROUP") or CAPI_GROUP
    if pinned := environment.get("CAPI_VERSION"):
        return ClusterApiVersion(group, pinned)
    try:
        body = api.get(f"/apis/{group}")
    except ApiError as error:
        if error.status == 404:
            return None
        raise
    version = newest(item.version for item in decode(body, _Group).versions)
    return ClusterApiVersion(group, version) if version else None


class _Served(msgspec.Struct):
    version: str


class _Group(msgspec.Struct):
    versions: list[_Served]
