"""Who selects whom from the other side, by the table of bits and by looking through all selections."""

import random
import secrets

import pytest

from reconciler.scheduling.index_sets.index_set import IndexSet
from reconciler.scheduling.topology import relation
from reconciler.scheduling.topology.relation import Relation


@pytest.mark.parametrize("small", [0, relation._SMALL_TABLE_BITS])
@pytest.mark.parametrize("run", range(50))
def test_the_table_says_who_selects_an_index(run: int, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Holders far apart or next to each other, with selections of their own or shared, in tables of either form."""
    monkeypatch.setattr(relation, "_SMALL_TABLE_BITS", small)
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    holders = rng.sample(range(rng.choice((20, 900))), 15)
    drawn = [IndexSet.of([rng.randrange(60) + 3 for _ in range(9)]) for _ in range(rng.choice((2, 30)))]
    found: dict[IndexSet, list[int]] = {}
    for holder in sorted(holders):
        found.setdefault(rng.choice(drawn), []).append(holder)

    asked = Relation(found)
    for index in range(70):
        expected = sorted(holder for selected, many in found.items() if index in selected for holder in many)
        assert list(asked.of(index)) == expected, seed
