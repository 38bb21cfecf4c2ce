"""The drain trial: whether all pods of a node find room elsewhere, and if not, which of them do not and why."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from reconciler.decisions.demand.rejections import rejections
from reconciler.decisions.draft import Draft
from reconciler.decisions.reasons.code_words import rejection_words
from reconciler.decisions.reasons.kept_nodes import NoPlaceToMove, PlaceNotSafe
from reconciler.decisions.removal.candidates import Candidate
from reconciler.plan.reason import Blocker
from reconciler.scheduling.predicates.dynamic_resources import PLUGIN as DYNAMIC_RESOURCES
from reconciler.scheduling.relocation import Moved, Places, crowded_out, lift

Placed = tuple[int, int, int]
"""Node of the state, pod shape, number of pods."""
# Shapes of pods of which a plan says what rejects them on every other node.
_NODES_EXPLAINED = 64
_SHAPES_EXPLAINED = 64


class Trials:
    """The trials of one plan, node after node."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        shapes = draft.world.pod_shapes
        sizes = sorted(range(len(shapes)), key=lambda shape: (-shapes[shape].requests.cpu_milli, shape))
        self._by_size = {shape: rank for rank, shape in enumerate(sizes)}
        self._rejections_of: dict[int, str] = {}

    def by_size(self, moving: Iterable[int]) -> list[int]:
        """These shapes of pods, the largest first."""
        return sorted(moving, key=self._by_size.__getitem__)

    def largest_first(self, nodes: Iterable[Candidate]) -> list[Candidate]:
        """Those with the largest pods first: what is left for the last ones is then taken by the smallest."""
        return sorted(nodes, key=lambda one: ([self._by_size[shape] for shape in self.by_size(one.moving)], one.index))

    def that_move(self, order: "array[int]", nodes: Iterable[Candidate]) -> Iterator[Candidate]:
        """Those of the nodes that `move` would drain one after the other over these places. The pods of those that can are there
        afterwards."""
        state = self._draft.state
        places = Places(state, order)
        for one in nodes:
            mark, shapes = state.mark(), self.by_size(one.moving)
            lift(state, one.index, one.moving)
            lifted = state.mark()
            moved = places.fit(shapes, [one.moving[shape] for shape in shapes])
            if moved.short is None and crowded_out(state, places, moved, one.moving, lifted) is None:
                state.bind_list(moved.nodes, moved.shapes, moved.counts)
                places.keep(moved)
                yield one
            else:
                state.undo(mark)

    def move_together(self, nodes: Sequence[Candidate], places: "array[int]") -> bool:
        """Whether all these nodes can be drained at once, in each of four orders. kube-scheduler may bind the smallest pods first
        or last, to the first or to the last of the places."""
        state, moving = self._draft.state, Counter[int]()
        mark = state.mark()
        for one in nodes:
            lift(state, one.index, one.moving)
            moving.update(one.moving)
        lifted, shapes, fits = state.mark(), self.by_size(moving), True
        for step, order in product((-1, 1), (places, places[::-1])):
            fits = fits and all(
                sum(pods for _, pods in state.place(shape, moving[shape], order)) == moving[shape] for shape in shapes[::step]
            )
            state.undo(lifted)
        state.undo(mark)
        self._draft.work.spend(4 * len(places) * len(moving))
        return fits

    def move(
        self,
        one: Candidate,
        moving: Mapping[int, int],
        parts: Sequence[tuple[Places, Sequence[int]]],
        *,
        bought_excluded: bool = False,
        only_tried: bool = False,
    ) -> list[Placed] | Blocker:
        """Where all pods of a node go together (`moving` by shape), or why they cannot. `parts` are shapes with the places for
        them. If all have a place, the pods are there afterwards, unless it is `only_tried`. A place that smaller pods of the node
        may take first is none."""
        state, found = self._draft.state, list[tuple[Places, Moved]]()
        mark = state.mark()
        lift(state, one.index, moving)
        for places, shapes in parts:
            lifted, looked = state.mark() if len(shapes) > 1 else mark, places.looked
            moved = places.fit(shapes, [moving[shape] for shape in shapes])
            lacking, blocker = moved.short, None
            if lacking is not None:
                blocker = self._no_place(one, moving[lacking], lacking, places, bought_excluded=bought_excluded)
                state.undo(mark)
                # Nodes that follow ask again, and most of these places will still be full.
                places.skip_full(lacking)
            elif len(shapes) > 1 and (crowded := crowded_out(state, places, moved, moving, lifted)) is not None:
                blocker = PlaceNotSafe(**self._sizes(moving[crowded], crowded)).blocker(self._pod_of(one, crowded))
                state.undo(mark)
            elif len(shapes) > 1:
                state.bind_list(moved.nodes, moved.shapes, moved.counts)
            self._draft.work.spend(places.looked - looked)
            if blocker is not None:
                return blocker
            found.append((places, moved))
        for places, moved in found if not only_tried else ():
            places.keep(moved)
        if only_tried:
            state.undo(mark)
        return [placed for _, moved in found for placed in zip(moved.nodes, moved.shapes, moved.counts, strict=True)]

    def _no_place(self, one: Candidate, pods: int, shape: int, places: Places, *, bought_excluded: bool) -> Blocker:
        nodes = [node for node in places.order if node != one.index]
        rejected = self._rejections(shape, nodes)
        why = NoPlaceToMove(nodes=len(nodes), bought_excluded=bought_excluded, rejections=rejected, **self._sizes(pods, shape))
        return why.blocker(self._pod_of(one, shape))

    def _sizes(self, pods: int, shape: int) -> dict[str, int]:
        requests = self._draft.world.pod_shapes[shape].requests
        return {"pods": pods, "cpu_milli": requests.cpu_milli, "memory_mib": requests.memory_bytes >> 20}

    def _pod_of(self, one: Candidate, shape: int) -> str:
        pods = self._draft.world.pods
        return next((pods.key(index) for index in one.pods if pods.shape[index] == shape), "")

    def _rejections(self, shape: int, nodes: list[int]) -> str:
        """Which rules say no, on how many nodes. Asking costs a look at every node, so a shape is asked about once, and only
        the first shapes of a plan are."""
        if shape not in self._rejections_of:
            if len(self._rejections_of) >= _SHAPES_EXPLAINED:
                return ""
            counts = rejection_words(rejections(self._draft, shape, nodes))
            example = self._device_rejection(shape, nodes)
            self._rejections_of[shape] = f"{counts}. For example, {example}" if example else counts
        return self._rejections_of[shape]

    def _device_rejection(self, shape: int, nodes: list[int]) -> str:
        """What the devices of one of the nodes have against a pod of the shape, as an example."""
        state = self._draft.state
        if not state.asks_for_devices(shape):
            return ""
        said = ((node, one) for node in nodes[:_NODES_EXPLAINED] if not state.closed(node) for one in state.verdict(shape, node))
        return next((f"{state.name(node)}: {one.message}" for node, one in said if one.plugin == DYNAMIC_RESOURCES), "")
