"""The work on which the loop was compared with the Cluster Autoscaler: `python -m tests.benchmarks.live.comparison`.

200 pods at once onto three groups from zero, all gone; five bursts of 50, all gone; many empty nodes at once; many nodes with a
small pod each; the burst once more with prices in the policy. Prints times, machines, cost, requests by verb, processor time and
memory. Then the loop ends, and the burst and the empty nodes come again with a hand in its place (`by_hand`): ours, the hand's
and the difference are printed beside each other. The figures of the Cluster Autoscaler 1.36.1 with its Cluster API provider were
measured on another machine at rest, with every component at its default flags; the yardstick tells how fast this one is. Exit
code 1: a bound was missed.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.benchmarks.live.bench import Figure
from tests.benchmarks.live.burst_work import BurstWork
from tests.benchmarks.live.by_hand import Burst, Emptied, Mix, burst, burst_by_hand, emptied, emptied_by_hand
from tests.benchmarks.yardstick import yardstick_seconds
from tests.live.reconciler_process import Reconciler, user
from tests.testbed import progress
from tests.testbed.cluster_api import AS_RELEASED, ClusterApi
from tests.testbed.control_plane import ControlPlane, running_control_plane
from tests.testbed.progress import step
from tests.testbed.toolchain import NotAvailableError
from tests.testbed.work_cluster import WorkCluster

USER = "reconciler-compared"
UNNEEDED_SECONDS = 30
MIX = (("web", 40, "500m"), ("api", 40, "750m"), ("job", 80, "1"), ("big", 40, "1500m"))
"""200 pods for 190 cores: 48 machines of 4, 26 of 8 (208 cores, what the Cluster Autoscaler took), 13 of 16."""
_WHOLE = "large"
"""The group of machines that are emptied at once."""
THEIR_MACHINES, THEIR_CORES, THEIR_REQUESTS, THEIR_CPU_SECONDS = 26, 208, 876, 3.5
THEIR_PER_HOUR = 26 * 0.384
"""At the prices of `burst_work`."""


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """How large the work is: pods of each kind in the mix are divided by `part`."""

    part: int = 1
    bursts: int = 5
    burst_pods: int = 50
    empty_nodes: int = 100
    drained_nodes: int = 50
    log: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="comparison", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    defaults = Sizes()
    for name in ("part", "bursts", "burst-pods", "empty-nodes", "drained-nodes"):
        parser.add_argument(f"--{name}", type=int, default=getattr(defaults, name.replace("-", "_")))
    parser.add_argument("--log", default="", help="file that the loop's log is written to at the end")
    sizes = Sizes(**vars(parser.parse_args(arguments)))
    progress.write_to(sys.stderr)
    try:
        with running_control_plane() as plane:
            running = ClusterApi(plane, AS_RELEASED)
            with step("starting Cluster API"):
                running.start()
            try:
                figures = compared(plane, running, sizes)
            finally:
                running.stop()
    except NotAvailableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    missed = [figure.name for figure in figures if figure.missed]
    print(f"missed: {', '.join(missed)}" if missed else "every figure is within its bound")
    return 1 if missed else 0


def compared(plane: ControlPlane, running: ClusterApi, sizes: Sizes) -> list[Figure]:
    """All figures, printed as they come."""
    print(f"yardstick {yardstick_seconds():.3f} s of processor time", flush=True)
    work = BurstWork(WorkCluster(running.api, "compared"))
    with work.watched(), tempfile.TemporaryDirectory() as directory:
        policy = work.policy(Path(directory, "policy.yaml"), UNNEEDED_SECONDS)
        with Reconciler(user(plane, USER), policy, f"--namespace={work.cluster.namespace}") as process:
            process.said("Leading")
            try:
                at_once, figures = _at_once(plane, work, process, sizes.part)
                figures += _told(_bursts(work, sizes)) if sizes.bursts else []
                empty = _empty(work, sizes.empty_nodes) if sizes.empty_nodes else None
                figures += _told(_drained(work, sizes.drained_nodes)) if sizes.drained_nodes else []
                figures += _told(_requests(plane, process))
            finally:
                if sizes.log:
                    Path(sizes.log).write_text("".join(f"{msgspec.json.encode(line).decode()}\n" for line in process.lines))
        work.policy(policy, UNNEEDED_SECONDS, priced=True)
        with Reconciler(user(plane, USER), policy, f"--namespace={work.cluster.namespace}") as process:
            process.said("Leading")
            figures += _told(_priced(work, sizes.part))
        figures += _told(burst_beside(at_once, burst_by_hand(work, _mix(sizes.part), at_once)))
        if empty is not None:
            plain, marked = (emptied_by_hand(work, _WHOLE, sizes.empty_nodes, marked=marked) for marked in (False, True))
            figures += _told(empty_beside(sizes.empty_nodes, empty, plain, marked))
        return figures


def _told(figures: list[Figure]) -> list[Figure]:
    for figure in figures:
        print(figure.line(1.0), flush=True)
    return figures


def _mix(part: int) -> Mix:
    return tuple((name, count // part, request) for name, count, request in MIX)


def _at_once(plane: ControlPlane, work: BurstWork, process: Reconciler, part: int) -> tuple[Burst, list[Figure]]:
    """The burst, and all of it gone."""
    before, cpu = len(plane.audit(USER, mutating=False)), process.processor_seconds()
    ours = burst(work, _mix(part), lambda _: work.until_replicas(lambda found: found > 0, "the first write"))
    found = work.bought()
    requests, used = len(plane.audit(USER, mutating=False)) - before, process.processor_seconds() - cpu
    work.remove(*(name for name, _, _ in MIX))
    empty = work.until_pods(0)
    gone = work.until_machines(0)
    print(f"a burst at once: {found.machines} machines, {found.cores} cores, {found.empty} of them empty")
    figures = [
        Figure(name="last pod to first write", value=ours.write_seconds, bound=3.0),
        Figure(name="machines", value=found.machines, bound=THEIR_MACHINES * 1.1 / part + 1, unit=""),
        Figure(name="cores", value=found.cores, bound=THEIR_CORES / part + 16 * (part > 1), unit=""),
        Figure(name="cost at AWS's prices, cents an hour", value=float(100 * found.per_hour), unit=""),
        Figure(name="empty machines", value=found.empty, bound=0, unit=""),
        Figure(name="requests of the burst", value=requests, bound=THEIR_REQUESTS, unit=""),
        Figure(name="processor time of the burst", value=used, bound=THEIR_CPU_SECONDS),
        Figure(name="last pod gone to no machine living", value=gone - empty, bound=UNNEEDED_SECONDS + 15.0),
    ]
    return ours, _told(figures)


def _priced(work: BurstWork, part: int) -> list[Figure]:
    """The burst where groups have prices, and all of it gone."""
    ours = burst(work, _mix(part), lambda _: work.until_replicas(lambda found: found > 0, "the first write"))
    found = work.bought()
    work.remove(*(name for name, _, _ in MIX))
    work.until_pods(0)
    work.until_gone()
    print(
        f"the burst with prices: {found.machines} machines, {found.cores} cores, ${found.per_hour} an hour, {found.empty} empty"
    )
    return [
        Figure(name="with prices: last pod to first write", value=ours.write_seconds, bound=3.0),
        Figure(name="with prices: machines", value=found.machines, bound=THEIR_MACHINES * 1.1 / part + 1, unit=""),
        Figure(
            name="with prices: cents an hour", value=float(100 * found.per_hour), unit="",
            bound=100 * (THEIR_PER_HOUR / part + 0.768 * (part > 1)),
        ),
        Figure(name="with prices: empty machines", value=found.empty, bound=0, unit=""),
    ]  # fmt: skip


def burst_beside(ours: Burst, hand: Burst) -> list[Figure]:
    """The burst beside that of a hand which knew the numbers."""
    print("the burst, ours beside a hand's:", ", ".join(f"{count} {name}" for name, count in ours.sizes.items() if count))
    bound, after = ours.bound_seconds, ours.after_nodes_seconds
    return [
        Figure(name="last node ready to all bound", value=after),
        Figure(name="last node ready to all bound: by hand", value=hand.after_nodes_seconds),
        Figure(name="last node ready to all bound: beyond it", value=after - hand.after_nodes_seconds, bound=3.0),
        Figure(name="last pod to all bound", value=bound),
        Figure(name="last pod to all bound: by hand", value=hand.bound_seconds),
        Figure(name="last pod to all bound: beyond it", value=bound - hand.bound_seconds, bound=3.0),
    ]


def _bursts(work: BurstWork, sizes: Sizes) -> list[Figure]:
    """Bursts one after the other, each when the one before is bound; then all gone."""
    names = [f"burst-{number}" for number in range(sizes.bursts)]
    slowest = 0.0
    for number, name in enumerate(names, start=1):
        began = time.monotonic()
        work.deployment(name, sizes.burst_pods, "1")
        slowest = max(slowest, work.until_bound(number * sizes.burst_pods) - began)
    found = work.bought()
    work.remove(*names)
    empty = work.until_pods(0)
    gone = work.until_machines(0)
    print(f"{sizes.bursts} bursts of {sizes.burst_pods}: {found.machines} machines, {found.cores} cores, {found.empty} empty")
    return [
        Figure(name="slowest burst to all bound", value=slowest),
        Figure(name="empty machines after bursts", value=found.empty, bound=0, unit=""),
        Figure(name="cores beyond those asked for", value=found.cores - sizes.bursts * sizes.burst_pods, unit=""),
        Figure(name="all bursts gone to machines gone", value=gone - empty, bound=UNNEEDED_SECONDS + 15.0),
    ]


def _empty(work: BurstWork, nodes: int) -> Emptied:
    """Nodes that become empty in one moment, each the whole of a large machine; times are from the end of their unneeded time,
    counted from the last pod that went."""
    work.deployment("whole", nodes, "15500m")
    work.until_bound(nodes)
    work.remove("whole")
    return emptied(work, work.until_pods(0) + UNNEEDED_SECONDS, yardstick_seconds())


def empty_beside(nodes: int, ours: Emptied, plain: Emptied, marked: Emptied) -> list[Figure]:
    """Empty nodes beside those that a hand takes away in one write, without marks and with them. A hand without marks is the
    least that can be asked of Cluster API, and what it takes is Cluster API's and the machine's."""
    print(f"{nodes} empty nodes after their time, ours beside one write of a hand without marks and with them")
    figures: list[Figure] = []
    hands = (": by hand", plain, None, None), (": by hand, marked", marked, None, None)
    for what, times, asked, least in (("", ours, 3.0, 15.0), *hands):
        figures += [
            Figure(name=f"yardstick meanwhile{what}", value=times.yardstick_seconds),
            Figure(name=f"nothing more asked for{what}", value=times.asked_seconds, bound=asked),
            Figure(name=f"no machine living{what}", value=times.deleted_seconds, bound=least),
            Figure(name=f"none there{what}", value=times.gone_seconds),
        ]
    return [
        *figures,
        Figure(name="no machine living: beyond the hand", value=ours.deleted_seconds - plain.deleted_seconds, bound=4.0),
        Figure(name="none there: beyond the hand", value=ours.gone_seconds - plain.gone_seconds, bound=4.0),
    ]


def _drained(work: BurstWork, nodes: int) -> list[Figure]:
    """Nodes that keep a small pod each, all of which a few nodes can take."""
    work.deployment("whole", nodes, "15")
    work.until_bound(nodes)
    work.deployment("rest", nodes, "500m", apart=True)
    work.until_bound(2 * nodes)
    work.remove("whole")
    alone = work.until_pods(nodes)
    few = work.until_machines(max(2, nodes // 10))
    bound = work.until_bound(nodes)
    work.remove("rest")
    work.until_machines(0)
    return [
        Figure(name=f"{nodes} nodes with a pod drained after", value=few - alone, bound=UNNEEDED_SECONDS + 60.0),
        Figure(name="their pods all bound after", value=bound - alone),
    ]


def _requests(plane: ControlPlane, process: Reconciler) -> list[Figure]:
    """Of the whole run."""
    all_requests = plane.audit(USER, mutating=False)
    writes = plane.audit(USER)
    verbs = Counter(f"{one.verb} {one.resource}" for one in all_requests)
    print("requests:", ", ".join(f"{count} {name}" for name, count in verbs.most_common()))
    refused = [one for one in writes if one.code == 409]
    print(
        "conflicts:", ", ".join(f"{count} {name}" for name, count in Counter(one.resource for one in refused).items()) or "none"
    )
    return [
        Figure(name="409s of the writes, percent", value=100 * len(refused) / max(len(writes), 1), bound=2.0, unit="%"),
        Figure(name="processor time of the run", value=process.processor_seconds()),
        Figure(name="peak memory (VmHWM)", value=process.peak_kib() / 1024, unit="MiB"),
    ]


if __name__ == "__main__":
    sys.exit(main())
