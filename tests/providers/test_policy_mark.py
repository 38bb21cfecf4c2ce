"""The mark that says which policy writes a target comes before the write, so that no other policy writes beside it."""

from reconciler.kube.connection.api import ApiError, ContentType
from reconciler.providers.contract import WriteCode, WriteResult
from tests.providers.deployments import GENERAL, NOBODYS, PATH, DeploymentServer

MARK = "reconciler.dev/policy"


class Server(DeploymentServer):
    """Two replicas that nobody owns."""

    def __init__(self, mark: str = "") -> None:
        super().__init__(2, NOBODYS, {MARK: mark} if mark else {})

    def refuses(self, refusal: ApiError, meanwhile: str = "") -> None:
        """The next write, before which `meanwhile` has marked the object."""

        def between() -> None:
            if meanwhile:
                item = self.objects[PATH]
                self.put(PATH, item | {"metadata": item["metadata"] | {"annotations": {MARK: meanwhile}}})
            raise refusal

        self.between = between

    def resize(self, **annotations: str) -> WriteResult:
        return self.targets().resize(GENERAL, 5, self.bound(), {MARK: "test", **annotations})

    def versions(self) -> list[int]:
        """The resourceVersion that each write was made under, counted from the one that was read."""
        return [int(body["metadata"]["resourceVersion"]) - self.version for _, body in self.writes]


def test_the_first_write_marks_the_target_and_then_sizes_it() -> None:
    """Each under the resourceVersion that was read or made, so that a second writer in between would be met."""
    server = Server()
    assert server.resize().done
    assert [kind for kind, _ in server.writes] == [ContentType.MERGE_PATCH, ContentType.APPLY]
    assert (server.writes[0][1]["metadata"]["annotations"], server.versions()) == ({MARK: "test"}, [0, 1])


def test_a_target_that_bears_the_mark_is_sized_alone() -> None:
    """One write, as before; what explains it follows."""
    server = Server("test")
    assert server.resize(**{"reconciler.dev/revision": "abc"}).done
    assert [kind for kind, _ in server.writes] == [ContentType.APPLY, ContentType.MERGE_PATCH]


def test_a_target_that_another_policy_marks_meanwhile_is_not_sized() -> None:
    """Its mark is met as a conflict; read again, the target is not as it was judged."""
    server = Server()
    server.refuses(ApiError(409, "Conflict", "the object has been modified"), "other")
    assert server.resize().code == WriteCode.STALE
    assert (server.writes, server.annotations()) == ([], {MARK: "other"})


def test_a_mark_that_is_forbidden_stops_no_write() -> None:
    """An admission rule of the user's own may allow replicas and no annotations."""
    server = Server()
    server.refuses(ApiError(403, "Forbidden", "no annotations here"))
    assert server.resize().done
    assert server.writes[0][0] is ContentType.APPLY
