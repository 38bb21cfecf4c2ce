"""OpenShift's Machine API in a live process."""

from collections.abc import Iterator, Mapping

import msgspec

from reconciler.kube.connection.api import Api, ApiError
from reconciler.kube.watching.collection import Served
from reconciler.platforms.openshift.kinds import AUTOSCALING_GROUP, GROUP, MACHINE_SET
from reconciler.platforms.openshift.reading import READING
from reconciler.platforms.openshift.writing.dialect import MachineApiDialect
from reconciler.providers.contract import TargetProvider
from reconciler.providers.findings import Check, State
from reconciler.providers.live_platforms import LivePlatform, Surroundings
from reconciler.providers.machines.platform_hearing import PlatformHearing
from reconciler.providers.machines.provider import MachineProvider
from reconciler.providers.machines.targets import MachineTargets
from reconciler.values.decoding import decode

_NOT_FOUND = 404
# The only version of the machines' group, and the version of the autoscalers' group that has the MachineAutoscaler.
_VERSION = "v1beta1"


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct):
    versions: list[_Version]


def _served(api: Api, _: Mapping[str, str]) -> tuple[Served, ...]:
    groups = tuple(
        Served(platform=READING.name, group=group, version=_VERSION) for group in (GROUP, AUTOSCALING_GROUP) if _has(api, group)
    )
    return groups if any(item.group == GROUP for item in groups) else ()


def _has(api: Api, group: str) -> bool:
    try:
        body = api.get(f"/apis/{group}")
    except ApiError as error:
        if error.status == _NOT_FOUND:
            return False
        raise
    return any(item.version == _VERSION for item in decode(body, _Group).versions)


def _provider(around: Surroundings) -> TargetProvider:
    targets = MachineTargets(around.management, MachineApiDialect(around.served))
    return MachineProvider(targets, around.owner, PlatformHearing(reconnecting_seconds=around.reconnecting_seconds))


def _checks(around: Surroundings) -> Iterator[Check]:
    groups = " and ".join(item.api_version for item in around.served)
    yield Check(code="MachineAPI", state=State.PASS, message=f"the server has {groups}")


LIVE = LivePlatform(name=READING.name, kinds=(MACHINE_SET,), served=_served, provider=_provider, checks=_checks)
