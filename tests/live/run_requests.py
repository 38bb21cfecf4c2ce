"""What a user of the running loop asked the API server to change."""

from tests.testbed.control_plane import ControlPlane

REVIEWS = {"selfsubjectaccessreviews", "tokenreviews", "subjectaccessreviews"}


def changes(plane: ControlPlane, name: str) -> list[str]:
    """`verb resource` of each request, in order; questions about rights, which change nothing, are left out."""
    return [f"{request.verb} {request.resource}" for request in plane.audit(name) if request.resource not in REVIEWS]
