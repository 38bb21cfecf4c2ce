"""Damaged documents: one sentence that names file and item, never a guess, never another exception."""

import json
from typing import Any

import pytest

from reconciler.cluster.snapshots.snapshot import SnapshotError, read_snapshot
from reconciler.cluster.snapshots.yaml_texts import json_parts
from tests.cluster.objects import Object, node, obj, pod, scalable


def refusal(files: dict[str, bytes]) -> SnapshotError:
    with pytest.raises(SnapshotError) as refused:
        read_snapshot(files)
    return refused.value


def listed(*objects: Object) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}).encode()


def without(item: Object, path: str) -> Object:
    at: Any = item
    *head, last = path.split(".")
    for step in head:
        at = at[step]
    del at[last]
    return item


def test_no_files() -> None:
    """A snapshot without documents is none."""
    assert "has no documents" in str(refusal({}))


def test_empty_file() -> None:
    """An empty file is a capture that was cut off."""
    assert str(refusal({"pods.json": b" \n"})) == "pods.json: the file is empty: the capture failed"


def test_truncated_list_names_the_item() -> None:
    """A list that breaks off says where, by item and by the object before it."""
    body = listed(pod("a"), pod("b"), pod("c"))
    cut = body[: body.index(b'"name": "c"')]
    error = refusal({"pods.json": cut})
    assert (error.file, error.item) == ("pods.json", "item 3 (after shop/b)")
    assert error.message == f"the JSON ends after {len(cut)} bytes: the capture is not complete"


def test_broken_json_names_the_item() -> None:
    """A damaged byte says at which item it is."""
    body = listed(pod("a"), pod("b")).replace(b'"name": "b"', b'"name": !b"')
    assert refusal({"pods.json": body}).item == "item 2 (after shop/a)"


def test_wrong_type_names_object_and_field() -> None:
    """A field of the wrong type is named with its path, and the object with its name."""
    bad = pod("bad")
    bad["spec"]["containers"] = "none"
    error = refusal({"pods.json": listed(pod("a"), bad)})
    assert (error.item, error.message) == ("item 2 (Pod shop/bad)", "spec.containers: must be a list, not a text")


@pytest.mark.parametrize("path", ["spec", "spec.containers", "metadata", "metadata.name", "metadata.namespace"])
def test_missing_field_of_a_pod(path: str) -> None:
    """A pod without what makes it a pod is refused; nothing is made up for it."""
    error = refusal({"pods.json": listed(without(pod("half"), path))})
    assert error.item.startswith("item 1")
    assert path.rpartition(".")[2] in error.message


@pytest.mark.parametrize(
    ("item", "path"),
    [
        (node(), "status"),
        (scalable(), "spec"),
        (scalable(), "metadata.namespace"),
        (obj("PodDisruptionBudget", "policy/v1", "p", "x", spec={}), "spec"),
        (obj("PriorityClass", "scheduling.k8s.io/v1", "p", value=1), "value"),
        (obj("StorageClass", "storage.k8s.io/v1", "p", provisioner="x"), "provisioner"),
        (obj("DaemonSet", "apps/v1", "p", "x", spec={"template": {"spec": {"containers": []}}}), "spec.template"),
    ],
    ids=lambda value: value if isinstance(value, str) else value["kind"],
)
def test_missing_field_of_other_kinds(item: Object, path: str) -> None:
    """The same for other kinds."""
    error = refusal({"all.json": listed(without(item, path))})
    assert error.item.startswith(f"item 1 ({item['kind']}")


def test_bad_node_quantity() -> None:
    """A node whose capacity is no quantity is refused by name."""
    error = refusal({"n.json": listed(node("n1", cpu="four"))})
    assert str(error).startswith('n.json: item 1 (Node n1): status.capacity: cpu: invalid quantity "four"')


def test_bad_time() -> None:
    """A time that is none is refused by name."""
    error = refusal({"n.json": listed(node("n1", meta={"creationTimestamp": "soon"}))})
    assert str(error).startswith('n.json: item 1 (Node n1): invalid time "soon"')


def test_swapped_kind() -> None:
    """A node in a list of pods is refused, whatever else it looks like."""
    wrong = {"apiVersion": "v1", "kind": "PodList", "items": [{**pod("a"), "kind": "Node"}]}
    assert (
        str(refusal({"p.json": json.dumps(wrong).encode()})) == "p.json: item 1 (Pod shop/a): its kind is Node in a list of Pod"
    )


def test_item_without_kind_in_a_mixed_list() -> None:
    """In a List of anything an item must say what it is."""
    item = without(pod("a"), "kind")
    assert refusal({"x.json": listed(item)}).item == "item 1 (shop/a)"


def test_list_without_items() -> None:
    """A List whose items are gone is not complete."""
    assert "a List without items" in str(refusal({"x.json": b'{"kind": "List", "apiVersion": "v1"}'}))


def test_typed_list_without_items() -> None:
    """So is a list of pods."""
    assert str(refusal({"x.json": b'{"kind": "PodList", "apiVersion": "v1"}'})) == (
        "x.json: a PodList without items: the capture is not complete"
    )


def test_status_instead_of_objects() -> None:
    """What the API server answers when it refuses is not a capture."""
    body = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "pods is forbidden"}).encode()
    assert "pods is forbidden" in str(refusal({"x.json": body}))


@pytest.mark.parametrize("body", [b"{}", b"[]", b"3", b'"x"', b"null", b'{"kind": 3}', b'{"kind": ""}'])
def test_no_object(body: bytes) -> None:
    """JSON that is no Kubernetes object is refused with the file's name."""
    assert refusal({"x.json": body}).file == "x.json"


def test_not_utf8() -> None:
    """Bytes that are no text are refused."""
    body = listed(pod("a")).replace(b"shop", b"sh\xff\xfep")
    assert str(refusal({"x.json": body})).startswith("x.json")


@pytest.mark.parametrize("opening", [b'{"a":', b'{"kind":"PodList","apiVersion":"v1","items":['])
def test_deep_json(opening: bytes) -> None:
    """Nesting that would exhaust the stack is refused."""
    assert "nested more deeply" in str(refusal({"x.json": opening * 100_000}))


@pytest.mark.parametrize("opening", [b"[", b"{a: ", b"- "])
def test_deep_yaml(opening: bytes) -> None:
    """In YAML, where the usual loader ends the whole process, too: at our bound, or at libyaml's own."""
    said = str(refusal({"x.yaml": opening * 100_000}))
    assert said.startswith(("x.yaml: document 1: nested more deeply", "x.yaml: document 1: more than 100 nested levels"))


def test_aliases_in_yaml_nest_as_what_they_stand_for() -> None:
    """Sixty levels that hold an alias of sixty are a hundred and twenty."""
    deep = "b: " + "[" * 60 + "*a" + "]" * 60
    assert "the alias *a nests more than 100 levels" in str(refusal({"x.yaml": f"a: &a {'[' * 60}{']' * 60}\n{deep}\n".encode()}))


def test_aliases_in_yaml_count_over_all_documents() -> None:
    """Each document alone is within the bound; together they would fill the memory."""
    levels = "".join(f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 9)}]\n" for level in range(1, 8))
    body = f"---\nl0: &l0 [x]\n{levels}" * 5  # six million values each
    assert "more than 20000000 values" in str(refusal({"x.yaml": body.encode()}))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"kind: !Sub Pod\n", "the tag '!Sub' is not allowed (line 1, column 7)"),
        (b"kind: !!python/name:os.system Pod\n", "the tag '!!python/name:os.system' is not allowed"),
        (b"a: &a {x: 1}\nb: {<<: *a}\n", "merge keys (<<) are not supported (line 2, column 5)"),
        (b"? [a]\n: b\n", "a mapping key that is not a text (line 1, column 5)"),
    ],
)
def test_yaml_that_is_no_plain_data(body: bytes, said: str) -> None:
    """What YAML parsers read differently, or construct something from, is refused as in a policy."""
    assert said in str(refusal({"x.yaml": body}))


def test_tags_of_yaml_itself_type_what_they_stand_before() -> None:
    """YAML 1.2.2, 10.3.1: core tags. Without them the look decides, and quotes make a text."""
    body = b'a: !!int 5\nb: !!str 5\nc: "5"\nd: 5\ne: ! 5\n"<<": 6\n'
    assert json.loads(json_parts(body)[0]) == {"a": 5, "b": "5", "c": "5", "d": 5, "e": "5", "<<": 6}


def test_yaml_alias_bomb() -> None:
    """Nine levels of nine aliases each would be 387 million values; the count is known before they are made."""
    levels = "".join(f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 9)}]\n" for level in range(1, 10))
    assert "more than 20000000 values" in str(refusal({"x.yaml": f"l0: &l0 [x]\n{levels}".encode()}))


def test_yaml_alias_of_itself() -> None:
    """An alias within what it stands for has no end."""
    assert "the alias *a is inside the value that it repeats" in str(refusal({"x.yaml": b"a: &a [*a]\n"}))


def test_yaml_repeated_key() -> None:
    """Of two values for one key nobody can tell which is meant."""
    assert str(refusal({"x.yaml": b"kind: Pod\nkind: Node\n"})) == (
        "x.yaml: document 1: the key 'kind' twice in one mapping (line 2, column 1)"
    )


def test_yaml_syntax() -> None:
    """A YAML error has line and column."""
    assert "(line 2, column 4)" in str(refusal({"x.yaml": b"kind: Pod\nx: : y\n"}))


def test_second_yaml_document() -> None:
    """Of several documents in a file the damaged one is named."""
    sound = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
    bad = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
    error = refusal({"x.yaml": f"{sound}---\n{bad}".encode()})
    assert error.item == "document 2, Node n"


def test_an_age_that_is_none_names_the_machine() -> None:
    """Platforms' objects too are refused with their place, though what they mean is worked out later."""
    machine = obj("Machine", "cluster.x-k8s.io/v1beta2", "m", "n", spec={"clusterName": "c"})
    machine["metadata"]["creationTimestamp"] = "1e999"
    error = refusal({"machines.json": listed(machine)})
    assert (error.file, error.item) == ("machines.json", "item 1 (Machine n/m)")
    assert error.message == 'invalid time "1e999" (write RFC 3339, such as 2026-11-21T18:00:00Z)'
