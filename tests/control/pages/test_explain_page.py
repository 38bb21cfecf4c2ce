"""What the running loop explains of its last plan."""

import json

import pytest
from click.testing import CliRunner

from reconciler.cli.main import cli
from reconciler.cluster import defects
from reconciler.cluster.world import World
from reconciler.control.pages.explain_page import explain_route
from reconciler.control.pages.http_server import HttpServer
from reconciler.control.pages.route import Answer, Request
from reconciler.control.turn.turn_report import Decided
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from reconciler.rendering.documents.explanation.case import Case
from tests.builders import NOW, ClusterBuilder, node_group, policy


@pytest.fixture
def last() -> tuple[Plan, Decided]:
    """A decision over two groups, of at most four and two nodes, and a pod that fits neither."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.group("spare", nodes=1)
    cluster.pods("web", 1, cpu="64")
    seen = cluster.world()
    rules = policy(node_group("general", max=4), node_group("spare", max=2))
    plan, memory = decide(seen, rules, Memory(), NOW)
    return plan, Decided(world=seen, policy=rules, memory=memory, now_seconds=NOW)


def get(last: tuple[Plan, Decided] | None, target: str, **headers: str) -> Answer:
    path, _, query = target.partition("?")
    request = Request(method="GET", path=path, query=query, headers=headers, body=b"", peer="127.0.0.1")
    return explain_route(lambda: last).answer(request)


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


def test_filters_are_those_of_the_command(last: tuple[Plan, Decided]) -> None:
    """Asked over a socket by `explain --live`: of one group it is told, and a name that is not there is an error."""
    server = HttpServer(("127.0.0.1", 0), (explain_route(lambda: last),), lambda _: None, lambda *_: None)
    server.start()
    try:
        live = ("--live", f"http://127.0.0.1:{server.port}")
        every = CliRunner().invoke(cli, ["explain", "pod", "shop/web-1", *live, "-o", "json"], standalone_mode=False)
        words = (
            "explain",
            "pod",
            "shop/web-1",
            *live,
            "-o",
            "json",
            "--group",
            "sp*",
            "--node",
            "spare-1",
            "--pod-namespace",
            "shop",
        )
        some = CliRunner().invoke(cli, words, standalone_mode=False)
        wrong = CliRunner().invoke(cli, [*words, "--group", "sparse"], standalone_mode=False)
    finally:
        server.stop()
    told = [[one["group"] for one in json.loads(answer.stdout)["pod"]["newNodes"]] for answer in (every, some)]
    assert told == [["general", "spare"], ["spare"]]
    assert "no group is called sparse: did you mean spare?" in str(wrong.exception)


@pytest.mark.parametrize("query", ["tier=spot", "group", "&".join(["group=spare"] * 51), "group=spare;x"])
def test_another_query_is_refused(last: tuple[Plan, Decided], query: str) -> None:
    """Rather than answered as if it had not been there; too many words are not looked at."""
    assert get(last, f"/explain/group/general?{query}").status in (400, 404)


def test_before_the_first_plan() -> None:
    """Nothing can be explained yet, which is no fault of the asker."""
    assert get(None, "/explain/group/general").status == 503


@pytest.mark.parametrize("path", ["/explain/tier/spot", "/explain/group", "/explain/group/", "/explain/", "/explain/tier"])
def test_what_may_be_asked_for_is_said(last: tuple[Plan, Decided], path: str) -> None:
    """To those who ask for another kind, or for nothing by name."""
    answer = get(last, path)
    assert (answer.status, answer.body) == (404, b"explain one of pod, node, group, value: /explain/pod/NAMESPACE/NAME\n")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 200), ("group=general", 200), ("&".join(["group=general"] * 50), 200), ("&".join(["group=general"] * 51), 400),
        ("tier=spot", 400), ("group", 400), ("group=", 404), ("group=sparse", 404),
    ],
)  # fmt: skip
def test_what_a_query_may_say(last: tuple[Plan, Decided], query: str, status: int) -> None:
    """Fifty words of three kinds; one that fits nothing is not found, also where it is empty."""
    answer = get(last, f"/explain/group/general?{query}")
    assert answer.status == status
    if status == 400:
        assert answer.body == b"what may be asked for: group, node, namespace, at most 50\n"


def test_it_is_json_unless_text_is_asked_for_first(last: tuple[Plan, Decided]) -> None:
    """As a browser asks, and as nobody says anything."""
    for headers in ({}, {"accept": "*/*"}, {"accept": "application/json, text/plain"}):
        assert get(last, "/explain/group/general", **headers).content_type == "application/json"
    assert get(last, "/explain/group/general", accept="text/plain, */*").content_type == "text/plain; charset=utf-8"
    assert explain_route(lambda: last).details


def test_an_object_that_judging_fails_on(last: tuple[Plan, Decided], monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is about the plan, which was made without that object."""
    monkeypatch.setattr(defects, "CAUGHT", (Exception,))
    whole = Case.of

    def of(world: World, *rest: object) -> Case:
        if any(not node_shape.unschedulable for node_shape in (world.node_shapes[node.shape] for node in world.nodes[:1])):
            raise ZeroDivisionError("made up")
        return whole(world, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Case, "of", of)
    assert json.loads(get(last, "/explain/group/general").body)["what"] == "group"
    assert get(last, "/explain/group/generall").status == 404
