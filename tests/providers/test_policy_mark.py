"""The mark that says which policy writes a target comes before the write, so that no other policy writes beside it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from reconciler.kube.connection.api import ApiError, ContentType
from reconciler.plan.plan import Bound
from reconciler.platforms.clusterapi.writing.provider import ClusterApiTargets, ClusterApiVersion
from reconciler.providers.contract import WriteCode, WriteResult
from reconciler.providers.ownership_guard import judged_now
from tests.values import machine_deployment

GENERAL = machine_deployment("general")
MARK = "reconciler.dev/policy"


class Server:
    """A MachineDeployment of two replicas that nobody owns. `refuses` is the answer to the next write of metadata, before which
    `meanwhile` has marked the object."""

    def __init__(self, mark: str = "") -> None:
        self.annotations: dict[str, str] = {MARK: mark} if mark else {}
        self.version = 7
        self.refuses: ApiError | None = None
        self.meanwhile = ""
        self.writes: list[tuple[ContentType, Any]] = []

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        meta: dict[str, Any] = {"name": path.rpartition("/")[2], "namespace": "prod", "resourceVersion": str(self.version)}
        if "/clusters/" in path:
            return msgspec.json.encode({"metadata": meta, "spec": {}})
        entry = {"manager": "manager", "operation": "Update", "fieldsV1": {"f:status": {}}}
        meta |= {"generation": 3, "annotations": self.annotations, "managedFields": [entry]}
        spec = {"clusterName": "c", "replicas": 2, "selector": {}, "template": {"spec": {"clusterName": "c"}}}
        return msgspec.json.encode({"metadata": meta, "spec": spec})

    def write(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: ContentType = ContentType.JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        assert isinstance(body, dict)
        if content_type is ContentType.MERGE_PATCH and self.refuses is not None:
            if self.meanwhile:
                self.annotations = {MARK: self.meanwhile}
                self.version += 1
            refusal, self.refuses = self.refuses, None
            raise refusal
        self.version += 1
        self.annotations |= body["metadata"].get("annotations", {})
        self.writes.append((content_type, body))
        return msgspec.json.encode({"metadata": {"resourceVersion": str(self.version), "generation": 4}})

    def resize(self, **annotations: str) -> WriteResult:
        targets = ClusterApiTargets(self, ClusterApiVersion())  # type: ignore[arg-type]
        digest = judged_now(targets.read(GENERAL).facts).digest
        bound = Bound(resource_version="7", replicas=2, owner_digest=digest, policy_digest="")
        return targets.resize(GENERAL, 5, bound, {MARK: "test", **annotations})

    def versions(self) -> list[str]:
        """The resourceVersion that each write was made under."""
        return [body["metadata"].get("resourceVersion", "") for _, body in self.writes]


def test_the_first_write_marks_the_target_and_then_sizes_it() -> None:
    """Each under the resourceVersion that was read or made, so that a second writer in between would be met."""
    server = Server()
    assert server.resize().done
    assert [kind for kind, _ in server.writes] == [ContentType.MERGE_PATCH, ContentType.APPLY]
    assert (server.writes[0][1]["metadata"]["annotations"], server.versions()) == ({MARK: "test"}, ["7", "8"])


def test_a_target_that_bears_the_mark_is_sized_alone() -> None:
    """One write, as before; what explains it follows."""
    server = Server("test")
    assert server.resize(**{"reconciler.dev/revision": "abc"}).done
    assert [kind for kind, _ in server.writes] == [ContentType.APPLY, ContentType.MERGE_PATCH]


def test_a_target_that_another_policy_marks_meanwhile_is_not_sized() -> None:
    """Its mark is met as a conflict; read again, the target is not as it was judged."""
    server = Server()
    server.refuses, server.meanwhile = ApiError(409, "Conflict", "the object has been modified"), "other"
    assert server.resize().code == WriteCode.STALE
    assert (server.writes, server.annotations) == ([], {MARK: "other"})


def test_a_mark_that_is_forbidden_stops_no_write() -> None:
    """An admission rule of the user's own may allow replicas and no annotations."""
    server = Server()
    server.refuses = ApiError(403, "Forbidden", "no annotations here")
    assert server.resize().done
    assert server.writes[0][0] is ContentType.APPLY
