"""Counts pods of each kind wherever they run. The counts show whether a demand still exists."""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

import msgspec

from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.pods.pod_table import FINISHED_PHASES
from reconciler.cluster.world import World
from reconciler.decisions.draft import Draft
from reconciler.scheduling.kernels import loops

MOST_KINDS = 4_096
"""Kinds that are told apart in what is remembered, about 64 KiB of text; with more of them, kinds share a count."""
LINGER_SECONDS = 60
"""A pod may be there so long after its grace period ended: its containers are killed, volumes unmounted, then it goes."""

_DIGITS, _FEW_DIGITS = 8, 3  # 16 ** 3 is MOST_KINDS

Counts = Mapping[str, int]
"""Pods by kind: some hex digits over what a pod of that kind asks for."""


class PodCounts(msgspec.Struct, frozen=True):
    """Pods that are in demand now: no fewer than `least`, no more than `most`.

    The controller of a terminating pod creates it again, at once or (StatefulSet) when its name is free. Until then, the pods do
    not show whether fewer are desired. Such a pod counts only in `most`, until `LINGER_SECONDS` after its grace period. So a pod
    that never ends keeps no node. Pods that CapacityBuffers or ProvisioningRequests ask room for count, too. Finished pods,
    expendable pods and pods that leave with their node do not.
    """

    least: Counts
    most: Counts

    @staticmethod
    def of(draft: Draft) -> "PodCounts":
        """What the pods of one view ask for."""
        pods, traits, latest = draft.world.pods, draft.world.pod_traits, draft.now_seconds - LINGER_SECONDS
        shapes, rows = _pods_by_shape(draft.world), array("i", bytes(4 * len(pods)))
        for buffer in draft.buffers:
            shapes[buffer.shape] += buffer.count
        for pods_of_set in (one for request in draft.requests for one in request.left):
            shapes[pods_of_set.shape] += pods_of_set.count
        made_again = Counter[int]()
        for index in rows[: loops.ending_pods(pods.deletion_seconds, pods.phase, *FINISHED_PHASES, rows)]:
            shapes[pods.shape[index]] -= 1
            if pods.deletion_seconds[index] > latest and not pods.finished(index):
                made_again[pods.shape[index]] += traits[pods.traits[index]].controller is not None
        kinds = _kinds(draft, shapes)
        least, most = _by_kind(shapes, kinds), _by_kind(shapes + made_again, kinds)
        if len(most) > MOST_KINDS:
            return PodCounts(_folded(least, _FEW_DIGITS), _folded(most, _FEW_DIGITS))
        return PodCounts(least, most)

    def cover(self, then: Counts) -> bool:
        """Whether as many pods of every kind may be asked for as at that time. Of nothing nobody can say that it still is."""
        digits = _digits(then, self.most)
        now = _folded(self.most, digits)
        return bool(then) and all(now.get(kind, 0) >= count for kind, count in _folded(then, digits).items())

    def raised(self, then: Counts) -> Counts:
        """By kind, the larger of what was counted then and what is asked for at least now; `then` itself where that is it."""
        digits = _digits(then, self.least)
        before, now = _folded(then, digits), _folded(self.least, digits)
        counts = {kind: max(before.get(kind, 0), now.get(kind, 0)) for kind in sorted({*before, *now})}
        return then if counts == then else counts


def _pods_by_shape(world: World) -> Counter[int]:
    starts, order = array("i", bytes(4 * (len(world.pod_shapes) + 2))), array("i", bytes(4 * len(world.pods)))
    loops.by_node(world.pods.shape, starts, order)
    return Counter({shape: end - first for shape, (first, end) in enumerate(pairwise(starts[:-1])) if end > first})


def kind_of(shape: PodShape) -> str:
    """The digits of what a pod of the shape asks for."""
    return _digest(_text(shape))


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:_DIGITS]


def _kinds(draft: Draft, shapes: Iterable[int]) -> dict[int, str]:
    staying, table = draft.staying_shapes(), draft.world.pod_shapes
    texts = {shape: _text(table[shape]) for shape in shapes if shape not in staying and table[shape].priority >= draft.cutoff}
    digits = {text: _digest(text) for text in set(texts.values())}
    return {shape: digits[text] for shape, text in texts.items()}


def _text(shape: PodShape) -> bytes:
    """What a pod of the shape requires. Its identity does not count. A rollout, a Job's next run and the next pod of a
    StatefulSet have the same requirements as before, with other labels and claims."""
    asked = msgspec.structs.replace(shape, namespace="", labels=(), volumes=(), pod_group="")
    return msgspec.json.encode((asked, len(shape.volumes)))


def _by_kind(shapes: Mapping[int, int], kinds: Mapping[int, str]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for shape, count in shapes.items():
        if count > 0 and shape in kinds:
            counts[kinds[shape]] += count
    return dict(sorted(counts.items()))


def _digits(*counts: Counts) -> int:
    return min((len(kind) for each in counts for kind in each), default=_DIGITS)


def _folded(counts: Counts, digits: int) -> Counts:
    if all(len(kind) <= digits for kind in counts):
        return counts
    totals: Counter[str] = Counter()
    for kind, count in counts.items():
        totals[kind[:digits]] += count
    return dict(sorted(totals.items()))
