"""How many pods of each kind are asked for, wherever they run: what tells whether a demand still is."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import compress

import msgspec

from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.pods.pod_table import FINISHED_PHASES
from reconciler.decisions.draft import Draft

MOST_KINDS = 4_096
"""Kinds that are told apart in what is remembered, about 64 KiB of text; with more of them, kinds share a count."""
LINGER_SECONDS = 60
"""A pod may be there so long after its grace period ended: its containers are killed, volumes unmounted, then it goes."""

_DIGITS, _FEW_DIGITS = 8, 3  # 16 ** 3 is MOST_KINDS
_FINISHED = bytes(code in FINISHED_PHASES for code in range(256))

Counts = Mapping[str, int]
"""Pods by kind: some hex digits over what a pod of that kind asks for."""


class PodCounts(msgspec.Struct, frozen=True):
    """Pods that are asked for now: no fewer than `least`, no more than `most`.

    A pod that terminates and has a controller is made again, at once or (StatefulSet) when its name is free: until then nobody
    can tell from pods whether fewer are wanted. It counts among `most` alone, and only until `LINGER_SECONDS` after its grace
    period, so that a pod that never goes away keeps nothing. Finished pods, expendable ones and those that go with their node
    are no demand.
    """

    least: Counts
    most: Counts

    @staticmethod
    def of(draft: Draft) -> "PodCounts":
        """What the pods of one view ask for."""
        pods, traits, latest = draft.world.pods, draft.world.pod_traits, draft.now_seconds - LINGER_SECONDS
        shapes: Counter[int] = Counter(pods.shape)
        terminating = list(compress(range(len(pods)), pods.deletion_seconds))
        shapes.subtract(compress(pods.shape, bytes(pods.phase).translate(_FINISHED)))
        shapes.subtract(pods.shape[index] for index in terminating if not pods.finished(index))
        made_again = Counter(
            pods.shape[index]
            for index in terminating
            if pods.deletion_seconds[index] > latest
            and traits[pods.traits[index]].controller is not None
            and not pods.finished(index)
        )
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
        found = {kind: max(before.get(kind, 0), now.get(kind, 0)) for kind in sorted({*before, *now})}
        return then if found == then else found


def _kinds(draft: Draft, shapes: Iterable[int]) -> dict[int, str]:
    staying, table = draft.staying_shapes(), draft.world.pod_shapes
    texts = {shape: _text(table[shape]) for shape in shapes if shape not in staying and table[shape].priority >= draft.cutoff}
    digits = {text: hashlib.sha256(text).hexdigest()[:_DIGITS] for text in set(texts.values())}
    return {shape: digits[text] for shape, text in texts.items()}


def _text(shape: PodShape) -> bytes:
    """What a pod of the shape asks for. Who it is does not count: a rollout, a Job's next run and the next pod of a
    StatefulSet ask for what those before them asked for, under other labels and with other claims."""
    asked = msgspec.structs.replace(shape, namespace="", labels=(), volumes=())
    return msgspec.json.encode((asked, len(shape.volumes)))


def _by_kind(shapes: Mapping[int, int], kinds: Mapping[int, str]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for shape, count in shapes.items():
        if count > 0 and shape in kinds:
            found[kinds[shape]] += count
    return dict(sorted(found.items()))


def _digits(*counts: Counts) -> int:
    return min((len(kind) for each in counts for kind in each), default=_DIGITS)


def _folded(counts: Counts, digits: int) -> Counts:
    if all(len(kind) <= digits for kind in counts):
        return counts
    found: Counter[str] = Counter()
    for kind, count in counts.items():
        found[kind[:digits]] += count
    return dict(sorted(found.items()))
