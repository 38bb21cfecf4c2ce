"""The clusters that options name, as connections.

SOURCE of the five arrangements: the Cluster API provider of the Cluster Autoscaler.

- one cluster for both (joined)
- one kubeconfig for both
- in the workload cluster, with a kubeconfig of the management cluster
- in the management cluster, with a kubeconfig of the workload cluster
- two kubeconfigs
"""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click
import msgspec

from reconciler.cli.outputs.failure import InputError
from reconciler.cli.outputs.telling import tell as tell_lines

if TYPE_CHECKING:
    from reconciler.kube.connection.transport import KubernetesApi
    from reconciler.kube.watching.collection import Served

IN_CLUSTER = "in-cluster"


class ConnectionChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The options as given; names are those of the options."""

    context: str | None = None
    kubeconfig: str | None = None
    management_kubeconfig: str | None = None
    management_context: str | None = None
    target_namespaces: tuple[str, ...] = ()


def connection_choice(given: Mapping[str, Any]) -> ConnectionChoice:
    """The values that click hands over, by the names of the options."""
    return ConnectionChoice(**given)


class Connections:
    """`workload` is the cluster whose pods are placed, `management` the one with the targets: the same object when it is one
    cluster. `served` are the platforms of which the management cluster keeps targets."""

    def __init__(self, workload: "KubernetesApi", management: "KubernetesApi", served: "tuple[Served, ...]") -> None:
        self.workload = workload
        self.management = management
        self.served = served


def _warn(words: str) -> None:
    tell_lines(f"warning: {words}")


def connected(
    choice: ConnectionChoice, environment: Mapping[str, str] = os.environ, tell: Callable[[str], None] = _warn
) -> Connections:
    """Both connections, tried once. `tell` is given a sentence for each server whose certificate is not checked. Raises
    `InputError` with what was looked at, or what the server said."""
    from reconciler.kube.connection.api import ApiError, UnreachableError
    from reconciler.providers.live_platforms import served_platforms

    workload = _one(choice.kubeconfig, choice.context, environment)
    management = workload
    if choice.management_kubeconfig is not None or choice.management_context is not None:
        management = _one(choice.management_kubeconfig or choice.kubeconfig, choice.management_context, environment)
    for api in dict.fromkeys((workload, management)):
        if not api.checks_certificate:
            tell(
                f"the certificate of {api.server} is not checked (insecure-skip-tls-verify in the kubeconfig): any server "
                "at that address is trusted. Set certificate-authority-data to its authority"
            )
    try:
        for api in (workload, management):
            api.get("/version")
        served = served_platforms(management, environment)
    except UnreachableError as error:
        raise InputError(f"{error}. Choose another cluster with --context or --kubeconfig") from None
    except ApiError as error:
        hint = ". The server rejected the credentials. Log in again" if error.status == 401 else ""
        raise InputError(f"{management.server}: {error}{hint}") from None
    return Connections(workload, management, served)


def _one(kubeconfig: str | None, context: str | None, environment: Mapping[str, str]) -> "KubernetesApi":
    from reconciler.kube.connection.connection_choice import Choice, ConnectionConfigError
    from reconciler.kube.connection.transport import DEFAULT_TIMEOUT_SECONDS, FIELD_MANAGER, KubernetesApi, Session, connect

    try:
        if kubeconfig == IN_CLUSTER:
            session = Session(Choice(server=IN_CLUSTER))
            return KubernetesApi(session, timeout_seconds=DEFAULT_TIMEOUT_SECONDS, guard=None, user_agent=FIELD_MANAGER)
        return connect(kubeconfig, context, environment=environment)
    except ConnectionConfigError as error:
        raise InputError(str(error)) from None


def own_namespace(given: str | None) -> str:
    """Where our Lease and state lie: as given, else the pod's namespace, else `reconciler`."""
    if given:
        return given
    try:
        with click.open_file("/var/run/secrets/kubernetes.io/serviceaccount/namespace") as file:
            return file.read().strip() or "reconciler"
    except OSError:
        return "reconciler"
