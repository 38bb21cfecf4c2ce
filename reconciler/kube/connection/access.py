"""Who asks: a bearer token judged by the API server, and whether its user may read one of our pages."""

import msgspec

from reconciler.kube.connection.api import Api, ApiError, UnreachableError


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
    """Why a page is not shown. `status` is HTTP's: 401 (who asks is not known), 403 (is known and may not), 429 (asked too
    often), 503 (nobody could say)."""

    status: int
    message: str


def refusal(api: Api, token: str, path: str) -> Refusal | None:
    """Why the holder of `token` may not GET `path` of ours; None: it may.

    As the API server's own delegated authentication does it: a TokenReview says who it is, a SubjectAccessReview whether
    that user may `get` the non-resource URL. An API server that does not answer refuses.
    """
    if not token:
        return Refusal(401, "a bearer token is needed: kubectl create token, or ask through kubectl port-forward")
    try:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        answer = api.write("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body)
        review = msgspec.json.decode(answer, type=_TokenReview).status
        if not review.authenticated:
            return Refusal(401, "the token is not valid here")
        spec = {
            "user": review.user.username,
            "uid": review.user.uid,
            "groups": review.user.groups,
            "nonResourceAttributes": {"path": path, "verb": "get"},
        }
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        answer = api.write("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
        allowed = msgspec.json.decode(answer, type=_AccessReview).status.allowed
    except (ApiError, UnreachableError, msgspec.MsgspecError):
        return Refusal(503, "the API server could not judge the token")
    return None if allowed else Refusal(403, f"{review.user.username} may not get {path}")


def may(api: Api, verb: str, group: str, resource: str, namespace: str = "", name: str = "") -> bool:
    """Whether we ourselves may do something, by a SelfSubjectAccessReview; resources may name a subresource
    (`pods/eviction`). Raises `ApiError` or `UnreachableError`."""
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
    return msgspec.json.decode(answer, type=_AccessReview).status.allowed
