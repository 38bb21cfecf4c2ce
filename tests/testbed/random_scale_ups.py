"""Do pods that plans promise a node run there, on a real control plane? `python -m tests.testbed.random_scale_ups --count 200`

Each seed is a random cluster (`tests/properties/node_facts.py`). Plans are made and carried out until one adds nothing: nodes
come as the facts say, kube-scheduler binds, and no pod that was promised a node is promised a second one. A cluster whose plan
adds nothing counts nothing.
"""

import argparse
import secrets
import sys
import time
from collections import Counter
from collections.abc import Sequence

from tests.testbed import progress
from tests.testbed.control_plane import ControlPlane, running_control_plane
from tests.testbed.facts_cluster import prepare
from tests.testbed.scale_up_story import told_story
from tests.testbed.toolchain import NotAvailableError


def main(arguments: Sequence[str]) -> int:
    """Print each miss with its seed, and the sums; 1 if there is a miss."""
    parser = argparse.ArgumentParser(prog="python -m tests.testbed.random_scale_ups", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many scale-ups")
    parser.add_argument("--seed", type=int, help="the first seed; the others follow it")
    options = parser.parse_args(arguments)
    progress.write_to(sys.stderr)
    seed = secrets.randbits(31) if options.seed is None else options.seed
    sums = Counter[str]()
    try:
        with running_control_plane() as plane:
            prepare(plane.api)
            first = seed
            while sums["scale-ups"] < options.count:
                sums += _told(plane, seed)
                seed += 1
    except NotAvailableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"seeds {first} to {seed - 1}: {sums['scale-ups']} scale-ups, {sums['nodes']} nodes, {sums['promises']} promised pods.")
    print(f"{sums['misses']} promises were broken, {sums['not told']} clusters were not carried out to the end.")
    print(f"In {sums['disordered']} of the scale-ups others were first: {sums['late']} pods came anew in the plan's order.")
    print(f"Instead of {sums['outbid']} of them pods ran that had no place in the plan.")
    return 1 if sums["misses"] or sums["not told"] else 0


def _told(plane: ControlPlane, seed: int) -> Counter[str]:
    """What one cluster adds to the sums; its misses are printed."""
    started = time.monotonic()
    try:
        with told_story(plane, seed) as (story, told):
            found = {
                "scale-ups": story.scale_ups,
                "promises": told.promises,
                "nodes": told.nodes,
                "misses": len(told.broken),
                "late": len(story.late),
                "outbid": story.outbid,
                "disordered": story.disordered,
            }
            lines = [
                *told.broken,
                *(f"seed {seed}: others were first: {what}" for what in story.late),
            ]
    except (TimeoutError, RuntimeError) as error:
        # One cluster that the control plane did not finish in time says nothing of the others.
        found, lines = {"not told": 1}, [f"seed {seed}: {error}"]
    print(f"seed {seed}, {time.monotonic() - started:.1f} s:", *(f"{many} {what}" for what, many in found.items()), flush=True)
    print(*lines, sep="\n", end="\n" if lines else "", flush=True)
    return Counter(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
