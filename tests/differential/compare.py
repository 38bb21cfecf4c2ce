"""Compare random clusters with kube-scheduler's plugins: `python -m tests.differential.compare --clusters 1000 --seed 7`."""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.differential.campaign import COMPARED, Trial, compare, reproducer, trials
from tests.differential.difference import Difference
from tests.differential.generator.draft import Object
from tests.differential.oracle import NEWEST, OF_THE_TESTBED, Oracle
from tests.testbed.toolchain import NotAvailableError

_SHOWN = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when nothing differs, 1 when something does."""
    parser = argparse.ArgumentParser(prog="compare", description=__doc__)
    parser.add_argument("--clusters", type=int, default=100, help="how many (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="where the seeds start (default 1)")
    parser.add_argument("--features", default="", help=f"comma-separated; default all: {','.join(COMPARED)}")
    parser.add_argument("--newest", action="store_true", help=f"kube-scheduler {NEWEST} instead of {OF_THE_TESTBED}")
    parser.add_argument("--save", type=Path, help="directory for a small reproducer of every kind of difference")
    options = parser.parse_args(arguments)
    features = options.features.split(",") if options.features else COMPARED
    try:
        with Oracle(release=NEWEST if options.newest else OF_THE_TESTBED) as oracle:
            return _campaign(oracle, options, list(trials(options.clusters, options.seed, features)))
    except NotAvailableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _campaign(oracle: Oracle, options: argparse.Namespace, plan: list[Trial]) -> int:
    kinds: Counter[object] = Counter()
    pairs, differing, started = 0, 0, time.monotonic()
    for number, trial in enumerate(plan, 1):
        snapshot = trial.snapshot()
        found = compare(oracle, snapshot)
        pairs += _pairs(snapshot)
        differing += bool(found)
        for difference in found:
            if not kinds[difference.kind] and len(kinds) <= _SHOWN:
                _show(trial, difference, reproducer(oracle, snapshot, difference), options.save)
            kinds[difference.kind] += 1
        if number % 50 == 0:
            print(f"    {number} clusters, {differing} differ, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{len(plan)} clusters, {pairs} pairs of pod and node, {differing} clusters differ")
    for kind, count in kinds.most_common():
        print(f"    {count} x only kube-scheduler: {list(kind[0])}, only reconciler: {list(kind[1])}")
    return 1 if differing else 0


def _pairs(snapshot: Object) -> int:
    nodes = sum(item["kind"] == "Node" for item in snapshot["items"])
    waiting = sum(
        item["kind"] == "Pod"
        and "nodeName" not in item["spec"]
        and "deletionTimestamp" not in item["metadata"]
        and item["status"].get("phase") not in ("Succeeded", "Failed")
        for item in snapshot["items"]
    )
    return nodes * waiting


def _show(trial: Trial, difference: Difference, small: Object, directory: Path | None) -> None:
    print(f"{trial}: {difference}")
    if directory is None:
        print(json.dumps(small))
        return
    directory.mkdir(parents=True, exist_ok=True)
    theirs, ours = difference.kind
    name = f"{'-'.join(trial.features[:4])}-{trial.seed}-only-theirs-{'-'.join(theirs)}-only-ours-{'-'.join(ours)}.json"
    record = {"difference": str(difference), "theirs": difference.theirs, "ours": difference.ours, "snapshot": small}
    (directory / name).write_text(json.dumps(record, indent=1))
    print(f"    {directory / name}")


if __name__ == "__main__":
    sys.exit(main())
