"""NodeGroups that mean harm: whatever stands in one of them, the policy and the groups of everybody else go on."""

import os
import random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from reconciler.kube.custom.custom_object import GROUPS, CustomObject, CustomStore
from reconciler.kube.custom.custom_policy import Judged, judge
from reconciler.kube.custom.custom_reader import CustomReader
from reconciler.kube.custom.custom_text import CustomText
from reconciler.policy.documents import Mode, PolicySet
from tests.builders import NOW
from tests.control.custom_followed import Followed
from tests.kube.custom_resources import group, policy
from tests.security.admitted import Admitted

OURS, FOREIGN = "infra", "team-a"
OBJECTS = int(os.environ.get("FUZZ_OBJECTS", "2000"))
"""Of a namespace that is not taken: `FUZZ_OBJECTS=20000` draws so many."""
MANY = 5_000
"""More digits than Python turns into an integer."""


def deep(levels: int = 100_000) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


HOSTILE: dict[str, dict[str, Any]] = {
    "duration": {"scaleDown": {"unneededTime": "1" * MANY + "s"}},
    "duration without a unit": {"scaleDown": {"unneededTime": "1" * MANY}},
    "duration in days": {"scaleDown": {"unneededTime": "1" * MANY + "d"}},
    "step of a schedule": {"windows": [{"schedule": f"*/{'1' * MANY} * * * *", "duration": "1h", "size": {"min": 1}}]},
    "value of a schedule": {"windows": [{"schedule": f"{'1' * MANY} * * * *", "duration": "1h", "size": {"min": 1}}]},
    "float": {"template": {"capacity": {"cpu": 1e300, "memory": 1e308}}},
    "price": {"pricePerHour": "1" * MANY},
    "instant": {"hold": {"reason": "r", "until": f"2030-01-01T00:00:00.{'1' * MANY}Z"}},
    "deeper than is read": {"windows": deep()},
    "half a character": {"hold": {"reason": "\ud800"}},
    "larger than a file": {"hold": {"reason": "x" * (1 << 20)}},
    "no text as a key": {"template": {"labels": {7: "x"}}},
    "no policy that there is": {"policyRef": {"name": "nobody"}},
    "no policy": {"policyRef": None},
    "no target": {"target": {}},
}


def hostile(what: str, namespace: str, generation: int = 1) -> CustomObject:
    item = group("evil", namespace=namespace, created="2020-01-01T00:00:00Z", generation=generation)
    return replace(item, spec={**item.spec, **HOSTILE[what]})


def judged(*items: CustomObject, before: Judged | None = None) -> Judged:
    texts = tuple(CustomText.of(item) for item in items)
    return judge(texts, "prod", NOW, before.in_force if before is not None else None, CustomReader(), OURS)


def decided(found: Judged) -> PolicySet:
    assert found.in_force is not None
    made = found.in_force.policy_set(CustomReader())
    assert made is not None
    return made


@pytest.mark.parametrize("what", HOSTILE)
def test_a_group_that_the_policy_does_not_take_is_not_read(what: str) -> None:
    """It changes nothing on a first start, and nothing of what the administrator writes later. Its text costs nobody anything."""
    bad, reader = hostile(what, FOREIGN), CustomReader()
    texts = tuple(CustomText.of(item) for item in (bad, policy(mode="Enforce"), group("a")))
    first = judge(texts, "prod", NOW, None, reader, OURS)
    assert first.in_force == judged(policy(mode="Enforce"), group("a")).in_force
    assert [(entry.title, entry.code) for entry in first.refused] == [("NodeGroup team-a/evil", "NamespaceNotAllowed")]
    assert list(first.problems) == ["NodeGroup team-a/evil"]

    held = group("a", hold={"reason": "stop"}, generation=2)
    found = decided(judged(replace(bad, generation=2), policy(mode="Observe", generation=2), held, before=first))
    assert (found.policy.mode, [entry.hold is not None for entry in found.groups]) == (Mode.OBSERVE, [True])


@pytest.mark.parametrize("what", HOSTILE)
def test_a_group_that_cannot_be_read_is_told_alone(what: str) -> None:
    """In a namespace that the policy takes: the others change as they say, and the object says what is wrong with it."""
    before = judged(policy(mode="Enforce"), group("a"))
    after = group("a", high=4, hold={"reason": "stop"}, generation=2)
    found = judged(hostile(what, OURS), policy(mode="Observe", generation=2), after, before=before)
    assert set(found.problems) == {f"NodeGroup {OURS}/evil"}
    assert found.policy_problems == ()
    made = decided(found)
    (ours,) = [entry for entry in made.groups if entry.name == "a"]
    assert (made.policy.mode, ours.size.max, ours.hold is not None and ours.hold.reason) == (Mode.OBSERVE, 4, "stop")
    told = msgspec.json.encode(found.problems)
    assert len(told) < 4096, "a message shows a part of what was written"


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_group_is_no_fault_of_the_policy(what: str) -> None:
    """One of a namespace that it does not take: the source stands well, and what the administrator writes comes into force."""
    followed = Followed(hostile(what, FOREIGN), policy(mode="Enforce"), group("a"))
    assert followed.look()
    assert followed.fault() is None
    assert followed.look(hostile(what, FOREIGN, 2), policy(mode="Observe", generation=2), group("a"))
    assert followed.fault() is None
    assert followed.policy.current().policy.mode is Mode.OBSERVE


@pytest.mark.parametrize("where", ["read_node_group", "check_group_sizes", "check_times"])
def test_a_defect_of_ours_stays_with_the_object_that_meets_it(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader or a check that fails for one object in a way that nobody has foreseen: that object is told, with a digest."""
    modules = {
        "read_node_group": "reconciler.kube.custom.custom_reader",
        "check_group_sizes": "reconciler.policy.checks",
        "check_times": "reconciler.policy.checks",
    }
    real = getattr(__import__(modules[where], fromlist=[where]), where)

    def fails(first: Any, *rest: Any) -> Any:
        if "trap" in repr(getattr(getattr(first, "document", None), "labels", first)):
            raise ZeroDivisionError("a defect")
        return real(first, *rest)

    monkeypatch.setattr(f"{modules[where]}.{where}", fails)
    before = judged(policy(mode="Enforce"), group("a"), group("evil"))
    trap = replace(group("evil", generation=2), labels={"trap": "yes"})
    found = judged(trap, policy(mode="Observe", generation=2), group("a", high=4, generation=2), before=before)
    assert set(found.problems) == {f"NodeGroup {OURS}/evil"}
    ((problem,),) = found.problems.values()
    assert problem.code == "Unreadable"
    assert "ZeroDivisionError" in problem.message
    assert "sha256:" in problem.message
    made = decided(found)
    assert made.policy.mode is Mode.OBSERVE
    assert {entry.name: (entry.size.max, entry.hold is not None) for entry in made.groups} == {"a": (4, False), "evil": (5, True)}


def drawn(admitted: Admitted, number: int, namespace: str) -> CustomObject:
    """A NodeGroup as its writer likes it, or one that names our policy and one of our targets with whatever else."""
    aimed = group(f"g-{number}", policy=admitted.chance.choice(("prod", "prod", "nobody"))).spec
    fields = {key: aimed[key] for key in ("policyRef", "target") if admitted.chance.random() < 0.8}
    item = group(f"g-{number}", namespace=namespace, created="2020-01-01T00:00:00Z")
    return replace(item, spec=admitted.spec(**fields))


def everybody(mode: str, generation: int, **fields: Any) -> tuple[CustomObject, ...]:
    mine = group("a", generation=generation, **fields)
    allowed = [{"name": OURS, "targets": {"namespaces": ["prod"]}}, {"name": "team-b"}]
    return policy(mode=mode, generation=generation, groupNamespaces=allowed), mine


@pytest.mark.parametrize(("namespace", "objects"), [(FOREIGN, OBJECTS), ("team-b", 400)])
def test_whatever_a_definition_admits_changes_nobody_else(namespace: str, objects: int) -> None:
    """Drawn afresh each run: of a namespace that is not taken, and of one that is taken for its own targets."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    admitted = Admitted(random.Random(seed))
    bad = [drawn(admitted, number, namespace) for number in range(objects)]
    start, after = everybody("Enforce", 1), everybody("Observe", 2, high=4, hold={"reason": "stop"})
    before = judged(*bad, *start)
    found = judged(*bad, *after, before=before)
    for now, alone in ((before, judged(*start)), (found, judged(*after))):
        made, without = decided(now), decided(alone)
        assert now.policy_problems == ()
        assert f"NodeGroup {OURS}/a" not in now.problems
        assert made.policy == without.policy
        assert [entry for entry in made.groups if entry.namespace == OURS] == list(without.groups)
    if namespace == FOREIGN:
        assert found.in_force == judged(*after).in_force


@pytest.mark.parametrize("levels", [65, 900])
def test_an_object_that_nobody_can_walk_over_keeps_nothing_back(levels: int) -> None:
    """The watch goes on; the object is known by its name, says nothing, and has a digest of what it said."""
    store = CustomStore(GROUPS)
    for generation, spec in ((1, "[" * levels + "]" * levels), (2, "{}")):
        metadata = f'{{"name":"evil","namespace":"{OURS}","generation":{generation}}}'
        assert store.put(msgspec.Raw(f'{{"metadata":{metadata},"spec":{spec},"status":{spec}}}'.encode()))
        (item,) = store.objects.values()
        assert bool(item.unreadable) == (generation == 1)
        found = judged(policy(), group("a"), item)
        assert [entry.name for entry in decided(found).groups] == ["a"]
        ((problem, *_),) = found.problems.values()
        assert (problem.code == "Unreadable", "sha256:" in problem.message) == (
            (True, True) if generation == 1 else (False, False)
        )
