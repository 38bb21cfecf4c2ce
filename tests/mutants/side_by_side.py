"""Work of one process, done by several forks of it."""

import os
from collections.abc import Callable, Iterator

from tests.mutants.orphans import adopt_orphans, end_children

# What a pipe takes at once, so that lines of two forks never mix (POSIX promises at least 512).
_LINE_BYTES = 512


def side_by_side(forks: int, work: Callable[[int, Callable[[bytes], None]], None]) -> Iterator[bytes]:
    """The lines that the forks tell, as they come. `work` is given the number of its fork and what tells a line of at most 511
    bytes. Raises RuntimeError at the end where one did not come through."""
    reading, writing = os.pipe()
    pids = [_forked(number, work, reading, writing) for number in range(forks)]
    os.close(writing)
    with os.fdopen(reading, "rb") as lines:
        yield from (line.rstrip(b"\n") for line in lines)
    codes = [os.waitpid(pid, 0)[1] for pid in pids]
    if any(codes):
        raise RuntimeError("a fork ended before its work was done")


def _forked(number: int, work: Callable[[int, Callable[[bytes], None]], None], reading: int, writing: int) -> int:
    def tell(line: bytes) -> None:
        assert len(line) < _LINE_BYTES
        os.write(writing, line + b"\n")

    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.close(reading)
        adopt_orphans()
        work(number, tell)
        end_children()
        code = 0
    finally:
        os._exit(code)
