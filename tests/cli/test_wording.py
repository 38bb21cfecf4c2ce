"""No output speaks Python: whatever is wrong is told in the words of who wrote it."""

import random
from pathlib import Path

import pytest
from urllib3 import HTTPConnectionPool
from urllib3.connection import HTTPConnection
from urllib3.exceptions import MaxRetryError, NewConnectionError, ProtocolError

from reconciler.kube.connection.unreachable_cause import cause
from tests.cli.wrong_inputs import CASES, ROOT, WORDING, run

_EACH = 40


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No cluster of whoever runs the tests is asked; examples are named from the top of the checkout."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "no-kubeconfig"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("RECONCILER_DEBUG", raising=False)


@pytest.mark.parametrize("kind", CASES)
def test_wrong_inputs_are_told_without_python(kind: str, tmp_path: Path) -> None:
    """Drawn anew at every run: an exit code of ours, and no name or phrase of Python in anything that is printed."""
    seed = random.randrange(1 << 30)
    draw = random.Random(seed)
    for case in range(_EACH):
        room = tmp_path / str(case)
        room.mkdir()
        words = CASES[kind](draw, room)
        code, text = run(*words)
        found = [line for line in text.splitlines() if WORDING.search(line)]
        assert not found, (kind, seed, case, words, found[:3])
        assert code in (0, 1, 2), (kind, seed, case, words)


@pytest.mark.parametrize(("text", "spoken"), [
    ("expected `int`, got `bool`", True), ("invalid literal for int() with base 10: 'x'", True), ("KeyError: 'x'", True),
    ("DecodeError: x", True), ("'NoneType' object has no attribute 'x'", True), ("unexpected OSError: [Errno 36]", True),
    ("size.min must be a whole number, not true or false", False), ("error: no such file or directory", False),
    ("Warning: v1 ComponentStatus is deprecated", False), ("1 error", False), ("a list of objects, not a text", False),
])  # fmt: skip
def test_what_counts_as_python(text: str, *, spoken: bool) -> None:
    """The rule that judges outputs."""
    assert bool(WORDING.search(text)) == spoken


@pytest.mark.parametrize(("flag", "told"), [
    ("--max-nodes-total=many", "'many' is not a whole number"), ("--cores-total=5", "'5' does not have the form MIN:MAX"),
    ("--nodes=1:x", "'1:x' does not have the form MIN:MAX:NAME"), ("--gpu-total=x:1", "'x:1' does not have the form TYPE"),
    ("--scale-down-utilization-threshold=half", "'half' is not a number"), ("--max-nodes-total=\u0663", "is not a whole number"),
])  # fmt: skip
def test_flags_that_are_no_amounts(flag: str, told: str, tmp_path: Path) -> None:
    """Named with what they must be."""
    (tmp_path / "ca.txt").write_text(f"cluster-autoscaler --scan-interval=10s --max-empty-bulk-delete=3 {flag}\n")
    code, text = run("import", tmp_path / "ca.txt")
    assert (code, told in text) == (0, True), text


@pytest.mark.parametrize(("content", "told"), [
    ('{"formatVersion": 1}', "formatVersion: must be a text, not a whole number"),
    ('{"formatVersion": "1.0", "groups": "x"}', "must be a list, not a text"),
])  # fmt: skip
def test_a_saved_plan_that_is_none(content: str, told: str, tmp_path: Path) -> None:
    """Types as people call them."""
    (tmp_path / "plan.json").write_text(content)
    code, text = run("apply", tmp_path / "plan.json", "--cluster", "examples/quickstart", "--simulate")
    assert (code, told in text) == (1, True), text


def test_the_cause_of_silence_is_what_the_system_said() -> None:
    """Not how a client wraps it."""
    inner = NewConnectionError(HTTPConnection("h"), "Failed to establish a new connection: [Errno 111] Connection refused")
    for error, told in (
        (MaxRetryError(HTTPConnectionPool("h"), "/x", inner), "Connection refused"), (inner, "Connection refused"),
        (ConnectionResetError(104, "Connection reset by peer"), "Connection reset by peer"),
        (ProtocolError("Connection aborted.", ConnectionResetError(104, "Connection reset by peer")), "Connection aborted"),
        (TimeoutError("it took too long"), "it took too long"), (OSError(), "the connection ended"),
    ):  # fmt: skip
        said = cause(error)
        assert told in said
        assert WORDING.search(said) is None, said
