"""A session says of a change what is known of it: that a test goes red, that none can, that none runs the line."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.mutants.campaign import tried
from tests.mutants.mutant import ROOT, Mutant, is_noticed
from tests.mutants.watched import lines_of

_FILE = "reconciler/decisions/limits.py"
_TESTS = ["tests/decisions/test_edges.py"]
_LIMIT = "max(0, (highest - used) // one)"


def _changed(before: str, after: str, file: str = _FILE) -> Mutant:
    text = (ROOT / file).read_text("utf-8")
    assert text.count(before) == 1, before
    line = text[: text.index(before)].count("\n") + 1
    return Mutant(file=file, what=after, source=text.replace(before, after), line=line)


def test_what_is_noticed_and_what_is_not() -> None:
    """In a process of its own: a broken bound, the same bound in other words, a line that none of these tests
    runs, and a default, which is fixed as the module is loaded."""
    mutants = [
        _changed(_LIMIT, "max(0, (highest - used - 1) // one)"),
        _changed(_LIMIT, "max(0, -1, (highest - used) // one)"),
        _changed("allowed = max(0, room.left - self._taken(room))", "allowed = max(1, room.left - self._taken(room))"),
        _changed("nodes: int = 1) -> None:", "nodes: int = 2) -> None:"),
    ]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(tried, mutants, _TESTS).result(timeout=600) == [True, False, False, True]


def test_what_a_conftest_loads_is_changed_too() -> None:
    """A default of a module that the tests' own conftest imports before any test is collected."""
    mutant = _changed("reopen: bool = True\n", "reopen: bool = False\n", "reconciler/providers/contract.py")
    assert is_noticed(mutant, ["tests/providers/test_less_than_usual.py"], 300)


_TEXT = """\
@final
def f(a, b=1):
    if (
        a and
        b
    ):
        return [
            a,
        ]
    match a:
        case 1 if b:
            pass
"""


def test_the_lines_of_a_statement() -> None:
    """Of one with a body, those of its head: who runs another branch of it does not run the change."""
    assert lines_of(_TEXT, 2) == range(1, 3)
    assert lines_of(_TEXT, 4) == lines_of(_TEXT, 3) == range(3, 7)
    assert lines_of(_TEXT, 8) == range(7, 10)
    assert lines_of(_TEXT, 10) == range(10, 12)
