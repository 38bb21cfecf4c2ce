"""The kubeconfig that Cluster API keeps of a workload cluster, as its Secret holds it.

SOURCE: Cluster API's contract: Secret `<cluster>-kubeconfig` in the namespace of the Cluster, key `value`. Its user is the
administrator, and the control plane provider keeps it. So a Secret of our own goes first, with an account of our own rights.

Whoever can write the Secret must not run programs in this process or make it read its files. So only what is listed here is
taken: an address, an authority, and credentials that are data. Any other key refuses the kubeconfig.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from reconciler.cluster.snapshots.yaml_texts import YamlError, json_parts
from reconciler.kube.connection.connection_choice import ConnectionConfigError
from reconciler.values.decoding import decode
from reconciler.values.yaml_events import Bounds

KEY = "value"
SUFFIXES = ("-reconciler-kubeconfig", "-kubeconfig")
"""Of the Secrets' names behind that of the Cluster: the first that is there counts."""
LARGEST_BYTES = 1 << 20
_BOUNDS = Bounds(documents=1, levels=30, values=20_000)
"""Whoever writes the Secret of one cluster must not take the time of the others. A long number like 1:1:1, read by the rules of
YAML 1.1, would take a minute."""
_PRINTED = re.compile(r"[!-~]*")
"""What may be in an address or a token, which both go into the head of a request. SOURCE: RFC 3986 and RFC 6750."""
_SHOWN_KEY = re.compile(r"[A-Za-z-]{1,40}")
_CLUSTER_KEYS = frozenset({"server", "certificate-authority-data", "tls-server-name", "extensions", "disable-compression"})
_USER_KEYS = frozenset({"client-certificate-data", "client-key-data", "token", "extensions"})


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a cluster answers, and who vouches for it. If this changes, it may be another cluster."""

    server: str
    authority: bytes
    tls_server_name: str = ""


class SecretKubeconfig(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster and one user. Either `token` or `certificate` and `key` (PEM) are set."""

    endpoint: Endpoint
    token: str = ""
    certificate: bytes = b""
    key: bytes = b""

    def document(self) -> dict[str, object]:
        """A kubeconfig with nothing but this, for the client library."""
        cluster: dict[str, object] = {
            "server": self.endpoint.server,
            "certificate-authority-data": base64.b64encode(self.endpoint.authority).decode(),
        }
        if self.endpoint.tls_server_name:
            cluster["tls-server-name"] = self.endpoint.tls_server_name
        user: dict[str, object] = {"token": self.token} if self.token else {
            "client-certificate-data": base64.b64encode(self.certificate).decode(),
            "client-key-data": base64.b64encode(self.key).decode(),
        }  # fmt: skip
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "here"}}],
            "clusters": [{"name": "here", "cluster": cluster}],
            "users": [{"name": "here", "user": user}],
        }


class _Secret(msgspec.Struct):
    data: Mapping[str, str] | None = None


class _Context(msgspec.Struct):
    cluster: str = ""
    user: str = ""


class _NamedContext(msgspec.Struct):
    name: str
    context: _Context


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: dict[str, object]


class _NamedUser(msgspec.Struct):
    name: str
    user: dict[str, object]


class _Config(msgspec.Struct, rename="kebab"):
    current_context: str = ""
    contexts: list[_NamedContext] = []
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []


def read_secret(body: bytes) -> SecretKubeconfig:
    """What a Secret as an API server sends it holds. Raises `ConnectionConfigError`, without any of its content."""
    try:
        data = decode(body, _Secret).data or {}
        content = base64.b64decode(data[KEY], validate=True)
    except KeyError:
        raise ConnectionConfigError(f"the Secret has no key {KEY!r}") from None
    except (msgspec.DecodeError, ValueError):
        raise ConnectionConfigError("the Secret cannot be read") from None
    return read_kubeconfig(content)


def read_kubeconfig(content: bytes) -> SecretKubeconfig:
    """The current context of a kubeconfig. Raises `ConnectionConfigError`, without any of its content."""
    if len(content) > LARGEST_BYTES:
        raise ConnectionConfigError(f"the kubeconfig has {len(content)} bytes, more than the limit of {LARGEST_BYTES}")
    try:
        config = decode(next(iter(json_parts(content, _BOUNDS)), b""), _Config)
    except (YamlError, msgspec.DecodeError, ValueError, RecursionError):
        # The texts of these errors quote the document.
        raise ConnectionConfigError("the kubeconfig is invalid YAML, or no kubeconfig") from None
    context = next((one.context for one in config.contexts if one.name == config.current_context), None)
    if context is None:
        raise ConnectionConfigError("the kubeconfig has no context that current-context names")
    cluster = next((one.cluster for one in config.clusters if one.name == context.cluster), None)
    user = next((one.user for one in config.users if one.name == context.user), None)
    if cluster is None or user is None:
        raise ConnectionConfigError("the current context names a cluster or a user that is not in the kubeconfig")
    _only("cluster", cluster, _CLUSTER_KEYS)
    _only("user", user, _USER_KEYS)
    server, authority = _text(cluster, "server"), _data(cluster, "certificate-authority-data")
    if not _is_address(server) or not authority:
        raise ConnectionConfigError(
            "the kubeconfig needs certificate-authority-data and a server of the form https://HOST[:PORT][/PATH]"
        )
    endpoint = Endpoint(server=server, authority=authority, tls_server_name=_text(cluster, "tls-server-name"))
    token = _text(user, "token")
    if not _PRINTED.fullmatch(token) or not _PRINTED.fullmatch(endpoint.tls_server_name):
        raise ConnectionConfigError("the token or tls-server-name of the kubeconfig has characters that neither may have")
    certificate, key = _data(user, "client-certificate-data"), _data(user, "client-key-data")
    if not token and not (certificate and key):
        raise ConnectionConfigError("the user of the kubeconfig has neither a token nor a client certificate with its key")
    return SecretKubeconfig(endpoint=endpoint, token=token, certificate=certificate, key=key)


def _is_address(server: str) -> bool:
    """Whether it is an address of an API server and nothing else: no user, query or fragment, no port that is none."""
    try:
        parts = urlsplit(server)
        whole = parts.scheme == "https" and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    return whole and bool(_PRINTED.fullmatch(server)) and not set("@?#\\") & set(server)


def _only(what: str, given: Mapping[str, object], known: frozenset[str]) -> None:
    """Refuse what may run programs, read files of this process or weaken the connection, and whatever is not known."""
    unknown = sorted(key for key in given.keys() - known if given[key] not in (None, "", False))
    if unknown:
        shown = ", ".join(key if _SHOWN_KEY.fullmatch(key) else "a key with other characters" for key in unknown[:3])
        raise ConnectionConfigError(
            f"the {what} of the kubeconfig sets {shown}: from a Secret only {', '.join(sorted(known))} are taken"
        )


def _text(given: Mapping[str, object], key: str) -> str:
    value = given.get(key, "")
    if not isinstance(value, str):
        raise ConnectionConfigError(f"{key} of the kubeconfig is not a text")
    return value.strip()


def _data(given: Mapping[str, object], key: str) -> bytes:
    try:
        return base64.b64decode("".join(_text(given, key).split()), validate=True)
    except (binascii.Error, ValueError):
        raise ConnectionConfigError(f"{key} of the kubeconfig is not base64") from None
