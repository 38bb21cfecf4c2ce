"""How OpenShift's Cluster Autoscaler names MachineSets in its flags: as that of Cluster API does, so that only `--cloud-provider`
tells which it is. SOURCE: its provider `openshift`."""

from collections.abc import Callable

from reconciler.policy.platform_flags import NamedTarget, PlatformFlags


def _named(text: str, _: Callable[[], str]) -> NamedTarget | None:
    kind, _slash, rest = text.partition("/")
    namespace, slash, name = rest.partition("/")
    if not slash or kind != "MachineSet":
        return None
    return NamedTarget(target={"openshift": {"namespace": namespace, "machineSet": name}}, name=name, namespace=namespace)


FLAGS = PlatformFlags(clouds=("openshift",), named=_named)
