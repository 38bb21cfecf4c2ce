"""One write that is tried without effect, as our service account and as somebody else."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.testbed.api import Api, ApiError, path_of

Object = dict[str, Any]

MERGE, JSON_PATCH, APPLY = "application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"
OURS = "nodegroup-reconciler"


class Attempt(msgspec.Struct, frozen=True):
    """A request, tried with dryRun=All: admission answers as it would, and nothing is stored."""

    method: str
    path: str
    body: Any = None
    content_type: str = "application/json"
    query: str = f"fieldManager={OURS}"

    def by(self, user: Api) -> Object:
        """Try it. Raises ApiError."""
        answer: Object = user.call(self.method, f"{self.path}?dryRun=All&{self.query}", self.body, self.content_type)
        return answer


class Guarded:
    """Two administrators; the admission policies look at one of them."""

    def __init__(self, ours: Api, somebody: Api) -> None:
        self.ours = ours
        self.somebody = somebody

    def refused(self, attempt: Attempt | Callable[[], Attempt], why: str) -> None:
        """Refused to our service account by a policy, with these words, and done for anybody else. What is made of an object
        just read is made again when that has moved."""
        with pytest.raises(ApiError) as refusal:
            _tried(attempt, self.ours)
        assert refusal.value.status == 422, refusal.value
        assert "ValidatingAdmissionPolicy 'reconciler-" in str(refusal.value)
        assert why in str(refusal.value)
        _tried(attempt, self.somebody)

    def allowed(self, attempt: Attempt | Callable[[], Attempt]) -> Object:
        """Done for our service account."""
        return _tried(attempt, self.ours)


def _tried(attempt: Attempt | Callable[[], Attempt], user: Api) -> Object:
    if isinstance(attempt, Attempt):
        return attempt.by(user)
    for _ in range(100):
        try:
            return attempt().by(user)
        except ApiError as error:
            if error.status != 409:
                raise
    pytest.fail("the object moved 100 times")


def merge(item: Object, change: Object, subresource: str = "") -> Attempt:
    """A merge patch."""
    return Attempt("PATCH", path_of(item) + subresource, change, MERGE)


def json_patch(item: Object, *steps: Object) -> Attempt:
    """A JSON patch."""
    return Attempt("PATCH", path_of(item), list(steps), JSON_PATCH)


def forced(item: Object, fields: Object) -> Attempt:
    """A server-side apply that takes the fields from whoever has them."""
    identity = {"name": item["metadata"]["name"], "namespace": item["metadata"]["namespace"]}
    body = {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": identity, **fields}
    return Attempt("PATCH", path_of(item), body, APPLY, f"fieldManager={OURS}&force=true")


def replaced(item: Object) -> Attempt:
    """An update with the whole object."""
    return Attempt("PUT", path_of(item), item)


def deleted(item: Object) -> Attempt:
    """A deletion."""
    return Attempt("DELETE", path_of(item), query="")
