"""Mutants drawn at random, and whether quick tests notice them: `python -m tests.mutants.campaign --mutants 300 --seed 7`."""

import argparse
import random
import sys
import time
from collections.abc import Sequence
from itertools import islice

from tests.mutants.areas import quick_tests, sources
from tests.mutants.changes import mutant_at, places
from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.mutant import ROOT, Mutant, is_noticed

_ENOUGH_PERCENT = 95
_SECONDS_EACH = 600.0


def drawn(count: int, seed: int, only: str = "") -> list[Mutant]:
    """So many mutants, none twice; each file has as many chances as it has places to change. `only`: files below it."""
    texts = {file: (ROOT / file).read_text("utf-8") for file in sources() if file.startswith(only)}
    every = [(file, place) for file, text in texts.items() for place in places(text)]
    random.Random(seed).shuffle(every)
    mutants = (mutant_at(file, texts[file], place) for file, place in every)
    found = (mutant for mutant in mutants if mutant.what.partition(": ")[2] not in EQUIVALENT.get(mutant.file, {}))
    return list(islice(found, count))


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when at least 95 percent were noticed."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--mutants", type=int, default=300, help="how many (default 300)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), help="which (default: others each time)")
    parser.add_argument("--only", default="", help="a folder or file, such as reconciler/kube")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no other one after so long")
    options = parser.parse_args(arguments)
    started, survivors, tried = time.monotonic(), list[str](), 0
    print(f"seed {options.seed}", flush=True)
    for mutant in drawn(options.mutants, options.seed, options.only):
        if time.monotonic() - started > options.seconds:
            break
        tried += 1
        if not is_noticed(mutant, quick_tests(mutant.file), _SECONDS_EACH):
            survivors.append(mutant.what)
            print(f"    not noticed: {mutant.what}", flush=True)
    noticed = tried - len(survivors)
    print(f"{tried} mutants, {noticed} noticed ({noticed * 100 / max(1, tried):.1f} %)")
    return 0 if noticed * 100 >= tried * _ENOUGH_PERCENT else 1


if __name__ == "__main__":
    sys.exit(main())
