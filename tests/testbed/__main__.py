"""A control plane with Cluster API to work with by hand: `python -m tests.testbed`, until Ctrl-C.

The lines on stdout are for a shell: `export KUBECONFIG=…`, and where there is no kubectl, a PATH with one. Nothing is left
behind in the end.
"""

import argparse
import shutil
import signal
import sys
from collections.abc import Sequence

from tests.testbed import progress
from tests.testbed.cluster_api import AS_RELEASED, FAST, ClusterApi
from tests.testbed.cluster_documents import Group, Shape
from tests.testbed.control_plane import running_control_plane
from tests.testbed.programs import program
from tests.testbed.progress import step
from tests.testbed.toolchain import NotAvailableError
from tests.testbed.work_cluster import WorkCluster

_STOP = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
EXAMPLE = "example"


def main(arguments: Sequence[str]) -> int:
    """Start, print where, wait for a signal, stop."""
    parser = argparse.ArgumentParser(prog="python -m tests.testbed", description=__doc__)
    parser.add_argument("--as-released", action="store_true", help="Cluster API with its limits, as users run it")
    parser.add_argument("--empty", action="store_true", help=f"without the cluster in namespace {EXAMPLE}")
    options = parser.parse_args(arguments)
    progress.write_to(sys.stderr)
    for name in _STOP:
        signal.signal(name, _stop)
    try:
        with running_control_plane() as plane:
            running = ClusterApi(plane, AS_RELEASED if options.as_released else FAST)
            with step("starting Cluster API"):
                running.start()
            try:
                if not options.empty:
                    with step(f"the cluster in namespace {EXAMPLE}"):
                        make_example(running)
                print(f"export KUBECONFIG={plane.kubeconfig}", flush=True)
                if shutil.which("kubectl") is None:
                    print(f'export PATH="{program("kubectl").parent}:$PATH"', flush=True)
                print(f"Logs are in {plane.directory}. Ctrl-C stops everything and removes it.", file=sys.stderr, flush=True)
                signal.pause()
            finally:
                running.stop()
    except KeyboardInterrupt:
        return 0
    except NotAvailableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _stop(*_: object) -> None:
    for name in _STOP:
        signal.signal(name, signal.SIG_IGN)
    raise KeyboardInterrupt


def make_example(running: ClusterApi) -> WorkCluster:
    """Two groups in two zones, one at zero, as a first thing to look at."""
    cluster = WorkCluster(running.api, EXAMPLE)
    cluster.machine_deployment(Group("general-a", replicas=2, min_size=1, max_size=5), Shape(zone="a"))
    cluster.machine_deployment(Group("general-b", replicas=0, min_size=0, max_size=5), Shape(zone="b"))
    cluster.until_nodes(2)
    return cluster


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
