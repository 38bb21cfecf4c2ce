"""The clock of a request outlives the machine behind it."""

import msgspec

from reconciler.cluster.target import Machine
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from tests.builders import NOW, ClusterBuilder, node_group, policy

RULES = policy(node_group("general"))


def seen(memory: Memory, replicas: int, *names: str, later: int, nodes: tuple[str, ...] = ()) -> Memory:
    """The memory after a decision about a group with these machines, of which some are nodes."""
    made = ClusterBuilder()
    target = made.target("general", replicas)
    for name in nodes:
        made.node(name, created=NOW + later - 1)
    machines = tuple(
        Machine(namespace="prod", name=name, target=target, node=name if name in nodes else "", created_seconds=NOW + later - 5)
        for name in names
    )
    world: World = msgspec.structs.replace(made.world(), machines=tuple(sorted(machines)))
    return decide(world, RULES, memory, NOW + later)[1]


def clocks(memory: Memory) -> dict[str, int]:
    return {key.removeprefix("MachineDeployment prod/general"): since - NOW for key, since in memory.waiting_since.items()}


def test_a_successor_takes_over_the_clock() -> None:
    memory = seen(Memory(), 1, "a", later=10)
    assert clocks(seen(memory, 1, "b", later=300)) == {"/b": 5}


def test_a_successor_that_comes_later() -> None:
    """In between the request has no machine."""
    memory = seen(seen(Memory(), 1, "a", later=10), 1, later=300)
    assert clocks(memory) == {" lost 1": 5, " at 1": 5}
    assert clocks(seen(memory, 1, "b", later=310)) == {"/b": 5}


def test_a_new_request_has_a_clock_of_its_own() -> None:
    memory = seen(seen(Memory(), 1, "a", later=10), 2, "a", "b", later=300)
    assert clocks(memory) == {"/a": 5, "/b": 295}


def test_what_became_a_node_or_is_no_longer_asked_for() -> None:
    memory = seen(Memory(), 2, "a", "b", later=10)
    assert clocks(seen(memory, 2, "a", "b", later=300, nodes=("a", "b"))) == {}
    assert clocks(seen(memory, 1, "b", later=300)) == {"/b": 5}


def test_a_request_that_has_failed_has_ended() -> None:
    """15 minutes are over and counted. The machine that follows has as long again."""
    memory = seen(seen(Memory(), 1, "a", later=10), 1, "a", later=910)
    assert memory.failed_machines == ("MachineDeployment prod/general/a",)
    assert clocks(seen(memory, 1, "b", later=1000)) == {"/b": 995}


def test_requests_without_a_machine_keep_their_clocks_while_more_are_made() -> None:
    """The platform makes no machine, and the demand keeps growing."""
    memory = seen(seen(Memory(), 0, later=0), 2, later=10)
    memory = seen(seen(memory, 3, later=300), 5, later=600)
    assert clocks(memory) == {" at 2": 10, " at 3": 300, " at 5": 600}


def test_the_first_machines_are_those_of_the_oldest_requests() -> None:
    memory = seen(seen(Memory(), 2, later=10), 4, later=300)
    memory = seen(memory, 4, "a", "b", later=310, nodes=("a", "b"))
    assert clocks(memory) == {" at 4": 300}


def test_the_oldest_requests_are_taken_back_first() -> None:
    memory = seen(seen(Memory(), 2, later=10), 5, later=300)
    assert clocks(seen(memory, 3, later=400)) == {" at 3": 300}


def test_a_request_is_overdue_although_others_were_made_since() -> None:
    """15 minutes after the first one, of which the last 14 saw new ones."""
    memory = seen(Memory(), 0, later=0)
    for minute in range(1, 16):
        memory = seen(memory, minute, later=60 * minute)
        assert memory.failed_machines == ()
    memory = seen(memory, 15, later=60 * 16)
    assert memory.failed_machines == ("MachineDeployment prod/general/request 1",)


def test_only_so_many_instants_are_remembered() -> None:
    memory = seen(Memory(), 0, later=0)
    for second in range(1, 61):
        memory = seen(memory, second, later=second)
    assert clocks(memory) == {" at 11": 11} | {f" at {second}": second for second in range(12, 61)}
