"""What the answers of an API server mean; the messages are those of kube-apiserver 1.36."""

import pytest

from reconciler.kube.connection.api import ApiError, Cause, UnreachableError
from reconciler.providers.answer import conflicting, failed, unread
from reconciler.providers.contract import WriteCode

CONFLICT = Cause(reason="FieldManagerConflict", message='conflict with "kubectl"', field=".spec.replicas")
BY_SCALE = Cause(
    reason="FieldManagerConflict",
    message='conflict with "exp" with subresource "scale" using cluster.x-k8s.io/v1beta2',
    field=".spec.replicas",
)
MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ApiError(409, "Conflict", "Apply failed with 1 conflict", (CONFLICT,)), WriteCode.CONFLICT),
        (ApiError(409, "Conflict", MODIFIED), WriteCode.STALE),
        (ApiError(404, "NotFound", 'machinedeployments "a" not found'), WriteCode.NOT_FOUND),
        (ApiError(422, "Invalid", "Invalid value: -1: should be a non-negative integer"), WriteCode.REFUSED),
        (ApiError(403, "Forbidden", 'machinedeployments "a" is forbidden: User "us" cannot patch resource'), WriteCode.DENIED),
        (ApiError(403, "Forbidden", 'machinedeployments "a" is forbidden: a webhook denied the request'), WriteCode.REFUSED),
        (ApiError(429, "TooManyRequests", "slow down"), WriteCode.UNAVAILABLE),
        (ApiError(503, "ServiceUnavailable", "etcd is away"), WriteCode.UNAVAILABLE),
        (ApiError(500, "InternalError", "etcdserver: request timed out"), WriteCode.UNKNOWN),
        (ApiError(504, "Timeout", "timed out"), WriteCode.UNKNOWN),
        (UnreachableError("connection refused", sent=False), WriteCode.UNAVAILABLE),
        (UnreachableError("no answer within 30 s"), WriteCode.UNKNOWN),
    ],
)
def test_codes_of_writes(error: ApiError | UnreachableError, code: WriteCode) -> None:
    """A write is done, not done, or nobody can tell; the words of the server are kept."""
    result = failed(error, "MachineDeployment prod/a")
    assert (result.done, result.code) == (False, code)
    assert result.message.startswith("MachineDeployment prod/a: ")
    assert (error.message if isinstance(error, ApiError) else str(error)) in result.message


def test_the_refusal_of_an_admission_policy_is_its_sentence() -> None:
    """Which policy, and why, without the kind's full name twice; as measured on kube-apiserver 1.36."""
    said = "ConfigMap reconciler-bounds says 1-5 of this target, and the reconciler asks for 7 replicas"
    denied = (
        "machinedeployments.cluster.x-k8s.io \"a\" is forbidden: ValidatingAdmissionPolicy 'reconciler-bounds-targets' with "
        f"binding 'reconciler-bounds-targets' denied request: {said}"
    )
    result = failed(ApiError(422, "Invalid", denied), "MachineDeployment prod/a")
    assert result.code == WriteCode.REFUSED
    assert result.message == f"MachineDeployment prod/a: admission policy reconciler-bounds-targets refuses it: {said}"


def test_the_managers_of_a_conflict() -> None:
    """Each by its name, without the subresource; other causes are none."""
    other = Cause(reason="FieldValueInvalid", message='conflict with "nobody"', field=".spec.replicas")
    assert conflicting((BY_SCALE, CONFLICT, CONFLICT, other)) == ("exp", "kubectl")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ApiError(404, "NotFound", "not found"), WriteCode.NOT_FOUND),
        (ApiError(403, "Forbidden", "User cannot get resource"), WriteCode.REFUSED),
        (ApiError(500, "InternalError", "broken"), WriteCode.UNAVAILABLE),
        (UnreachableError("no answer within 30 s"), WriteCode.UNAVAILABLE),
    ],
)
def test_codes_when_nothing_was_written(error: ApiError | UnreachableError, code: WriteCode) -> None:
    """A failed read leaves no doubt: nothing was sent after it."""
    assert unread(error, "MachineDeployment prod/a").code == code
