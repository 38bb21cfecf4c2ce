"""A plan whose groups do not consolidate never looks for several new nodes: it is what it was before they were looked for."""

import secrets

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.decisions.removal.replacements.repack import Repack
from reconciler.policy.documents import PolicySet
from tests.builders import NOW
from tests.properties.random_clusters import random_cluster


@pytest.mark.parametrize("run", range(20))
def test_no_several_nodes_are_looked_for(run: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes in three plans in a row, with a search that fails, and nothing to remember of one."""
    seed = secrets.randbits(32)
    one = random_cluster(seed, headroom=run % 3 == 0, expendable=run % 5 == 0, protected=run % 2 == 0)
    before = _plans(one.world, one.policy)

    def fails(*_: object) -> None:
        raise AssertionError(seed)

    monkeypatch.setattr(Repack, "__init__", fails)
    assert _plans(one.world, one.policy) == before, seed


def _plans(world: World, rules: PolicySet) -> list[bytes]:
    memory, plans = Memory(), list[bytes]()
    for seconds in (0, 301, 601):
        plan, memory = decide(world, rules, memory, NOW + seconds)
        assert memory.repacked == {}
        plans.append(msgspec.json.encode(plan))
    return plans
