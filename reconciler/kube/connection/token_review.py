"""The caller of a page: the API server judges the bearer token and whether its user may read the page."""

import msgspec

from reconciler.kube.connection.api import Api, ApiError, UnreachableError
from reconciler.values.decoding import decode


class _User(msgspec.Struct, frozen=True):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()


class _ReviewedToken(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: _User = _User()


class _TokenReview(msgspec.Struct, frozen=True):
    status: _ReviewedToken = _ReviewedToken()


class _Allowed(msgspec.Struct, frozen=True):
    allowed: bool = False
    reason: str = ""


class _AccessReview(msgspec.Struct, frozen=True):
    status: _Allowed = _Allowed()


class Refusal(msgspec.Struct, frozen=True):
    """Why a page is not shown. `status` is HTTP's: 401 (unknown caller), 403 (known, but not allowed), 429 (too many requests),
    503 (nobody could judge)."""

    status: int
    message: str


def refusal(api: Api, token: str, path: str) -> Refusal | None:
    """Why the holder of `token` may not GET `path` of ours; None: it may.

    Like the API server's own delegated authentication: a TokenReview identifies the user, and a SubjectAccessReview tells whether
    that user may `get` the non-resource URL. If the API server does not answer, access is refused.
    """
    if not token:
        return Refusal(401, "send a bearer token (kubectl create token), or use kubectl port-forward")
    try:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        answer = api.write("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body)
        review = decode(answer, _TokenReview).status
        if not review.authenticated:
            return Refusal(401, "invalid token")
        spec = {
            "user": review.user.username,
            "uid": review.user.uid,
            "groups": review.user.groups,
            "nonResourceAttributes": {"path": path, "verb": "get"},
        }
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        answer = api.write("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
        allowed = decode(answer, _AccessReview).status.allowed
    except (ApiError, UnreachableError, msgspec.MsgspecError):
        return Refusal(503, "the API server could not review the token")
    return None if allowed else Refusal(403, f"{review.user.username} may not get {path}")


def may(api: Api, verb: str, group: str, resource: str, namespace: str = "", name: str = "") -> bool:
    """Whether we ourselves may do something, by a SelfSubjectAccessReview. Resources may name a subresource (`pods/eviction`).
    Raises `ApiError` or `UnreachableError`."""
    resource, _, subresource = resource.partition("/")
    attributes = {
        "verb": verb,
        "group": group,
        "resource": resource,
        "subresource": subresource,
        "namespace": namespace,
        "name": name,
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
    }
    answer = api.write("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
    return decode(answer, _AccessReview).status.allowed
