"""Cluster API in a live process."""

from collections.abc import Iterator, Mapping

from reconciler.kube.connection.api import Api, ApiError
from reconciler.kube.watching.collection import Collection, Served, located
from reconciler.platforms.clusterapi.kinds import KINDS
from reconciler.platforms.clusterapi.reading import READING
from reconciler.platforms.clusterapi.writing.api_version import ClusterApiVersion, served_version
from reconciler.platforms.clusterapi.writing.provider import ClusterApiProvider
from reconciler.providers.contract import TargetProvider
from reconciler.providers.findings import Check, State
from reconciler.providers.live_platforms import LivePlatform, Surroundings
from reconciler.providers.machines.platform_hearing import PlatformHearing

_CODE = "ClusterAPI"
_NOT_FOUND = 404


def _served(api: Api, environment: Mapping[str, str]) -> tuple[Served, ...]:
    version = served_version(api, environment)
    return () if version is None else (Served(platform=READING.name, group=version.group, version=version.version),)


def _provider(around: Surroundings) -> TargetProvider:
    (served,) = around.served
    version = ClusterApiVersion(served.group, served.version)
    hearing = PlatformHearing(reconnecting_seconds=around.reconnecting_seconds)
    return ClusterApiProvider(around.management, version, around.owner, around.platform_chooses, hearing)


def _checks(around: Surroundings) -> Iterator[Check]:
    for served in around.served:
        absent = []
        for kind in (kind.kind for kind in READING.kinds if kind.needed):
            try:
                located(Collection(group=served.group, kind=kind, version=served.version), around.management)
            except ApiError as error:
                if error.status != _NOT_FOUND:
                    raise
                absent.append(kind)
        if absent:
            message = f"{served.api_version} has no {', '.join(absent)}"
            yield Check(code=_CODE, state=State.FAIL, message=message, advice="set CAPI_VERSION to a version that has them")
        else:
            yield Check(code=_CODE, state=State.PASS, message=f"the server has {served.api_version}")


LIVE = LivePlatform(
    name=READING.name,
    kinds=KINDS,
    served=_served,
    provider=_provider,
    checks=_checks,
    detected_by="--management-kubeconfig names the cluster with the MachineDeployments",
    absent=Check(
        code=_CODE,
        state=State.FAIL,
        message="this server does not serve Cluster API",
        advice="set --management-kubeconfig to the cluster with the MachineDeployments, or CAPI_GROUP to another group",
    ),
)
