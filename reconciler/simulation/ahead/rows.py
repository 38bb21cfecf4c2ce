"""The rows of the pods when what a decision foresees has come true."""

from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable

from reconciler.cluster.pods.pod import Owner, Pod, PodPhase, PodTraits
from reconciler.cluster.pods.pod_table import PodTable, phase_code, pod_flags
from reconciler.cluster.world import World
from reconciler.decisions.outcome.foreseen import Foreseen
from reconciler.scheduling.kernels import rows
from reconciler.simulation.ahead.moves import Moves
from reconciler.simulation.ahead.nodes import Nodes

_RUNNING = phase_code(PodPhase.RUNNING)
_READY = pod_flags(ready=True, gated=False)
_COLUMNS = tuple(name for name in PodTable.__slots__ if name != "unknown_node")


def pods_after(
    world: World, foreseen: Foreseen, moves: Moves, nodes: Nodes, now_seconds: int
) -> tuple[PodTable, tuple[PodTraits, ...]]:
    """Rows in order of namespace and name, and the traits that they point to. Pods that moved run, those of DaemonSets are on new
    nodes, too, and what goes with a node is gone."""
    old = world.pods
    node, phase, flags, unschedulable = old.node[:], old.phase[:], old.flags[:], old.unschedulable_seconds[:]
    rows.seat(moves.rows, moves.nodes, _RUNNING, _READY, node, phase, flags, unschedulable)
    rows.renumber(node, array("i", nodes.moved))
    table = PodTable.of_columns(
        namespace=old.namespace,
        name=old.name,
        uid=old.uid,
        shape=old.shape,
        traits=old.traits,
        node=node,
        nominated=old.nominated,
        phase=phase,
        flags=flags,
        created_seconds=old.created_seconds,
        deletion_seconds=old.deletion_seconds,
        unschedulable_seconds=unschedulable,
        unknown_node={},
    )
    traits = list(world.pod_traits)
    fresh = PodTable(_daemons(world, foreseen, nodes, traits, now_seconds))
    if moves.gone or len(fresh):
        table = _arranged(table, moves.gone, fresh)
    return table, tuple(traits)


def _daemons(world: World, foreseen: Foreseen, nodes: Nodes, traits: list[PodTraits], now_seconds: int) -> list[Pod]:
    """The DaemonSet pods of the new nodes; `traits` get theirs."""
    by_shape = defaultdict(list)
    for daemon in world.daemon_pods:
        by_shape[daemon.shape].append(daemon)
    index = {known: number for number, known in enumerate(traits)} if by_shape else {}
    pods = []
    for new in (new for group in foreseen.groups for new in group.joining):
        node = nodes.moved[new.index]
        for shape, many in Counter(new.daemons).items():
            for daemon in by_shape[shape][:many]:
                owned = PodTraits(namespace=daemon.namespace, controller=Owner("apps", "DaemonSet", daemon.name), daemonset=True)
                if owned not in index:
                    index[owned] = len(traits)
                    traits.append(owned)
                name = f"{daemon.name}-{nodes.nodes[node].name}"
                pods.append(
                    Pod(
                        namespace=daemon.namespace,
                        name=name,
                        uid=f"uid-{name}",
                        shape=shape,
                        traits=index[owned],
                        node=node,
                        phase=PodPhase.RUNNING,
                        ready=True,
                        created_seconds=now_seconds,
                    )
                )
    return pods


def _arranged(table: PodTable, gone: Iterable[int], fresh: PodTable) -> PodTable:
    """The rows of both, in order, without those that are gone."""
    runs, arranged = _runs(table, gone, fresh), PodTable()
    for name in _COLUMNS:
        setattr(arranged, name, _taken(getattr(table, name) + getattr(fresh, name), runs))
    return arranged


def _runs(table: PodTable, gone: Iterable[int], fresh: PodTable) -> list[tuple[int, int]]:
    """What is taken one behind the other, from a row up to another one; rows of `fresh` count on behind those of the table. Of
    hundred thousands of rows thousands go or come: what is between them is taken as it is."""
    names = list(zip(fresh.namespace, fresh.name, strict=True))
    places = [bisect_left(range(len(table)), name, key=lambda row: (table.namespace[row], table.name[row])) for name in names]
    # What comes between two rows is before the second of them, whether that one goes or stays.
    cuts = [(place, 0, name, len(table) + row) for row, (place, name) in enumerate(zip(places, names, strict=True))]
    cuts += [(row, 1, ("", ""), 0) for row in gone]
    runs, first = list[tuple[int, int]](), 0
    for place, goes, _, row in sorted(cuts):
        runs.append((first, place))
        if not goes:
            runs.append((row, row + 1))
        first = place + goes
    return [run for run in (*runs, (first, len(table))) if run[0] < run[1]]


def _taken(column: "list[str] | array[int]", runs: Iterable[tuple[int, int]]) -> "list[str] | array[int]":
    found = column[:0]
    for first, end in runs:
        found += column[first:end]  # type: ignore[operator]
    return found
