import msgspec
import pytest

from tests.testbed.api import Api, ApiError, Object
from tests.testbed.audit import event_in
from tests.testbed.control_plane import MASTERS, ControlPlane


def _config_map(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"a": "1"}}


def test_every_change_of_a_user_is_recorded_with_what_was_sent(control_plane: ControlPlane) -> None:
    """A creation and an apply, in order, with resource, name, answer and body."""
    api = Api(control_plane.kubeconfig_of("audited", MASTERS))
    api.create(_config_map("audited"))
    api.merge(_config_map("audited"), {"data": {"a": "2"}})
    api.delete(_config_map("audited"))
    seen = control_plane.audit("audited")
    assert [(one.verb, one.resource, one.name, one.code) for one in seen] == [
        ("create", "configmaps", "audited", 201),
        ("patch", "configmaps", "audited", 200),
        ("delete", "configmaps", "audited", 200),
    ]
    assert seen[1].body == {"data": {"a": "2"}}


def test_a_refused_change_is_recorded_with_its_code(control_plane: ControlPlane) -> None:
    """What RBAC forbids counts as a request, with 403."""
    with pytest.raises(ApiError):
        Api(control_plane.kubeconfig_of("forbidden")).create(_config_map("never"))
    assert [(one.verb, one.resource, one.code) for one in control_plane.audit("forbidden")] == [("create", "configmaps", 403)]


def test_reads_are_counted_apart_from_changes(control_plane: ControlPlane) -> None:
    """A list is no change; asked for all requests, it is there."""
    Api(control_plane.kubeconfig_of("reader", MASTERS)).get("/api/v1/nodes")
    assert control_plane.audit("reader") == []
    assert [(one.verb, one.resource) for one in control_plane.audit("reader", mutating=False)] == [("list", "nodes")]


def test_a_user_has_the_groups_of_the_kubeconfig(control_plane: ControlPlane) -> None:
    """A kubeconfig may name any number of groups."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    api = Api(control_plane.kubeconfig_of("member", "team-a", "team-b"))
    answer = api.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    assert set(answer["status"]["userInfo"]["groups"]) == {"team-a", "team-b", "system:authenticated"}


LINE = (
    b'{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":"create","auditID":"%d",'
    b'"requestURI":"/","user":{"username":"u"},"requestObject":{"kind":"Event","apiVersion":"v1"}}'
)


def test_half_a_line_of_a_killed_server_is_passed_over() -> None:
    """A server that is killed while it writes leaves a line cut anywhere; the next one writes its first behind it. All whole
    lines count, and the one that was cut is nobody's."""
    for cut in range(1, len(LINE % 1)):
        mixed = event_in((LINE % 1)[:cut] + LINE % 2)
        assert mixed is not None
        assert mixed.audit_id == "2", cut
        assert event_in((LINE % 1)[:cut]) is None


def test_a_line_that_no_server_wrote_is_an_error() -> None:
    """Only what begins like an event may be cut: anything else in the log is not passed over in silence."""
    with pytest.raises(msgspec.DecodeError):
        event_in(b'{"some": "thing"')
