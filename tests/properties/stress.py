"""Rules 1 to 5 over many random loops: `python -m tests.properties.stress [--loops N] [--seed FIRST] [--disturbed]`.

Prints each story that breaks a rule with its seed, and where to go on: `--seed` takes it up again at that story.
`--story SEED` tells one story in full. In `--disturbed` ones pods are preempted and evicted while nodes are bought.
"""

import argparse
import signal
import sys
import time
from collections.abc import Sequence

from tests.properties.stories import Told, tell

BAR = 40


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 when a rule was broken."""
    parser = argparse.ArgumentParser(prog="stress", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--loops", type=int, default=100_000, help="turns of the loop, in whole stories")
    parser.add_argument("--seed", type=int, default=1, help="the first story")
    parser.add_argument("--story", type=int, help="tell this one, with everything that happened in it")
    parser.add_argument("--disturbed", action="store_true", help="pods give way to others and are evicted all the time")
    options = parser.parse_args(arguments)
    if options.story is not None:
        told = tell(options.story, disturbed=options.disturbed)
        print("\n".join([*told.happened, *(f"BROKEN {what}" for what in told.broken)]))
        return 1 if told.broken else 0
    return _many(options.loops, options.seed, disturbed=options.disturbed)


def _many(loops: int, seed: int, *, disturbed: bool) -> int:
    began, done, broken, first = time.monotonic(), 0, [], seed
    try:
        while done < loops:
            told = tell(seed, disturbed=disturbed)
            seed += 1
            done += told.turns
            if told.broken:
                broken.append(told)
                _clear()
                _print(told)
            _progress(done, loops, seed, time.monotonic() - began)
    except KeyboardInterrupt:
        pass
    _clear()
    print(f"{done} loops, stories {first} to {seed - 1}, {len(broken)} with a broken rule; --seed {seed} goes on")
    if broken:
        print("broken in: " + " ".join(str(told.seed) for told in broken))
    return 1 if broken else 0


def _print(told: Told) -> None:
    print(f"story {told.seed}: " + "; ".join(told.broken[:3]), flush=True)


def _progress(done: int, loops: int, seed: int, seconds: float) -> None:
    if sys.stderr.isatty():
        full = min(BAR, BAR * done // loops)
        left = seconds * max(0, loops - done) / max(1, done)
        bar = "#" * full + "." * (BAR - full)
        print(f"\r[{bar}] {done}/{loops} loops, story {seed}, about {left:.0f} s left ", end="", file=sys.stderr, flush=True)


def _clear() -> None:
    if sys.stderr.isatty():
        print("\r" + " " * 110 + "\r", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    # Ended by `timeout`, or in the background, where SIGINT is ignored: the count and where to go on are told all the same.
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    sys.exit(main())
