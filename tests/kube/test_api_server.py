"""What clients rely on, asked of a real API server. The one in memory that other tests stand on is asked the same beside this."""

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest

from reconciler.kube.connection.api import Api, ApiError, ContentType
from reconciler.kube.connection.transport import connect
from tests.kube.cluster import create
from tests.testbed.control_plane import ControlPlane

NAMESPACE = "kube-contract"
MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
BUDGETS = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
CLAIMS = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims"
OURS, THEIRS = {"fieldManager": "ours"}, {"fieldManager": "theirs"}
Denied = Callable[[str], Api]


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Iterator[Api]:
    api = connect(control_plane.kubeconfig)
    create(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    yield api
    api.write("DELETE", f"/api/v1/namespaces/{NAMESPACE}")


@pytest.fixture
def denied(control_plane: ControlPlane) -> Denied:
    """Somebody who may not read a path."""
    return lambda _: connect(control_plane.kubeconfig_of("stranger"))


def _map(name: str, /, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE}, "data": data}


def _claim(name: str, **labels: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "none"}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def _made(api: Api, path: str, item: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return f"{path}/{item['metadata']['name']}", json.loads(api.write("POST", path, item))


def _apply(api: Api, path: str, item: dict[str, Any], manager: dict[str, str], *, force: bool = False) -> dict[str, Any]:
    query = manager | {"force": str(force).lower()}
    answer: dict[str, Any] = json.loads(api.write("PATCH", path, item, content_type=ContentType.APPLY, query=query))
    return answer


def _refused(status: int, reason: str) -> Any:
    return pytest.raises(ApiError, match=f"^{status} {reason}: ")


def _owners(item: dict[str, Any]) -> dict[tuple[str, str], list[str]]:
    """Keys of data by manager and operation."""
    return {
        (entry["manager"], entry["operation"]): sorted(key for key in entry["fieldsV1"].get("f:data", {}) if key != ".")
        for entry in item["metadata"]["managedFields"]
    }


def test_a_write_under_an_old_version_is_a_conflict(api: Api) -> None:
    """Whether the object is replaced or patched; without a version the last write wins, and one that changes nothing is none."""
    path, made = _made(api, MAPS, _map("versions", a="1"))
    first = made["metadata"]["resourceVersion"]
    after = json.loads(api.write("PATCH", path, {"data": {"a": "2"}}, content_type=ContentType.MERGE_PATCH))
    assert after["metadata"]["resourceVersion"] != first
    old = {"metadata": {"resourceVersion": first}, "data": {"a": "3"}}
    with _refused(409, "Conflict"):
        api.write("PATCH", path, old, content_type=ContentType.MERGE_PATCH)
    with _refused(409, "Conflict"):
        api.write("PUT", path, _map("versions", a="3") | {"metadata": made["metadata"]})
    with _refused(409, "Conflict"):
        api.write("DELETE", path, {"preconditions": {"resourceVersion": first}})
    with _refused(409, "Conflict"):
        api.write("DELETE", path, {"preconditions": {"uid": "another"}})
    same = json.loads(api.write("PATCH", path, {"data": {"a": "2"}}, content_type=ContentType.MERGE_PATCH))
    assert same["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]
    assert json.loads(api.write("PUT", path, _map("versions", a="4")))["data"] == {"a": "4"}


def test_what_is_there_and_what_is_not(api: Api) -> None:
    """Reasons that clients tell apart: made twice, in no namespace, not there to be read, written or deleted."""
    path, _ = _made(api, MAPS, _map("there"))
    with _refused(409, "AlreadyExists"):
        api.write("POST", MAPS, _map("there"))
    with _refused(404, "NotFound"):
        api.write("POST", "/api/v1/namespaces/not-there/configmaps", _map("x") | {"metadata": {"name": "x"}})
    api.write("DELETE", path)
    for method in ("PATCH", "DELETE"):
        with pytest.raises(ApiError, match=r'^404 NotFound: configmaps "there" not found$'):
            api.write(method, path, {} if method == "PATCH" else None, content_type=ContentType.MERGE_PATCH)
    with pytest.raises(ApiError, match=r'^404 NotFound: configmaps "there" not found$'):
        api.get(path)


def test_an_apply_meets_the_owners_of_its_fields(api: Api) -> None:
    """A field with another value is a conflict that names owner and field, and nothing of the apply is done. The same value is
    shared, and force takes over."""
    path = f"{MAPS}/owned"
    first = _apply(api, path, _map("owned", a="1", b="1"), THEIRS)
    assert _owners(first) == {("theirs", "Apply"): ["f:a", "f:b"]}
    with pytest.raises(ApiError) as met:
        _apply(api, path, _map("owned", a="2", c="2"), OURS)
    assert (met.value.status, met.value.reason) == (409, "Conflict")
    assert met.value.message == 'Apply failed with 1 conflict: conflict with "theirs": .data.a'
    assert [(one.reason, one.field) for one in met.value.causes] == [("FieldManagerConflict", ".data.a")]
    assert json.loads(api.get(path))["data"] == {"a": "1", "b": "1"}
    shared = _apply(api, path, _map("owned", a="1", c="2"), OURS)
    assert _owners(shared) == {("theirs", "Apply"): ["f:a", "f:b"], ("ours", "Apply"): ["f:a", "f:c"]}
    forced = _apply(api, path, _map("owned", a="2", c="2"), OURS, force=True)
    assert (_owners(forced)["theirs", "Apply"], forced["data"]["a"]) == (["f:b"], "2")


def test_a_field_that_an_apply_leaves_out_goes(api: Api) -> None:
    """Unless somebody else owns it too. The same apply once more changes nothing."""
    path = f"{MAPS}/left-out"
    _apply(api, path, _map("left-out", a="1", b="1"), OURS)
    _apply(api, path, _map("left-out", b="1"), THEIRS)
    after = _apply(api, path, _map("left-out", c="1"), OURS)
    assert after["data"] == {"b": "1", "c": "1"}
    again = _apply(api, path, _map("left-out", c="1"), OURS)
    assert again["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]


def test_an_update_takes_over_what_it_changes(api: Api) -> None:
    """The field leaves the apply's entry, and the next apply meets a conflict there."""
    path = f"{MAPS}/taken"
    _apply(api, path, _map("taken", a="1", b="1"), OURS)
    change = {"data": {"a": "2"}}
    after = json.loads(api.write("PATCH", path, change, content_type=ContentType.MERGE_PATCH, query=THEIRS))
    assert _owners(after) == {("ours", "Apply"): ["f:b"], ("theirs", "Update"): ["f:a"]}
    with pytest.raises(ApiError, match=r'conflict with "theirs".*: \.data\.a$'):
        _apply(api, path, _map("taken", a="1", b="1"), OURS)


def test_an_apply_that_names_a_uid_makes_nothing_new(api: Api) -> None:
    """An object that has gone since it was read is not made again. The resourceVersion alone does not keep it from that."""
    path, made = _made(api, MAPS, _map("gone"))
    api.write("DELETE", path)
    item = _map("gone", a="1")
    item["metadata"]["uid"] = made["metadata"]["uid"]
    with _refused(409, "Conflict"):
        _apply(api, path, item, OURS)
    del item["metadata"]["uid"]
    item["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
    assert _apply(api, path, item, OURS)["metadata"]["uid"] != made["metadata"]["uid"]


def test_finalizers_keep_what_is_deleted(api: Api) -> None:
    """It says that it goes, and goes with the last of them."""
    item = _map("kept")
    item["metadata"]["finalizers"] = ["kube-tests.dev/stay"]
    path, _ = _made(api, MAPS, item)
    api.write("DELETE", path)
    assert "deletionTimestamp" in json.loads(api.get(path))["metadata"]
    api.write("PATCH", path, {"metadata": {"finalizers": None}}, content_type=ContentType.MERGE_PATCH)
    with _refused(404, "NotFound"):
        api.get(path)


def test_lists_by_labels_and_fields(api: Api) -> None:
    """By equality, by presence, and by name; what was just written is in a list, and one of any version may be older."""
    for name, labels in (("one", {"team": "a"}), ("two", {"team": "b"}), ("three", {})):
        _made(api, MAPS, _map(name) | {"metadata": {"name": name, "labels": {"listed": "x"} | labels}})

    def names(**query: str) -> set[str]:
        return {item["metadata"]["name"] for item in json.loads(api.get(MAPS, query))["items"]}

    assert names(labelSelector="listed=x") == {"one", "two", "three"}
    assert names(labelSelector="listed=x,team=a") == {"one"}
    assert names(labelSelector="team") == {"one", "two"}
    assert names(fieldSelector="metadata.name=two") == {"two"}
    any_version = json.loads(api.get(MAPS, {"resourceVersion": "0"}))
    newest = json.loads(api.get(MAPS))
    assert int(any_version["metadata"]["resourceVersion"]) <= int(newest["metadata"]["resourceVersion"])


def test_json_patches_that_test(api: Api) -> None:
    """A test that fails refuses the whole patch."""
    path, _ = _made(api, MAPS, _map("tested", a="1"))

    def patch(value: str) -> Any:
        operations = [{"op": "test", "path": "/data/a", "value": value}, {"op": "add", "path": "/data/b", "value": "2"}]
        return json.loads(api.write("PATCH", path, operations, content_type=ContentType.JSON_PATCH))

    with _refused(422, "Invalid"):
        patch("other")
    assert patch("1")["data"] == {"a": "1", "b": "2"}


def test_a_status_is_written_by_itself(api: Api) -> None:
    """Spec and status have a path each, and a write to one leaves the other alone."""
    item = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "guarded", "namespace": NAMESPACE}}
    path, _ = _made(api, BUDGETS, item | {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "none"}}}})
    status = {"disruptionsAllowed": 7, "currentHealthy": 7, "desiredHealthy": 7, "expectedPods": 7}
    said = {"spec": {"minAvailable": 5}, "status": status}
    after = json.loads(api.write("PATCH", f"{path}/status", said, content_type=ContentType.MERGE_PATCH))
    assert (after["spec"]["minAvailable"], after["status"]["disruptionsAllowed"]) == (1, 7)
    said["status"] = status | {"disruptionsAllowed": 9}
    after = json.loads(api.write("PATCH", path, said, content_type=ContentType.MERGE_PATCH))
    assert (after["spec"]["minAvailable"], after["status"]["disruptionsAllowed"] == 9) == (5, False)


def test_a_watch_brings_what_changed_since_a_list(api: Api) -> None:
    """In order, each once; bookmarks may come in between."""
    since = json.loads(api.get(CLAIMS))["metadata"]["resourceVersion"]
    path, _ = _made(api, CLAIMS, _claim("watched"))
    api.write("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, content_type=ContentType.MERGE_PATCH)
    api.write("DELETE", path)
    query = {"watch": "true", "resourceVersion": since, "allowWatchBookmarks": "true"}
    with api.stream(CLAIMS, query, silence_seconds=60) as lines:
        events = (event for line in lines if (event := json.loads(line))["type"] != "BOOKMARK")
        kinds = list(dict.fromkeys(event["type"] for event in islice(events, 3)))
    assert kinds[:2] == ["ADDED", "MODIFIED"]


def test_a_streaming_list_ends_with_a_bookmark(api: Api) -> None:
    """All that is there, then the mark, then what changes."""
    _made(api, CLAIMS, _claim("streamed"))
    query = {"watch": "true", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    with api.stream(CLAIMS, query, silence_seconds=60) as lines:
        events = map(json.loads, lines)
        first = []
        for event in events:
            if event["type"] == "BOOKMARK":
                break
            first.append((event["type"], event["object"]["metadata"]["name"]))
        assert ("ADDED", "streamed") in first
        assert event["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        _made(api, CLAIMS, _claim("later"))
        while (event := next(events))["type"] == "BOOKMARK" or event["object"]["metadata"]["name"] != "later":
            pass
        assert event["type"] == "ADDED"


def test_who_may_not_read(api: Api, denied: Denied) -> None:
    """Neither an object, nor a list, nor a watch."""
    path, _ = _made(api, CLAIMS, _claim("secret"))
    for where in (path, CLAIMS):
        with _refused(403, "Forbidden"):
            denied(where).get(where)
    query = {"watch": "true", "resourceVersion": "1"}
    with _refused(403, "Forbidden"), denied(CLAIMS).stream(CLAIMS, query, silence_seconds=60) as lines:
        next(iter(lines))
