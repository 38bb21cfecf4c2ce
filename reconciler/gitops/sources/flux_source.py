"""Policy from an artifact of Flux's source-controller: a tar.gz over HTTP, named with its digest in a status.

SOURCE: Flux's source API v1: `status.artifact.{url,digest,revision,size}`, digest `<algorithm>:<hex>`, revision
`main@sha1:<hex>`. The artifact stays in the status if a later fetch fails. Condition SourceVerified is about `spec.verify`.
source-controller handles credentials, history and submodules.
"""

import hashlib
import hmac
import re

import msgspec

from reconciler.gitops.git.fault import FaultCode, failed
from reconciler.gitops.git.tree_refusals import refusals
from reconciler.gitops.sources.archive import MAX_ARCHIVE_BYTES, ArchiveError, ArchiveTooDearError
from reconciler.gitops.sources.bounded_archive import bounded_unpacked
from reconciler.gitops.sources.download import Download, DownloadError, downloaded
from reconciler.gitops.sources.source import Fetched
from reconciler.kube.connection.api import Api, ApiError, UnreachableError
from reconciler.values.decoding import decode

_GROUP = "source.toolkit.fluxcd.io/v1"
KINDS = {
    "GitRepository": "gitrepositories",
    "OCIRepository": "ocirepositories",
    "Bucket": "buckets",
    "ExternalArtifact": "externalartifacts",
}
_ALGORITHMS = ("sha256", "sha384", "sha512")
_COMMIT = re.compile(r"(?:.*@)?sha(?:1|256):([0-9a-f]{40}|[0-9a-f]{64})")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


class _Artifact(msgspec.Struct, frozen=True):
    url: str
    digest: str = ""
    revision: str = ""


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str = ""


class _Status(msgspec.Struct, frozen=True):
    artifact: _Artifact | None = None
    conditions: tuple[_Condition, ...] = ()


class _Object(msgspec.Struct, frozen=True):
    status: _Status = _Status()


class FluxSource:
    """`kind` is one of KINDS; `require_verified` refuses an artifact whose signature Flux has not checked."""

    def __init__(
        self, api: Api, kind: str, namespace: str, name: str, path: str = "", *,
        require_verified: bool = False, download: Download = downloaded,
    ) -> None:  # fmt: skip
        """`path` is the place of the policies in the artifact, a checked relative path. Raises `ValueError`."""
        if kind not in KINDS:
            raise ValueError(f"unknown kind of Flux source {kind}. Use one of {', '.join(KINDS)}")
        if not _NAME.fullmatch(namespace) or not _NAME.fullmatch(name):
            raise ValueError("write a Flux source as NAMESPACE/NAME")
        self._api = api
        self._kind, self._namespace, self._object = kind, namespace, name
        self._path = path
        self._require_verified = require_verified
        self._download = download
        self._last: tuple[str, Fetched] | None = None
        self._too_dear: tuple[str, str] = ("", "")

    @property
    def name(self) -> str:
        """`GitRepository flux-system/policies:clusters/prod`."""
        return f"{self._kind} {self._namespace}/{self._object}" + (f":{self._path}" if self._path else "")

    def fetch(self, last_revision: str | None, last_seconds: int = 0) -> Fetched:
        """The tree of the artifact in the status. It is read again only after its digest has changed. Raises `SourceError`."""
        artifact = self._artifact()
        if self._last is not None and self._last[0] == artifact.digest:
            return self._last[1]
        if self._too_dear[0] == artifact.digest != "":
            raise failed(FaultCode.DAMAGED, self._too_dear[1], revision=artifact.revision)
        archive = self._archive(artifact)
        try:
            tree = bounded_unpacked(archive, self._path)
        except ArchiveError as error:
            if isinstance(error, ArchiveTooDearError):
                self._too_dear = (artifact.digest, f"{self.name}: {error}")
            raise failed(FaultCode.DAMAGED, f"{self.name}: {error}", revision=artifact.revision) from None
        if not tree.exists:
            raise failed(FaultCode.PATH_NOT_FOUND, f"{self._path} is not in the artifact", "check --path", artifact.revision)
        commit = _COMMIT.fullmatch(artifact.revision)
        fetched = Fetched(
            revision=commit[1] if commit else artifact.revision or artifact.digest,
            root=self._path,
            files=tree.files,
            problems=refusals(tree.problems, self._path),
            unread=tree.unread,
        )
        self._last = (artifact.digest, fetched)
        return fetched

    def _artifact(self) -> _Artifact:
        path = f"/apis/{_GROUP}/namespaces/{self._namespace}/{KINDS[self._kind]}/{self._object}"
        try:
            status = decode(self._api.get(path), _Object).status
        except ApiError as error:
            raise failed(FaultCode.UNREACHABLE, f"cannot read {self.name}: {error}") from None
        except UnreachableError as error:
            raise failed(FaultCode.UNREACHABLE, f"cannot read {self.name}: {error}") from None
        except msgspec.MsgspecError as error:
            raise failed(FaultCode.DAMAGED, f"{self.name} has an unexpected form: {error}") from None
        if status.artifact is None:
            raise failed(
                FaultCode.UNREACHABLE, f"{self.name} has no artifact yet", f"see its conditions: flux get source {self.name}"
            )
        seen = {condition.type: condition.status for condition in status.conditions}
        if self._require_verified and seen.get("SourceVerified") != "True":
            raise failed(
                FaultCode.UNSIGNED, f"{self.name} is not verified by Flux", "set spec.verify on it", status.artifact.revision
            )
        return status.artifact

    def _archive(self, artifact: _Artifact) -> bytes:
        algorithm, _, expected = artifact.digest.partition(":")
        if algorithm not in _ALGORITHMS or not expected:
            raise failed(FaultCode.DAMAGED, f"{self.name}: the artifact has no known digest", revision=artifact.revision)
        try:
            archive = self._download(artifact.url, MAX_ARCHIVE_BYTES)
        except DownloadError as error:
            code = FaultCode.TOO_LARGE if error.too_large else FaultCode.TIMED_OUT if error.timed_out else FaultCode.UNREACHABLE
            raise failed(code, f"the artifact of {self.name}: {error}", revision=artifact.revision) from None
        if not hmac.compare_digest(hashlib.new(algorithm, archive).hexdigest(), expected):
            raise failed(FaultCode.DAMAGED, f"the artifact of {self.name} does not match its digest", revision=artifact.revision)
        return archive
