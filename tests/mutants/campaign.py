"""Mutants drawn at random, and whether quick tests notice them: `python -m tests.mutants.campaign --mutants 300 --seed 7`."""

import argparse
import math
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from tests.mutants.areas import AREAS, area_of, sources
from tests.mutants.changes import mutant_at, places
from tests.mutants.equivalent import is_listed
from tests.mutants.mutant import ROOT, Mutant
from tests.mutants.session import PROCESSES, Session
from tests.mutants.side_by_side import side_by_side

_ENOUGH_PERCENT = 95
# What every area has reached so far, and how often a small sample of an area at that may look worse by chance.
_REACHED_PERCENT = 80
_RARELY = 1e-4


def drawn(count: int, seed: int, only: str = "") -> list[Mutant]:
    """So many mutants, none twice; each file has as many chances as it has places to change. `only`: a folder, a
    file or a line of it."""
    start, _, line = only.partition(":")
    texts = {file: (ROOT / file).read_text("utf-8") for file in sources() if file.startswith(start)}
    every = [(file, place) for file, text in texts.items() for place in places(text) if line in ("", str(place[0].lineno))]
    random.Random(seed).shuffle(every)
    mutants = (mutant_at(file, texts[file], place) for file, place in every)
    found = (mutant for mutant in mutants if not is_listed(mutant, texts[mutant.file]))
    return list(islice(found, count))


def least_noticed(count: int) -> int:
    """What a sample of so many shows at least where 80 percent of all are noticed, but for one sample in ten thousand: the
    lower tail of the binomial distribution."""
    share, tail = _REACHED_PERCENT / 100, 0.0
    for noticed in range(count + 1):
        tail += math.comb(count, noticed) * share**noticed * (1 - share) ** (count - noticed)
        if tail > _RARELY:
            return noticed
    raise AssertionError("all of a distribution is one")


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when at least 95 percent were noticed; with `--sample` as many as an area at 80 shows, but for rare samples."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--mutants", type=int, default=300, help="how many (default 300)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), help="which (default: others each time)")
    parser.add_argument("--only", default="", help="a folder, a file or FILE:LINE, such as reconciler/kube")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no other one after so long")
    parser.add_argument("--tests", nargs="*", help="no others than these, such as the new tests for a survivor")
    parser.add_argument("--sample", action="store_true", help="of one area by chance; fail where chance cannot explain it")
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}", flush=True)
    only = f"{random.Random(options.seed).choice(sorted(AREAS))}/" if options.sample else options.only
    print(f"of {only or 'all areas'}", flush=True)
    mutants = drawn(options.mutants, options.seed, only)
    folders = sorted({folder for mutant in mutants for folder in AREAS[area_of(mutant.file)]})
    results = tried(mutants, options.tests or folders, options.seconds)
    noticed = sum(results)
    print(f"{len(results)} mutants, {noticed} noticed ({noticed * 100 / max(1, len(results)):.1f} %)")
    if options.sample:
        print(f"of {len(results)} an area at {_REACHED_PERCENT} % shows at least {least_noticed(len(results))}")
        return 0 if results and noticed >= least_noticed(len(results)) else 1
    return 0 if results and noticed * 100 >= len(results) * _ENOUGH_PERCENT else 1


def tried(mutants: Sequence[Mutant], tests: Sequence[str], seconds: float = float("inf"), *, every: bool = False) -> list[bool]:
    """Whether each was noticed, as far as time allowed: by quick tests, or by `every` test. Once in a process, since pytest keeps
    what it loaded."""
    results = dict[int, bool]()
    with tempfile.TemporaryDirectory() as directory:
        Session(lambda session: results.update(_each(session, mutants, seconds)), every=every).run(tests, Path(directory))
    return [results[number] for number in sorted(results)]


def _each(session: Session, mutants: Sequence[Mutant], seconds: float) -> Iterator[tuple[int, bool]]:
    """The number of each mutant and whether it was noticed, as it becomes known."""
    assert session.watched is not None
    for name in session.names(sorted(session.watched.red)):
        print(f"    red without a change, so it counts for none: {name}", flush=True)
    for name in session.names(sorted(session.watched.slow)):
        print(f"    too slow to be asked: {name}", flush=True)
    started = time.monotonic()
    print(f"{len(session.watched.seconds)} quick tests", flush=True)

    def ask(fork: int, tell: Callable[[bytes], None]) -> None:
        for number in range(fork, len(mutants), PROCESSES):
            if time.monotonic() - started > seconds:
                return
            noticed, asked = session.is_noticed(mutants[number])
            tell(f"{number} {noticed:d} {asked}".encode())

    for line in side_by_side(PROCESSES, ask):
        number, noticed, asked = map(int, line.split())
        if not noticed:
            print(f"    not noticed by {asked} tests: {mutants[number].what}", flush=True)
        yield number, bool(noticed)


if __name__ == "__main__":
    sys.exit(main())
