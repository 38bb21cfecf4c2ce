from tests.differential.difference import Difference, differences
from tests.differential.shrink import shrink


def _answer(*reasons: str) -> dict[str, object]:
    node = {"node": "n1", "fits": not reasons, "reasons": list(reasons)}
    return {"formatVersion": "1.0", "pods": [{"pod": "default/p", "nodes": [node]}]}


def test_equal_answers_have_no_difference() -> None:
    """Two answers with the same reasons are the same."""
    assert differences(_answer("NodePorts"), _answer("NodePorts")) == []


def test_one_reason_more_is_a_difference() -> None:
    """A plugin that only one side names is reported with both sides."""
    found = differences(_answer("NodePorts"), _answer("NodeName", "NodePorts"))
    assert found == [Difference("default/p", "n1", ("NodePorts",), ("NodeName", "NodePorts"))]
    assert found[0].kind == ((), ("NodeName",))


def test_a_pod_that_one_side_forgets_is_a_difference() -> None:
    """A pod that is in one answer only is reported."""
    found = differences(_answer(), {"formatVersion": "1.0", "pods": []})
    assert found == [Difference("default/p", "n1", (), ("(absent)",))]


def test_shrinking_keeps_what_the_difference_needs() -> None:
    """Of ten objects with three fields each only the needed object and field are left."""
    items = [{"metadata": {"name": f"p{index}"}, "spec": {"a": 1, "b": 2}} for index in range(10)]

    def still(snapshot: dict[str, object]) -> bool:
        return any(item["metadata"]["name"] == "p6" and "b" in item["spec"] for item in snapshot["items"])

    assert shrink({"kind": "List", "items": items}, still)["items"] == [{"metadata": {"name": "p6"}, "spec": {"b": 2}}]
