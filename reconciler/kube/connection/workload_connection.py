"""The connection to a workload cluster, by the Secret that Cluster API keeps for it. Credentials may change at any time.

SOURCE of the rules: Cluster API rotates client certificates once in half a year, and managed control planes rotate tokens every
quarter of an hour. Clients that kept the first token were dead after ten minutes (kubernetes/autoscaler 4784). A client that
followed a changed address with its old store mixed two clusters (kubernetes-sigs/cluster-api 13956).
"""

import threading
from collections.abc import Callable
from enum import StrEnum

import msgspec

from reconciler.kube.connection.api import Api, ApiError, UnreachableError
from reconciler.kube.connection.connection_choice import Choice, ConnectionConfigError
from reconciler.kube.connection.secret_kubeconfig import SUFFIXES, SecretKubeconfig, read_secret
from reconciler.kube.connection.transport import DEFAULT_TIMEOUT_SECONDS, FIELD_MANAGER, KubernetesApi, Session
from reconciler.values.cluster_identity import ClusterIdentity

_PASSED_OVER = (403, 404)


class Rotation(StrEnum):
    """What a look at the Secret found. Moved: the address or the authority changed, so a new connection and a new view are
    needed. Unread: the Secret cannot be read or used now, and the credentials in use stay."""

    SAME = "Same"
    SWAPPED = "Swapped"
    MOVED = "Moved"
    UNREAD = "Unread"


class FoundKubeconfig(msgspec.Struct, frozen=True):
    """A kubeconfig, and the namespace and name of its Secret."""

    secret: str
    kubeconfig: SecretKubeconfig


def found_kubeconfig(management: Api, cluster: ClusterIdentity) -> FoundKubeconfig:
    """From the first Secret of a cluster that is there and may be read; names that an operator did not grant are passed over.
    Raises `ConnectionConfigError`, `ApiError` or `UnreachableError`."""
    *own, administrators = (f"{cluster.name}{suffix}" for suffix in SUFFIXES)
    for name in own:
        try:
            return _found(management, cluster, name)
        except ApiError as error:
            if error.status not in _PASSED_OVER:
                raise
    return _found(management, cluster, administrators)


def _found(management: Api, cluster: ClusterIdentity, name: str) -> FoundKubeconfig:
    where = f"{cluster.namespace}/{name}"
    try:
        body = management.get(f"/api/v1/namespaces/{cluster.namespace}/secrets/{name}")
        return FoundKubeconfig(where, read_secret(body))
    except ConnectionConfigError as error:
        raise ConnectionConfigError(f"Secret {where}: {error}") from None


class WorkloadConnection:
    """`api` is the connection. It uses new credentials of the Secret from the next `look` on, and at once after a 401.

    `management` reads the Secret. `message` says why it could not be used at the last attempt; empty: it could. Several threads
    may use it. Raises `ConnectionConfigError`, `ApiError` or `UnreachableError` at construction.
    """

    def __init__(self, management: Api, cluster: ClusterIdentity, *, swapped: Callable[[], None] = lambda: None) -> None:
        """`swapped` is called after new credentials came into use."""
        self._management = management
        self._cluster = cluster
        self._swapped = swapped
        self._lock = threading.Lock()
        found = found_kubeconfig(management, cluster)
        self._used = found.kubeconfig
        self._endpoint = self._used.endpoint
        self.message = ""
        self.moved = False
        choice = Choice(secret=found.secret, server=self._endpoint.server)
        self._session = Session(choice, self._document)
        self.api = KubernetesApi(
            self._session, timeout_seconds=DEFAULT_TIMEOUT_SECONDS, guard=None, user_agent=FIELD_MANAGER, own_sockets=True
        )

    def look(self) -> Rotation:
        """Read the Secret again, and use what it holds. Never raises for what server or Secret say."""
        try:
            fresh = self._read()
            if fresh.endpoint != self._endpoint:
                self.moved = True
                return Rotation.MOVED
            if fresh == self._used:
                self.message = ""
                return Rotation.SAME
            self._reopen()
        except (ApiError, UnreachableError, ConnectionConfigError) as error:
            self.message = str(error)
            return Rotation.MOVED if self.moved else Rotation.UNREAD
        self.message = ""
        return Rotation.SWAPPED

    def _reopen(self) -> None:
        used = self._used
        try:
            self._session.reopen()
        except ConnectionConfigError:
            # The old ones stay in use, so the next look must not take the new ones for known.
            self._used = used
            raise

    def _read(self) -> SecretKubeconfig:
        return found_kubeconfig(self._management, self._cluster).kubeconfig

    def _document(self) -> dict[str, object]:
        """For the session, at its opening and whenever the server refuses the credentials."""
        with self._lock:
            try:
                fresh = self._read()
            except (ApiError, UnreachableError) as error:
                raise ConnectionConfigError(str(error)) from None
            if fresh.endpoint != self._endpoint:
                self.moved = True
                raise ConnectionConfigError("the kubeconfig names another server or authority now")
            swapped, self._used = fresh != self._used, fresh
        if swapped:
            self._swapped()
        return fresh.document()
