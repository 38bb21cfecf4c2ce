"""What the running loop explains of its last plan."""

import json

import pytest

from reconciler.control.pages.explain_page import explain_route
from reconciler.control.pages.route import Answer, Request
from reconciler.control.turn.report import Decided
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from tests.builders import NOW, ClusterBuilder, node_group, policy


@pytest.fixture
def last() -> tuple[Plan, Decided]:
    """A decision over one group of at most four nodes."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    seen = cluster.world()
    rules = policy(node_group("general", max=4))
    plan, memory = decide(seen, rules, Memory(), NOW)
    return plan, Decided(world=seen, policy=rules, memory=memory, now_seconds=NOW)


def get(last: tuple[Plan, Decided] | None, path: str, **headers: str) -> Answer:
    return explain_route(lambda: last).answer(Request(method="GET", path=path, headers=headers, body=b"", peer="127.0.0.1"))


def test_a_group_is_explained_as_the_command_does_it(last: tuple[Plan, Decided]) -> None:
    """The document of `explain group -o json`."""
    document = json.loads(get(last, "/explain/group/general").body)
    assert (document["what"], document["group"]["decision"]["max"]) == ("group", 4)


def test_text_for_those_who_ask_for_it(last: tuple[Plan, Decided]) -> None:
    """A value by group and field, as the lines of the command."""
    answer = get(last, "/explain/value/general/size.max", accept="text/plain")
    assert answer.body.startswith(b"size.max of general is 4\n")


@pytest.mark.parametrize("path", ["/explain/group/generall", "/explain/tier/spot", "/explain/group"])
def test_what_is_not_there_is_not_found(last: tuple[Plan, Decided], path: str) -> None:
    """A wrong name, a wrong kind, no name."""
    assert get(last, path).status == 404


def test_before_the_first_plan() -> None:
    """Nothing can be explained yet, which is no fault of the asker."""
    assert get(None, "/explain/group/general").status == 503
