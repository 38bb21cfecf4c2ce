"""The version that an API server reports."""

import msgspec

from reconciler.kube.connection.api import Api, ApiError, UnreachableError
from reconciler.values.decoding import decode


class _VersionInfo(msgspec.Struct, rename="camel"):
    git_version: str = ""


def server_version(api: Api) -> str:
    """`v1.36.3`; empty if the server does not report it, refuses to, or cannot be reached."""
    try:
        return decode(api.get("/version"), _VersionInfo).git_version
    except (ApiError, UnreachableError, msgspec.DecodeError):
        return ""
