"""Forks that share work tell what they did, and nobody takes half of it for the whole."""

from collections.abc import Callable

import pytest

from tests.mutants.side_by_side import side_by_side


def test_every_fork_does_its_part() -> None:
    """Squares of ten numbers, by three."""

    def squares(fork: int, tell: Callable[[bytes], None]) -> None:
        for number in range(fork, 10, 3):
            tell(str(number * number).encode())

    assert sorted(map(int, side_by_side(3, squares))) == [number * number for number in range(10)]


def test_a_fork_that_fails_is_told() -> None:
    """What the other one said has come by then."""

    def half(fork: int, tell: Callable[[bytes], None]) -> None:
        if fork:
            raise OSError
        tell(b"here")

    lines = side_by_side(2, half)
    assert next(lines) == b"here"
    with pytest.raises(RuntimeError, match="before its work was done"):
        next(lines)
