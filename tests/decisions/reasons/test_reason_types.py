"""Every reason is a type: its code is on the page of reasons, and its sentence is right for none, one and several."""

import re
import typing
from pathlib import Path

import msgspec
import pytest

import reconciler
from docs.generator.reasons import reasons
from reconciler.decisions.removal.kinds import KINDS
from reconciler.plan.reason import Because
from reconciler.policy.documents import RemovalReason

_NUMBER_AND_WORD = re.compile(r"(?<![\w.:-])([012]) ([a-z]+)\b")
# Words after a number that end in s and are no plurals.
_NO_NOUNS = frozenset({"is", "was", "has", "applies", "adds"})


def _value(kind: object, number: int) -> object:
    """A value of a field's type; integers, and lengths of lists, are `number`."""
    options = typing.get_args(kind)
    if kind is bool:
        return number > 0
    if kind is int or int in options:
        return number
    if kind is str or (str in options and tuple not in map(typing.get_origin, options)):
        return "x"
    if typing.get_origin(kind) is tuple:
        return tuple(_value(options[0], number) for _ in range(max(number, 1)))
    pytest.fail(f"no value for {kind}")


def _sentence(kind: type[Because], number: int) -> str:
    hints = typing.get_type_hints(kind)
    return kind(**{field.name: _value(hints[field.name], number) for field in msgspec.structs.fields(kind)}).sentence()


def _words(kind: type[Because], number: int) -> set[str]:
    """The words that follow `number` in the sentence with that number."""
    return {word for digit, word in _NUMBER_AND_WORD.findall(_sentence(kind, number)) if digit == str(number)} - {"x"}


_SINGULARS = {word.removesuffix("s") for kind in reasons() for word in _words(kind, 2) - _NO_NOUNS if word.endswith("s")}


@pytest.mark.parametrize("kind", reasons(), ids=lambda kind: kind.__name__)
def test_a_sentence_agrees_with_its_numbers(kind: type[Because]) -> None:
    """After a 1 stands a singular, after a 0 and a 2 the plural of it: `1 node`, never `1 nodes` or `2 node`."""
    assert not {word for word in _words(kind, 1) - _NO_NOUNS if word.endswith("s")}, _sentence(kind, 1)
    assert not (_words(kind, 0) | _words(kind, 2)) & _SINGULARS, (_sentence(kind, 0), _sentence(kind, 2))


def test_no_reason_of_a_node_is_a_bare_string() -> None:
    """`Because.blocker` is the only place that makes one: its code is then on the page of reasons, with its data."""
    root = Path(reconciler.__file__).parent
    makers = [path.relative_to(root).as_posix() for path in root.rglob("*.py") if "Blocker(" in path.read_text(encoding="utf-8")]
    assert makers == ["plan/reason.py"]


def test_every_kind_of_removal_is_a_row() -> None:
    assert set(KINDS) == set(RemovalReason)
