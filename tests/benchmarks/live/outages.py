"""How long nobody leads or decides after something broke: `python -m tests.benchmarks.live.outages`.

The leader is killed beside a standby, and with nobody beside it; the API server and etcd go away for a while, and the API server
freezes. What is printed begins at the kill, or at the moment at which the API server answers again. The Lease of a leader that
was killed lasts 15 s, which is part of what passes before the next one leads. Exit code 1: a bound was missed.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from tests.benchmarks.live.bench import Figure
from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.testbed import progress
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group
from tests.testbed.control_plane import ControlPlane, running_control_plane
from tests.testbed.progress import step
from tests.testbed.toolchain import NotAvailableError
from tests.testbed.work_cluster import WorkCluster

NAMESPACE = "outages"
LEASE_SECONDS = 15
# A follower asks every 2 s, and up to a second more, so that several do not ask at once.
STANDBY_SECONDS, READY_SECONDS, AGAIN_SECONDS = LEASE_SECONDS + 4.0, 5.0, 5.0


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="outages", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--times", type=int, default=3, help="how often the leader is killed")
    parser.add_argument(
        "--seconds", type=float, nargs="*", default=[20.0, 60.0], help="how long servers are away; less than a turn says little"
    )
    options = parser.parse_args(arguments)
    progress.write_to(sys.stderr)
    try:
        with running_control_plane() as plane, tempfile.TemporaryDirectory() as directory:
            policy = _start(plane, Path(directory, "policy.yaml"))
            figures = _killed(plane, policy, options.times) + _away(plane, policy, options.seconds)
    except NotAvailableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    missed = [figure.name for figure in figures if figure.missed]
    print(f"missed: {', '.join(missed)}" if missed else "every figure is within its bound")
    return 1 if missed else 0


def _start(plane: ControlPlane, policy: Path) -> Path:
    """A cluster with one group, nothing to do, and its policy; nothing acts on Cluster API's objects."""
    running = ClusterApi(plane)
    with step("starting Cluster API"):
        running.start()
    WorkCluster(plane.api, NAMESPACE).machine_deployment(Group("general", replicas=0))
    running.stop()
    policy.write_text(policy_text("prod", NAMESPACE, {"general": (0, 9)}))
    return policy


def _process(plane: ControlPlane, policy: Path, name: str) -> Reconciler:
    return Reconciler(user(plane, name), policy, f"--namespace={NAMESPACE}")


def _killed(plane: ControlPlane, policy: Path, times: int) -> list[Figure]:
    """SIGKILL for the leader beside a standby, then for that one, after which a new process begins at once."""
    figures: list[Figure] = []
    for number in range(times):
        with _process(plane, policy, f"first-{number}") as first:
            first.said("Leading")
            with _process(plane, policy, f"standby-{number}") as standby:
                _until_ready(standby)
                killed = _kill(first)
                standby.said("Leading")
                figures += _told(Figure(name="killed: a standby leads after", value=_since(killed), bound=STANDBY_SECONDS))
                killed = _kill(standby)
        with _process(plane, policy, f"new-{number}") as new:
            _until_ready(new)
            figures += _told(Figure(name="killed: a new process is ready after", value=_since(killed), bound=READY_SECONDS))
            new.said("Leading")
            bound = STANDBY_SECONDS + READY_SECONDS
            figures += _told(Figure(name="killed: a new process leads after", value=_since(killed), bound=bound))
            new.signal(signal.SIGTERM)
            new.ended()
    return figures


def _away(plane: ControlPlane, policy: Path, seconds: Sequence[float]) -> list[Figure]:
    """From the moment at which the API server answers again to a turn that decided, and to a process that is ready."""
    ways: dict[str, Callable[[], AbstractContextManager[None]]] = {
        "API server killed": plane.api_server_away,
        "API server stopped": lambda: plane.api_server_away(graceful=True),
        "etcd killed": plane.etcd_away,
        "API server frozen": lambda: plane.paused("kube-apiserver"),
    }
    figures: list[Figure] = []
    with _process(plane, policy, "through") as process:
        process.said("Leading")
        for name, away in ways.items():
            for long in seconds:
                _until_ready(process)
                with away():
                    time.sleep(long)
                back, turns = time.monotonic(), _decided(process)
                while _decided(process) == turns:
                    time.sleep(0.05)
                figures += _told(Figure(name=f"{name} for {long:g} s: decides after", value=_since(back), bound=AGAIN_SECONDS))
                _until_ready(process)
                figures += _told(Figure(name=f"{name} for {long:g} s: ready after", value=_since(back), bound=AGAIN_SECONDS))
    return figures


def _decided(process: Reconciler) -> int:
    return process.turns_by_result()["Decided"]


def _until_ready(process: Reconciler) -> None:
    process.until_page("/readyz", lambda status, _: status == 200)


def _kill(process: Reconciler) -> float:
    os.kill(process.pid, signal.SIGKILL)
    return time.monotonic()


def _since(instant: float) -> float:
    return time.monotonic() - instant


def _told(figure: Figure) -> list[Figure]:
    print(figure.line(1.0), flush=True)
    return [figure]


if __name__ == "__main__":
    sys.exit(main())
