"""What a purchase promised, compared with the machines that came."""

import msgspec
import pytest

from reconciler.cluster.target import Machine, TargetFacts, TargetRef, TargetTemplate
from reconciler.cluster.world import World
from reconciler.decisions.memory import Came, KnownTarget, Memory, Outcome, Pledge, Refuted
from reconciler.decisions.situation.evidence import (
    FIRST_SECONDS,
    OPEN_SECONDS,
    REMEMBERED_SECONDS,
    as_observed,
    asked,
    contradicted_zones,
    contradictions,
    made_of,
    note_arrivals,
)
from reconciler.plan.plan import ActionKind
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from tests.builders import NOW, ClusterBuilder

REF = TargetRef(kind=AUTO_SCALING_GROUP, region="r", name="g")
TARGET, POLICY = str(REF), "p"


def world(*zones: str, replicas: int, reference: TargetRef = REF, created: int = 0, capacity: str = "") -> World:
    """A target in zones a and b, with a machine in each of `zones`."""
    facts = TargetFacts(ref=reference, replicas=replicas, template=TargetTemplate(zones=("a", "b"), architecture=capacity))
    machines = tuple(
        Machine(namespace="r", name=f"i-{number}", target=reference, zone=zone, created_seconds=created)
        for number, zone in enumerate(zones)
    )
    return msgspec.structs.replace(ClusterBuilder().world(), targets=(facts,), machines=machines)


def pledge(nodes: int = 2, to: int = 2, **zones: int) -> Pledge:
    template = made_of(POLICY, world(replicas=0).targets[0])
    return Pledge(asked_seconds=NOW, to=to, nodes=nodes, zones=zones, template=template)


def written(memory: Memory, *, done: bool = True, kind: ActionKind = ActionKind.RESIZE, nothing_done: bool = True) -> Memory:
    outcome = Outcome(kind=kind, group="g", target=TARGET, to=2, done=done, at_seconds=NOW + 1)
    return asked(memory, outcome, nothing_done=nothing_done)


def bought(nodes: int = 2, known: tuple[str, ...] = (), **zones: int) -> Memory:
    """So many nodes were asked for, some of them for pods of a zone."""
    targets = {TARGET: KnownTarget(machines=known)}
    return written(Memory(pledges={TARGET: pledge(nodes, nodes + len(known), **zones)}, known_targets=targets))


def seen(memory: Memory, view: World, later: int = 10) -> Memory:
    """The memory after a look, with the machines of that look."""
    memory = note_arrivals(memory, view, POLICY, NOW + later)
    names = tuple(machine.name for machine in view.machines)
    return msgspec.structs.replace(memory, known_targets={TARGET: KnownTarget(machines=names)})


def test_nodes_that_came_elsewhere() -> None:
    memory = seen(bought(2, a=1), world("b", "b", replicas=2))
    ((zone, why),) = contradictions(memory, TARGET, NOW + 10)
    assert (zone, why.came, why.times) == ("a", "b", 1)
    assert as_observed(world(replicas=2), memory, NOW + 10).targets[0].template.zones == ("b",)


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(world("a", "b", replicas=2), id="one came"),
        pytest.param(world("b", replicas=2), id="one is still missing"),
        pytest.param(world(replicas=0), id="the read is older than the write"),
        pytest.param(world("b", "b", replicas=3), id="somebody else asked for one more"),
    ],
)
def test_what_contradicts_nothing(view: World) -> None:
    assert contradicted_zones(seen(bought(2, a=1), view), TARGET) == frozenset()


def test_as_soon_as_what_is_missing_cannot_be_enough() -> None:
    """Two of four nodes were to come in a. Three came in b."""
    assert contradicted_zones(seen(bought(4, a=2), world("b", "b", "b", replicas=4)), TARGET) == {"a"}


def test_machines_that_were_there_did_not_come_for_it() -> None:
    memory = bought(1, ("i-0",), a=1)
    assert contradicted_zones(seen(memory, world("a", "b", replicas=2)), TARGET) == {"a"}


@pytest.mark.parametrize(("created", "came"), [(NOW, {"a": 1}), (NOW - 1, {})])
def test_machines_with_times_count_from_the_plan_that_asked(created: int, came: dict[str, int]) -> None:
    memory = seen(bought(2, a=1), world("a", replicas=2, created=created))
    assert memory.purchases[TARGET].came == came


def test_two_purchases_are_compared_together() -> None:
    memory = seen(bought(1, a=1), world(replicas=1))
    memory = msgspec.structs.replace(memory, pledges={TARGET: pledge(1, 2, a=1)})
    memory = seen(written(memory), world("a", replicas=2), 20)
    assert contradicted_zones(memory, TARGET) == frozenset()
    assert contradicted_zones(seen(memory, world("a", "b", replicas=2), 30), TARGET) == {"a"}


def test_a_second_contradiction_lasts_a_day() -> None:
    first = seen(bought(1, a=1), world("b", replicas=1))
    assert list(contradictions(first, TARGET, NOW + 10 + FIRST_SECONDS)) == []
    again = msgspec.structs.replace(first, pledges={TARGET: pledge(1, 2, a=1)})
    second = seen(written(again), world("b", "b", replicas=2), 400)
    ((_, why),) = contradictions(second, TARGET, NOW + 400 + FIRST_SECONDS)
    assert why.times == 2
    assert list(contradictions(second, TARGET, NOW + 400 + REMEMBERED_SECONDS)) == []


def test_a_machine_in_the_zone_ends_it() -> None:
    memory = seen(bought(1, a=1), world("b", replicas=1))
    assert contradicted_zones(seen(memory, world("b", "a", replicas=2), 20), TARGET) == frozenset()


def test_a_process_that_ended_between_the_write_and_its_memory() -> None:
    """The pledge was stored before the write, and the view shows the size that it asked for."""
    memory = Memory(pledges={TARGET: pledge(2, 2, a=1)}, known_targets={TARGET: KnownTarget()})
    assert contradicted_zones(seen(memory, world("b", "b", replicas=2)), TARGET) == {"a"}
    assert seen(memory, world(replicas=0)).purchases == {}


@pytest.mark.parametrize(
    "memory",
    [
        pytest.param(written(Memory(pledges={TARGET: pledge(2, 2, a=2)}), done=False), id="the write was refused"),
        pytest.param(written(bought(2, a=2), kind=ActionKind.CANCEL), id="it was taken back"),
    ],
)
def test_what_is_not_awaited(memory: Memory) -> None:
    assert contradicted_zones(seen(memory, world("b", "b", replicas=2)), TARGET) == frozenset()


def test_a_write_without_an_answer_is_known_by_what_a_view_shows() -> None:
    memory = Memory(pledges={TARGET: pledge(2, 2, a=1)}, known_targets={TARGET: KnownTarget()})
    memory = seen(written(memory, done=False, nothing_done=False), world(replicas=0))
    assert contradicted_zones(seen(memory, world("b", "b", replicas=2), 20), TARGET) == {"a"}


def test_another_template_begins_anew() -> None:
    memory = seen(bought(1, a=1), world("b", replicas=1, capacity="arm64"))
    assert ([(came.nodes, came.template) for came in memory.purchases.values()], memory.refuted) == ([(0, "")], {})


def test_purchases_whose_nodes_never_come_are_given_up() -> None:
    memory = seen(bought(2, a=1), world("b", replicas=2), OPEN_SECONDS)
    assert memory.purchases[TARGET] == Came(asked_seconds=NOW, template=pledge().template)


def test_instances_that_came_since_show_the_present_template() -> None:
    """Their version is newer than what was read of the template. A MachineDeployment knows its own revision better."""
    for reference, expected in ((REF, False), (TargetRef(kind="MachineDeployment", namespace="r", name="g"), True)):
        made = ClusterBuilder()
        node = made.node("n", created=NOW + 5)
        machine = Machine(namespace="r", name="i-0", target=reference, node=node, outdated=True)
        view = msgspec.structs.replace(made.world(), machines=(machine,))
        memory = Memory(purchases={str(reference): Came(asked_seconds=NOW, template="t")})
        assert as_observed(view, memory, NOW).machines[0].outdated is expected


def test_a_target_without_any_other_zone_keeps_its_zones() -> None:
    entries = {f"{TARGET} zone={zone}": Refuted(node="", why="", template="t", seen_seconds=NOW) for zone in "ab"}
    assert as_observed(world(replicas=0), Memory(refuted=entries), NOW).targets[0].template.zones == ("a", "b")
