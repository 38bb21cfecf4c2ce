"""The loop for a long time on a control plane with the defaults of every component: `python -m tests.live.soak --minutes 60`.

Work comes and goes, then nothing at all happens, then work comes again. Every turn must decide: what keeps one from it is told.
"""

import argparse
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import deployment, group
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.control_plane import ControlPlane, running_control_plane
from tests.testbed.work_cluster import WorkCluster

PODS = 4
_numbers = itertools.count(1)


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it. `decided` and `undecided` count turns after the first plan, `why` are the sentences of the latter,
    `nodes_most` is the largest number of nodes seen, `requests_quiet` those of the quiet time by verb."""

    seconds: int
    quiet_seconds: int
    decided: int
    undecided: int
    why: tuple[str, ...]
    rounds: int
    nodes_most: int
    requests_quiet: dict[str, int]
    decided_quiet: int


def soak(
    plane: ControlPlane, cluster: WorkCluster, directory: Path, *, active_seconds: float, quiet_seconds: float, period: float
) -> Findings:
    """Half of `active_seconds`, then the quiet time, then the other half."""
    group(cluster, "general")
    file = directory / "policy.yaml"
    file.write_text(policy_text("soak", cluster.namespace, {"general": (0, 9)}, unneeded="10s"))
    name = f"run-soak-{next(_numbers)}"
    options = (f"--namespace={cluster.namespace}", f"--period={period:g}")
    began = time.monotonic()
    with Reconciler(user(plane, name), file, *options) as process:
        process.until_page("/readyz", lambda status, body: (status, body) == (200, "ok\n"))
        before = process.turns_by_result()
        rounds, most = _work(cluster, active_seconds / 2)
        at_rest, asked = process.turns_by_result(), _requests(plane, name)
        _until(time.monotonic() + quiet_seconds, lambda: None)
        rested, answered = process.turns_by_result(), _requests(plane, name)
        more_rounds, more_most = _work(cluster, active_seconds / 2)
        after = process.turns_by_result()
        why = tuple(line["message"] for line in process.lines if line["code"] in ("Unavailable", "TurnFailed", "LeaseFailed"))
    return Findings(
        seconds=round(time.monotonic() - began),
        quiet_seconds=round(quiet_seconds),
        decided=after["Decided"] - before["Decided"],
        undecided=after["Unavailable"] - before["Unavailable"],
        why=why,
        rounds=rounds + more_rounds,
        nodes_most=max(most, more_most),
        requests_quiet={
            verb: answered[verb] - asked.get(verb, 0) for verb in sorted(answered) if answered[verb] > asked.get(verb, 0)
        },
        decided_quiet=rested["Decided"] - at_rest["Decided"],
    )


def _work(cluster: WorkCluster, seconds: float) -> tuple[int, int]:
    """Pods come, get nodes and go, and their nodes with them, at least once; how often, and the most nodes there were."""
    end, rounds, most = time.monotonic() + seconds, 0, 0
    while not rounds or time.monotonic() < end:
        made = deployment(cluster, f"wave-{next(_numbers)}", PODS, "3")
        most = max(most, len(cluster.until_nodes(PODS)))
        cluster.api.delete({**made, "kind": "Deployment"})
        cluster.until_nodes(0)
        rounds += 1
    return rounds, most


def _requests(plane: ControlPlane, name: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in plane.audit(name, mutating=False):
        # Another autoscaler's Deployment and the states of other policies are looked for by lists.
        key = f"list {one.resource}" if one.verb == "list" and one.resource in ("deployments", "configmaps") else one.verb
        found[key] = found.get(key, 0) + 1
    return found


def _until(deadline: float, look: Callable[[], None]) -> None:
    while time.monotonic() < deadline:
        look()
        time.sleep(min(1.0, max(deadline - time.monotonic(), 0)))


def main() -> int:
    """Print what came of it as JSON; 1 where a turn decided nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="How long in all.")
    parser.add_argument("--quiet", type=float, default=20, help="So many of them nothing happens.")
    given = parser.parse_args()
    with running_control_plane() as plane, tempfile.TemporaryDirectory() as directory:
        running = ClusterApi(plane)
        running.start()
        try:
            cluster = WorkCluster(running.api, "soak")
            active = max(given.minutes - given.quiet, 1) * 60
            found = soak(plane, cluster, Path(directory), active_seconds=active, quiet_seconds=given.quiet * 60, period=10)
        finally:
            running.stop()
    json.dump(msgspec.to_builtins(found), sys.stdout, indent=2)
    print()
    return 1 if found.undecided or not found.decided else 0


if __name__ == "__main__":
    sys.exit(main())
