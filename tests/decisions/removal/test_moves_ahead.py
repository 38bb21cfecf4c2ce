"""Equal nodes whose pods move at once: the same plans as node by node, with a few trials."""

import random
import secrets
from collections import Counter

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.decisions.removal.moves_ahead import MovesAhead
from reconciler.decisions.removal.trial import Trials
from reconciler.policy.documents import Budget, Headroom, PolicySet
from reconciler.policy.pace import Pace
from tests.builders import NOW, ClusterBuilder, node_group, policy

ALL_AT_ONCE = (Budget(nodes=1_000_000),)


def _half_empty(nodes: int, least: int = 0) -> tuple[World, PolicySet, Memory]:
    """Four pods of one core on each node of ten."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=nodes, cpu="10")
    cluster.pods("web", 4 * nodes, cpu="1", on=[name for name in names for _ in range(4)])
    rules = policy(node_group("general", min=least, max=nodes), budgets=ALL_AT_ONCE)
    return cluster.world(), rules, Memory(unneeded_since=dict.fromkeys(names, NOW - 9_999))


@pytest.mark.parametrize(("nodes", "left"), [(50, 20), (500, 200)])
def test_ten_times_the_nodes_take_a_few_trials_more(nodes: int, left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two fifths of the nodes hold all pods. Each trial of a single node is followed by those of many that equal it."""
    trials, move = Counter[str](), Trials.move

    def counted(self: Trials, *args: object, **options: object) -> object:
        trials["nodes"] += 1
        return move(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Trials, "move", counted)
    plan, _ = decide(*_half_empty(nodes), NOW)
    assert plan.groups[0].desired == left
    assert trials["nodes"] <= 25


def test_nodes_that_stay_at_the_minimum_keep_their_pods() -> None:
    """Twelve of fifty nodes may go. Their 48 pods need eight nodes with six free places each, and no node more gets any."""
    plan, _ = decide(*_half_empty(50, least=38), NOW)
    codes = Counter(blocker.code for line in plan.nodes for blocker in line.blockers)
    assert plan.groups[0].desired == 38
    assert codes == {"ReceivesPods": 8, "MinSize": 30}


@pytest.mark.parametrize(("web", "db", "each"), [(6, 3, 2), (10, 6, 4), (14, 2, 4)])
def test_pods_move_to_nodes_that_could_leave_later(web: int, db: int, each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget of db lets one of its nodes go. The others have room, but they are the last to be tried: a node that is judged
    later comes before them, and gets the pods."""
    cluster = ClusterBuilder()
    kept, leaving = cluster.group("db", nodes=db, cpu="10"), cluster.group("web", nodes=web, cpu="10")
    cluster.pods("db", db, cpu="1", on=kept)
    cluster.budget("db", min_available=str(db - 1), allowed=1, healthy=db, desired=db - 1, expected=db)
    cluster.pods("web", each * web, cpu="1", on=[node for node in leaving for _ in range(each)])
    rules = policy(node_group("db", max=db), node_group("web", max=web), budgets=ALL_AT_ONCE)
    memory = Memory(unneeded_since=dict.fromkeys((*kept, *leaving), NOW - 9_999))
    _equals_node_by_node((cluster.world(), rules, memory), monkeypatch)


@pytest.mark.parametrize("_", range(6))
def test_the_plan_is_that_of_node_by_node(_: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With disruption budgets, minima and maxima, headroom, pods that wait, and budgets of the policy."""
    seed = secrets.randbelow(1 << 31)
    print(f"seed {seed}")
    _equals_node_by_node(_mixed(random.Random(seed)), monkeypatch)


def _equals_node_by_node(situation: tuple[World, PolicySet, Memory], monkeypatch: pytest.MonkeyPatch) -> None:
    found = msgspec.json.encode(decide(*situation, NOW))
    monkeypatch.setattr(MovesAhead, "look", lambda *_: None)
    assert found == msgspec.json.encode(decide(*situation, NOW))


def _mixed(rng: random.Random) -> tuple[World, PolicySet, Memory]:
    cluster, groups, names = ClusterBuilder(), [], list[str]()
    for number in range(rng.randint(1, 3)):
        count, name, kinds = rng.choice((10, 30, 80)), f"group-{number}", rng.randint(1, 3)
        made = cluster.group(name, nodes=count, cpu=rng.choice(("4", "8", "10")), memory="64Gi")
        names += made
        for kind in range(kinds):
            mine, each = made[kind * count // kinds : (kind + 1) * count // kinds], rng.randint(1, 4)
            on = [node for node in mine for _ in range(each)]
            cpu = rng.choice(("300m", "700m", "1"))
            cluster.pods(f"app-{number}-{kind}", len(on), cpu=cpu, on=on, owner=rng.choice(("ReplicaSet", "StatefulSet", None)))
            if rng.random() < 0.3:
                allowed = min(len(on), rng.choice((3, 20, 60)))
                least = len(on) - allowed
                name_of_app, running = f"app-{number}-{kind}", len(on)
                cluster.budget(
                    name_of_app, min_available=str(least), allowed=allowed, healthy=running, desired=least, expected=running
                )
        if rng.random() < 0.3:
            cluster.pods(f"wait-{number}", rng.randint(1, 30), cpu="2")
        headroom = Headroom(nodes=int(rng.random() < 0.25))
        most = rng.choice((count, 2 * count, count - 7))
        groups.append(node_group(name, min=rng.choice((0, count // 3)), max=most, headroom=headroom))
    budgets = rng.choice(((), ALL_AT_ONCE, (Budget(nodes=13),), (Budget(percent=30),)))
    pace = Pace(delay_after_add_seconds=0, max_removed_percent=rng.choice((100, 25)))
    memory = Memory(unneeded_since={name: NOW - 9_999 for name in names if rng.random() < 0.95})
    return cluster.world(), policy(*groups, budgets=budgets, pace=pace), memory
