"""The version that an API server tells of itself."""

import msgspec

from reconciler.kube.connection.api import Api, ApiError, UnreachableError


class _Told(msgspec.Struct, rename="camel"):
    git_version: str = ""


def server_version(api: Api) -> str:
    """`v1.36.3`; empty when the server does not say, refuses to, or cannot be reached."""
    try:
        return msgspec.json.decode(api.get("/version"), type=_Told).git_version
    except (ApiError, UnreachableError, msgspec.DecodeError):
        return ""
