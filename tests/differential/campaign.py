"""Which random clusters are compared, and what is compared of them."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random

import msgspec

from reconciler.cluster.snapshots.snapshot import SnapshotError
from tests.differential.difference import Difference, differences
from tests.differential.generator.cluster import FEATURES, generate
from tests.differential.generator.draft import Object
from tests.differential.oracle import Oracle
from tests.differential.ours import our_fit
from tests.differential.shrink import shrink

# A feature may be left out here for a stated reason only; none is.
NOT_COMPARED: tuple[str, ...] = ()
COMPARED: tuple[str, ...] = tuple(name for name in FEATURES if name not in NOT_COMPARED)


class Trial(msgspec.Struct, frozen=True):
    """One cluster: the seed and the features that make it."""

    seed: int
    features: tuple[str, ...]

    def __str__(self) -> str:
        return f"seed {self.seed} with {', '.join(self.features)}"

    def snapshot(self) -> Object:
        """The cluster as a List."""
        return generate(self.seed, self.features)


def trials(count: int, seed: int, features: Sequence[str] = COMPARED) -> Iterator[Trial]:
    """Each feature alone in turn, and between them mixtures: mostly of two to four, sometimes of all."""
    random = Random(f"mixtures:{seed}")
    for index in range(count):
        if index % 2 == 0:
            chosen = (features[index // 2 % len(features)],)
        elif random.randrange(6) == 0:
            chosen = tuple(features)
        else:
            chosen = tuple(sorted(random.sample(features, min(len(features), random.randint(2, 4)))))
        yield Trial(seed + index, chosen)


def compare(oracle: Oracle, snapshot: Object, gates: Mapping[str, bool] = {}) -> list[Difference]:
    """Where the plugins of kube-scheduler and we differ on one snapshot. `gates` are those that the oracle was started with."""
    return differences(oracle.ask(snapshot), our_fit(snapshot, oracle.release.numbers, gates))


def reproducer(oracle: Oracle, snapshot: Object, found: Difference) -> Object:
    """A small snapshot that shows the same kind of difference for the same pod and node."""

    def still(smaller: Object) -> bool:
        try:
            return any((one.pod, one.node, one.kind) == (found.pod, found.node, found.kind) for one in compare(oracle, smaller))
        except (RuntimeError, SnapshotError):
            return False

    return shrink(snapshot, still)
