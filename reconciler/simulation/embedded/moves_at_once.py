"""Pods that are drained and pods that wait find their nodes all at once, by columns instead of an object a pod.

This is for clusters in which nothing takes time. What happens is what evictions, controllers and kube-scheduler would do one
after the other. Pods for which more than that is needed are left to them, with all that come after them in the scheduler's queue.
They ask for devices, are in a PodGroup, or could displace others. Drained pods without a controller, those that are not ready
and those that a budget keeps are left to them as well.
"""

from array import array
from itertools import groupby

from reconciler.cluster.pods.pod import PodPhase
from reconciler.cluster.pods.pod_table import PodTable, is_gated, is_ready, phase_code
from reconciler.scheduling.departing import departing
from reconciler.simulation.embedded.agenda import Agenda
from reconciler.simulation.embedded.disruption_controller import DisruptionController
from reconciler.simulation.embedded.drains import Drains
from reconciler.simulation.embedded.journal import Happened, Journal
from reconciler.simulation.embedded.objects import ClusterObjects
from reconciler.simulation.embedded.scheduler import Scheduler
from reconciler.simulation.embedded.workloads import Workloads

_RUNNING = phase_code(PodPhase.RUNNING)
_PENDING = phase_code(PodPhase.PENDING)
_NOWHERE = array("i", (-1,)).tobytes()


class MovesAtOnce:
    """`step` looks again only if something has changed."""

    def __init__(
        self,
        objects: ClusterObjects,
        agenda: Agenda,
        disruption: DisruptionController,
        workloads: Workloads,
        drains: Drains,
        scheduler: Scheduler,
        journal: Journal,
    ) -> None:
        self._objects = objects
        self._agenda = agenda
        self._disruption = disruption
        self._workloads = workloads
        self._drains = drains
        self._scheduler = scheduler
        self._journal = journal
        self._looked_at = -1

    def step(self) -> bool:
        """Whether any pod has another node now."""
        objects = self._objects
        if self._scheduler.placing is not None:
            return False
        if objects.revision == self._looked_at or not (self._drains.by_node or objects.pods.waits) or objects.serves_devices:
            return False
        self._disruption.sync()
        table = objects.pod_table()
        self._looked_at = objects.revision
        if table.unknown_node or table.nominated.tobytes() != _NOWHERE * len(table):
            return False
        if table.deletion_seconds.tobytes() != bytes(8 * len(table)):
            return False
        drained = self._drained(table)
        rows, nodes = self._places([*self._waiting(table), *drained], len(drained), table)
        if not rows:
            return False
        evicted = [row for row in rows if table.node[row] >= 0]
        for row in evicted:
            node = objects.node_at(table.node[row]).name
            self._journal.add(
                self._agenda.now_seconds, Happened.POD_EVICTED, table.key(row), detail=node, before=table.shape[row]
            )
        waited = [(table.shape[row], table.traits[row], table.name[row]) for row in rows if table.node[row] < 0]
        objects.seat(rows, nodes, self._agenda.now_seconds)
        self._workloads.forget_objects()
        self._disruption.moved(waited, {table.shape[row] for row in evicted})
        return True

    def _drained(self, table: PodTable) -> list[int]:
        """Rows of pods that the eviction API lets go and that are made again."""
        leaving = bytearray(len(self._objects.nodes))
        for drain in self._drains.by_node.values():
            leaving[drain.node.index] = 1
        rows = departing(self._objects.world(self._agenda.now_seconds), leaving, ending=False)
        shapes = {
            shape for shape in set(map(table.shape.__getitem__, rows)) if self._moves(shape) and self._disruption.lets_go(shape)
        }
        traits = {one for one in set(map(table.traits.__getitem__, rows)) if self._workloads.owns(one)}
        return [
            row
            for row in rows
            if table.shape[row] in shapes
            and table.traits[row] in traits
            and table.phase[row] == _RUNNING
            and is_ready(table.flags[row])
        ]

    def _waiting(self, table: PodTable) -> list[int]:
        if not self._objects.pods.waits:
            return []
        return [
            row
            for row, node in enumerate(table.node)
            if node < 0
            and table.phase[row] == _PENDING
            and not is_gated(table.flags[row])
            and self._scheduler.is_for(table.shape[row])
        ]

    def _moves(self, shape: int) -> bool:
        value = self._objects.pod_shapes[shape]
        return not (value.unmodelled or value.claims or value.pod_group)

    def _places(self, rows: list[int], drained: int, table: PodTable) -> tuple[list[int], list[int]]:
        """Rows for which there is room, and the index of the node of each. The last `drained` ones are made again, so they come
        after others of their priority. Pods of a shape that could displace others are the last to be looked at if there is no
        room for all of them."""
        if not rows:
            return [], []
        objects, shapes = self._objects, table.shape
        priorities, young = [shape.priority for shape in objects.pod_shapes], set(rows[len(rows) - drained :])
        now, lowest = self._agenda.now_seconds, objects.lowest_priority()
        rows = sorted(rows, key=lambda row: (-priorities[shapes[row]], now if row in young else table.created_seconds[row], row))
        moved, nodes, full = list[int](), list[int](), set[int]()
        with self._scheduler.trial(now, {shapes[row] for row in rows}) as trial:
            trial.empty(
                [(table.node[row], shapes[row]) for row in young], [drain.node for drain in self._drains.by_node.values()]
            )
            for shape, run in groupby(rows, key=shapes.__getitem__):
                if shape in full:
                    continue
                if not self._moves(shape):
                    break
                these = list(run)
                placed = 0
                for node, count in trial.place(shape, len(these)):
                    moved += these[placed : placed + count]
                    nodes += [node] * count
                    placed += count
                if placed < len(these):
                    full.add(shape)
                    if priorities[shape] > lowest:
                        break
        return moved, nodes
