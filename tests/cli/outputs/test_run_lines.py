"""Lines of a simulated run: actions that belong together are one line."""

from reconciler.cli.outputs.run_lines import turn_lines
from reconciler.rendering.documents.simulated_run import RunAction, RunTurn


def _action(group: str, from_: int, to: int, *, nodes: tuple[str, ...], message: str = "saves 1.00") -> RunAction:
    return RunAction(
        kind="Replace", group=group, from_=from_, to=to, nodes=nodes, reason="Repack", message=message, state="Done", code="",
        explanation="",
    )  # fmt: skip


def _lines(*actions: RunAction) -> list[str]:
    turn = RunTurn(
        at="", at_seconds=0, summary="", actions=actions, told=(), joined=(), gone=(), unavailable="", violations=()
    )  # fmt: skip
    return list(turn_lines(turn))


def test_a_replacement_by_several_groups_is_one_line() -> None:
    """Its nodes are named once."""
    nodes = ("n1", "n2", "n3")
    assert _lines(_action("mid", 0, 1, nodes=nodes), _action("small", 2, 4, nodes=nodes)) == [
        "+00:00:00  > replace mid 0 -> 1, small 2 -> 4 (n1, n2 and 1 more): saves 1.00"
    ]


def test_replacements_of_different_nodes_are_different_lines() -> None:
    assert _lines(_action("mid", 0, 1, nodes=("n1",)), _action("small", 2, 3, nodes=("n2",))) == [
        "+00:00:00  > replace mid 0 -> 1 (n1): saves 1.00",
        "+00:00:00  > replace small 2 -> 3 (n2): saves 1.00",
    ]
