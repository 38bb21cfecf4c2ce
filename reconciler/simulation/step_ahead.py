"""What a decision foresees, carried out at once on whole columns of a World, without an object per pod."""

from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.cluster.pods.pod import Owner, Pod, PodPhase, PodTraits
from reconciler.cluster.pods.pod_table import PodTable, is_ready, phase_code, pod_flags
from reconciler.cluster.target import Machine, TargetFacts
from reconciler.cluster.targets.owner_evidence import read_hold
from reconciler.cluster.workloads.workload import DisruptionBudget
from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory, Outcome
from reconciler.decisions.outcome.foreseen import ChangedGroup, Foreseen
from reconciler.decisions.remember import settle
from reconciler.decisions.removal.drain import DisruptionLedger
from reconciler.plan.plan import ActionKind
from reconciler.scheduling.departing import departing
from reconciler.scheduling.kernels import loops, rows
from reconciler.simulation.embedded.field_owner import OUR_MANAGER, applied, conflict
from reconciler.simulation.embedded.rooms import with_rooms_taken

# Which pods go where when what a decision foresees comes true.


class Moves(msgspec.Struct, frozen=True):
    """`nodes`: where the pods of `rows` go, one for each (new ones follow those of the World). `evicted` are those of them that
    ran. `gone` are rows of pods that end with their node."""

    rows: "array[int]"
    nodes: "array[int]"
    evicted: "array[int]"
    gone: "array[int]"

    @staticmethod
    def of(world: World, foreseen: Foreseen) -> "Moves | None":
        """None where what was bound is not what these pods need, or a pod cannot simply be made again elsewhere."""
        leaving = bytearray(len(world.nodes))
        for group in foreseen.groups:
            for index in group.leaving:
                leaving[index] = 1
        evicted, gone = (departing(world, leaving, ending=ending) for ending in (False, True))
        lone = {number for number, traits in enumerate(world.pod_traits) if traits.controller is None}
        if not lone.isdisjoint(_taken(world.pods.traits, evicted)):
            return None
        movers = array("i", foreseen.placed) + evicted
        wanted, order = _starts(world), _room(movers)
        loops.by_node(_taken(world.pods.shape, movers), wanted, order)
        offered, nodes = _starts(world), _room(movers)
        if _seats(world, foreseen, leaving, offered, nodes) != len(movers) or wanted != offered:
            return None
        moving = [shape for shape, first, end in zip(world.pod_shapes, wanted, wanted[1:], strict=False) if first < end]
        # A device class may serve what a pod requests: then devices decide.
        classes = bool(world.device_classes)
        if any(shape.volumes or shape.unmodelled or (classes and shape.requests.extended) for shape in moving):
            return None
        return Moves(_taken(movers, order), nodes, evicted, gone)


def _seats(world: World, foreseen: Foreseen, leaving: bytearray, starts: "array[int]", seats: "array[int]") -> int:
    """Write the nodes that pods go to, once per pod and grouped by shape, and the place where each shape starts. DaemonSet pods
    of new nodes do not count. Returns the number of nodes written; it is negative if a node that stays loses pods."""
    daemons = [(new.index, shape) for group in foreseen.groups for new in group.joining for shape in new.daemons]
    nodes = foreseen.nodes + array("i", [node for node, _ in daemons])
    shapes = foreseen.shapes + array("i", [shape for _, shape in daemons])
    counts = foreseen.counts + array("i", (-1,)) * len(daemons)
    stays = bytearray(not leaves for leaves in leaving) + b"\1" * (max(nodes, default=0) + 1)
    number = rows.seats(nodes, shapes, counts, stays, starts, seats)
    if number >= 0:
        return number
    sums: dict[tuple[int, int], int] = defaultdict(int)
    for node, shape, count in zip(nodes, shapes, counts, strict=True):
        sums[node, shape] += count
    nodes, shapes = (array("i", column) for column in zip(*sums, strict=True))
    starts[:] = _starts(world)
    return rows.seats(nodes, shapes, array("i", sums.values()), stays, starts, seats)


def _starts(world: World) -> "array[int]":
    return array("i", bytes(4 * (len(world.pod_shapes) + 2)))


def _room(column: "array[int]") -> "array[int]":
    return array("i", bytes(4 * len(column)))


def _taken(column: "array[int]", order: "array[int]") -> "array[int]":
    taken = _room(order)
    if order:
        loops.take(memoryview(column).cast("B"), 4, order, memoryview(taken).cast("B"))
    return taken


# The nodes and machines when what a decision foresees has come true.


class Nodes:
    """The nodes after the step, with their machines. `moved` maps a node's earlier index to its new one (-1: gone), with -1 at
    the end. New nodes follow those of the World."""

    def __init__(self, world: World, foreseen: Foreseen, now_seconds: int) -> None:
        self.shapes: list[NodeShape] = [*world.node_shapes]
        known = {shape: index for index, shape in enumerate(self.shapes)} if any(g.joining for g in foreseen.groups) else {}
        taken = {node.name for node in world.nodes}
        taken.update(machine.name for machine in world.machines)
        leaving = {index for group in foreseen.groups for index in group.leaving}
        names = {world.nodes[index].name for index in leaving}
        providers = {world.nodes[index].provider_id for index in leaving} - {""}
        machines = [m for m in world.machines if m.node not in names and (m.node or m.provider_id not in providers)]
        kept = [(node.name, index, node) for index, node in enumerate(world.nodes) if index not in leaving]
        last = len(world.nodes)
        for group in foreseen.groups:
            number = 0
            for new in group.joining:
                number = _next(group, number, taken)
                name = f"{group.target.name}-{number}"
                if new.shape not in known:
                    known[new.shape] = len(self.shapes)
                    self.shapes.append(new.shape)
                node = Node(
                    name=name,
                    uid=f"uid-{name}",
                    shape=known[new.shape],
                    provider_id=f"sim:///{name}",
                    created_seconds=now_seconds,
                    ready_seconds=now_seconds,
                )
                kept.append((name, new.index, node))
                last = max(last, new.index + 1)
                machines.append(
                    Machine(
                        namespace=group.target.namespace or group.target.region,
                        name=name,
                        target=group.target,
                        node=name,
                        provider_id=node.provider_id,
                        created_seconds=now_seconds,
                        phase="Running",
                    )
                )
        kept.sort(key=lambda entry: entry[0])
        self.nodes = tuple([node for _, _, node in kept])
        self.machines = tuple(sorted(machines, key=lambda machine: (machine.namespace, machine.name)))
        self.moved = [-1] * (last + 1)
        for place, (_, index, _) in enumerate(kept):
            self.moved[index] = place


def _next(group: ChangedGroup, number: int, taken: set[str]) -> int:
    """The next number after which no node or machine of the target is named."""
    number += 1
    while f"{group.target.name}-{number}" in taken:
        number += 1
    return number


# The rows of the pods when what a decision foresees has come true.

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
        for shape in (daemon.shape, *daemon.others):
            by_shape[shape].append(daemon)
    index = {known: number for number, known in enumerate(traits)} if by_shape else {}
    pods = []
    for new in (new for group in foreseen.groups for new in group.joining):
        node = nodes.moved[new.index]
        for shape, amount in Counter(new.daemons).items():
            for daemon in by_shape[shape][:amount]:
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
        setattr(arranged, name, _rows_taken(getattr(table, name) + getattr(fresh, name), runs))
    return arranged


def _runs(table: PodTable, gone: Iterable[int], fresh: PodTable) -> list[tuple[int, int]]:
    """Ranges of rows to copy one after the other, each from a row up to another one. Rows of `fresh` are numbered after those of
    the table. A table may have hundreds of thousands of rows, of which a few thousand go or come. All rows between two changes
    are copied as one range."""
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


def _rows_taken(column: "list[str] | array[int]", runs: Iterable[tuple[int, int]]) -> "list[str] | array[int]":
    taken = column[:0]
    for first, end in runs:
        taken += column[first:end]  # type: ignore[operator]
    return taken


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What is there after it. `evicted` are keys of pods that moved, `joined` counts new nodes by group name."""

    world: World
    memory: Memory
    evicted: tuple[str, ...]
    joined: Mapping[str, int]


def is_plain(world: World) -> bool:
    """Whether a step can be taken at all: no pod is ending, promised to a node, or on a node that was not captured."""
    pods = world.pods
    nowhere = array("i", (-1,)).tobytes() * len(pods)
    return not any(pods.deletion_seconds) and pods.nominated.tobytes() == nowhere and not pods.unknown_node


def step(world: World, foreseen: Foreseen, memory: Memory, now_seconds: int) -> Step | None:
    """Everything at once, at `now_seconds`. None if more would happen. Then a write would be refused, nobody recreates a pod, a
    pod takes volumes or devices along, or two disruption budgets keep it."""
    targets = _written(world, foreseen, now_seconds)
    moves = Moves.of(world, foreseen)
    budgets = None if moves is None else _budgets(world, moves)
    if targets is None or moves is None or budgets is None:
        return None
    nodes = Nodes(world, foreseen, now_seconds)
    pods, traits = pods_after(world, foreseen, moves, nodes, now_seconds)
    after = msgspec.structs.replace(
        world,
        captured_seconds=now_seconds,
        node_shapes=tuple(nodes.shapes),
        nodes=nodes.nodes,
        machines=nodes.machines,
        targets=targets,
        budgets=budgets,
        pods=pods,
        pod_traits=traits,
    )
    return Step(
        world=after,
        memory=settle(memory, tuple(_outcomes(world, foreseen, targets, now_seconds))),
        evicted=tuple(world.pods.keys(moves.evicted)),
        joined={group.name: len(group.joining) for group in foreseen.groups if group.joining},
    )


def _written(world: World, foreseen: Foreseen, now_seconds: int) -> tuple[TargetFacts, ...] | None:
    """Targets with their new sizes, as an apply that does not force leaves them; None: one would be refused, or another object
    follows."""
    to = {group.target: group.to for group in foreseen.groups}
    above = {f"{ref.kind} {ref.namespace}/{ref.name}" for ref in to}
    written, added = list[TargetFacts](), list[tuple[TargetFacts, int]]()
    for facts in world.targets:
        if facts.owner.controller in above:
            return None
        if facts.ref not in to:
            written.append(facts)
            continue
        size = to.pop(facts.ref)
        mark = read_hold(facts.owner.hold)
        if conflict(facts, OUR_MANAGER, size) or facts.owner.topology_owned or (mark is not None and mark.holds(now_seconds)):
            return None
        written.append(applied(facts, OUR_MANAGER, size, now_seconds))
        added.append((facts, size - (facts.replicas or 0)))
    return None if to else tuple(with_rooms_taken(written, added))


def _outcomes(world: World, foreseen: Foreseen, targets: Iterable[TargetFacts], now_seconds: int) -> Iterable[Outcome]:
    generations = {facts.ref: facts.generation for facts in targets}
    for group in foreseen.groups:
        for kind, nodes in ((ActionKind.RESIZE, ()), (ActionKind.REMOVE_NODE, group.leaving)):
            if nodes or (kind is ActionKind.RESIZE and group.joining):
                yield Outcome(
                    kind=kind,
                    group=group.name,
                    target=str(group.target),
                    to=group.to,
                    nodes=tuple(world.nodes[index].name for index in nodes),
                    done=True,
                    at_seconds=now_seconds,
                    generation=generations[group.target],
                )


def _budgets(world: World, moves: Moves) -> tuple[DisruptionBudget, ...] | None:
    """Budgets once the pods that were bound are healthy; None where that is not to be told from the captured status."""
    if not world.budgets:
        return ()
    pods, ledger = world.pods, DisruptionLedger(world)
    shapes = Counter(pods.shape[row] for row in moves.rows)
    if any(len(ledger.budgets_of(shape)) > 1 for shape in shapes):
        return None
    healthier: Counter[int] = Counter()
    for row in moves.rows:
        if not is_ready(pods.flags[row]):
            for index in ledger.budgets_of(pods.shape[row]):
                healthier[index] += 1
    if any(not world.budgets[index].expected_pods or not world.budgets[index].observed for index in healthier):
        return None
    return tuple(_healthier(budget, healthier[index]) for index, budget in enumerate(world.budgets))


def _healthier(budget: DisruptionBudget, more: int) -> DisruptionBudget:
    if not more:
        return budget
    healthy = budget.current_healthy + more
    allowed = max(0, healthy - budget.desired_healthy)
    return msgspec.structs.replace(budget, current_healthy=healthy, disruptions_allowed=allowed)
