"""Who is blamed when custom resources do not fit together: the fewest, never the policy, and never what tightens."""

import random
from typing import Any

import msgspec
import pytest

from reconciler.kube.custom import custom_policy
from reconciler.kube.custom.custom_object import CustomObject
from reconciler.kube.custom.custom_policy import Judged, judge
from reconciler.kube.custom.custom_reader import CustomReader
from reconciler.kube.custom.custom_text import CustomText
from reconciler.policy.checks import overlap
from reconciler.policy.documents import Mode, NodeGroup, PolicySet
from tests.builders import NOW
from tests.control.custom_followed import Followed
from tests.kube.custom_resources import group, policy

LIMITS = [{"name": "cluster", "max": {"nodes": 20}}]
WINDOWS = [{"schedule": "0 7 * * *", "duration": "1h", "size": {"min": 4}}]


def judged(*items: CustomObject, before: Judged | None = None) -> Judged:
    texts = tuple(CustomText.of(item) for item in items)
    return judge(texts, "prod", NOW, before.in_force if before is not None else None, CustomReader(), "infra")


def decided(found: Judged) -> PolicySet:
    assert found.in_force is not None
    made = found.in_force.policy_set(CustomReader())
    assert made is not None
    return made


def groups(found: Judged) -> dict[str, NodeGroup]:
    return {entry.name: entry for entry in decided(found).groups}


def limited(mode: str = "Enforce", generation: int = 1, **fields: Any) -> CustomObject:
    return policy(mode=mode, generation=generation, limits=fields.pop("limits", LIMITS), **fields)


def greedy(name: str = "evil", **fields: Any) -> CustomObject:
    """Older than everything else, and more than the limit by itself."""
    return group(name, created="2020-01-01T00:00:00Z", **{"low": 50, "high": 50, **fields})


EVIL: dict[str, tuple[dict[str, Any], CustomObject]] = {
    "a min above a limit": ({}, greedy()),
    "a window of the policy above its max": ({"defaults": {"windows": WINDOWS}}, greedy(low=0, high=1)),
    "a window of a tier above the policy's max": (
        {
            "targetAnnotations": "Ignore",
            "tiers": [{"name": "t", "defaults": {"windows": WINDOWS}}],
            "defaults": {"size": {"max": 2}},
        },
        msgspec.structs.replace(greedy(), spec={**greedy(tier="t").spec, "size": {"min": 0}}),
    ),
}


@pytest.mark.parametrize("what", EVIL)
def test_a_group_that_does_not_fit_keeps_nobody_back(what: str) -> None:
    """It stays in the cluster; the policy, the hold and the smaller bound of others come into force."""
    rules, evil = EVIL[what]
    before = judged(evil, limited(**rules), group("a", low=2), group("b", low=2))
    assert set(before.problems) == {"NodeGroup infra/evil"}
    assert before.in_force is not None
    after = judged(
        evil,
        limited("Observe", 2, budgets=[{"nodes": 1}], **rules),
        group("a", low=2, hold={"reason": "stop"}, generation=2),
        group("b", low=2, high=4, generation=2),
        before=before,
    )
    assert set(after.problems) == {"NodeGroup infra/evil"}
    made, entries = decided(after), groups(after)
    assert (made.policy.mode, len(made.policy.budgets)) == (Mode.OBSERVE, 1)
    assert entries["a"].hold is not None
    assert (entries["a"].hold.reason, entries["b"].hold, entries["b"].size.max) == ("stop", None, 4)
    assert entries["evil"].hold is not None


def test_a_smaller_limit_is_taken_and_holds_the_fewest() -> None:
    """The administrator's limit wins over what groups ask for at least; those that fit go on."""
    before = judged(limited(), group("a", low=8, high=9), group("b", low=8, high=9), group("c", low=2))
    after = judged(
        limited(generation=2, limits=[{"name": "cluster", "max": {"nodes": 10}}]),
        group("a", low=8, high=9),
        group("b", low=8, high=9),
        group("c", low=2),
        before=before,
    )
    assert dict(decided(after).policy.limits[0].max) == {"nodes": 10}
    assert [name for name, entry in groups(after).items() if entry.hold is not None] == ["b"]
    assert [problem.code for problem in after.problems["NodeGroup infra/b"]] == ["LimitBelowMinimums"]
    assert str(after.problems["NodeGroup infra/b"][0].place) == "NodeGroup infra/b"


def test_who_is_there_is_not_driven_out() -> None:
    """Neither by an older object that grows, nor by many small ones, nor while its own newest version is a mistake."""
    old, mine = greedy("old", low=5, high=60), group("mine", low=15, high=20)
    before = judged(old, limited(), mine)
    assert before.problems == {}
    grown = greedy("old", low=6, high=60, generation=2)
    small = [greedy(f"s-{number}", low=1, high=1) for number in range(5)]
    found = judged(grown, *small, limited(), mine, before=before)
    assert {name for name, entry in groups(found).items() if entry.hold is None} == {"mine"}

    mistake = group("mine", low=15, high=20, tier="sport", generation=3)
    found = judged(old, *small, limited(), mistake, before=before)
    assert {name for name, entry in groups(found).items() if entry.hold is None} == {"old"}
    mended = judged(old, *small, limited(), group("mine", low=15, high=18, generation=4), before=found)
    assert {name for name, entry in groups(mended).items() if entry.hold is None} == {"old", "mine"}


def test_a_target_is_not_taken_from_who_changes_something_else() -> None:
    """One that aims at the target of another waits for ever, whatever the other one changes or mistakes."""
    thief = greedy("thief", target="t", low=0, high=5)
    before = judged(thief, limited(), group("mine", low=2))
    aims = greedy("thief", target="mine", low=0, high=5, generation=2)
    for mine in (
        group("mine", low=2, hold={"reason": "stop"}, generation=2),
        group("mine", low=2, tier="sport", generation=3),
        group("mine", low=2, high=3, generation=4),
    ):
        before = judged(aims, limited(), mine, before=before)
        entries = groups(before)
        assert (entries["mine"].target.name, entries["thief"].target.name) == ("mine", "t")
        assert entries["thief"].hold is not None


def test_groups_that_all_go_do_not_keep_the_policy_back() -> None:
    """Zero groups are refused, so that the last ones stay; what the policy tightens meanwhile counts for them."""
    followed = Followed(limited(), group("a"))
    followed.look()
    followed.look(limited("Observe", 2))
    assert followed.groups() == ["a"]
    assert followed.policy.current().policy.mode is Mode.OBSERVE
    fault = followed.fault()
    assert fault is not None
    assert fault[1].startswith("no NodeGroup and no discovery is left")


def test_drawn_greed_never_blocks_what_tightens() -> None:
    """Groups of one tenant drawn afresh, in any order of creation, changed in every round."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance, before = random.Random(seed), None
    for turn in range(1, 40):
        evil = [
            group(
                f"e-{number}",
                target=chance.choice(("x", "y", "z", "mine")),
                low=chance.choice((0, 1, 9, 30)),
                high=chance.choice((0, 1, 40)),
                generation=turn,
            )
            for number in range(chance.randrange(6))
        ]
        mode, high = chance.choice(("Enforce", "Observe")), 20 - turn // 2 if turn > 1 else 20
        mine = group("mine", low=0, high=high, generation=turn)
        items = [limited(mode, turn), *evil]
        items.insert(chance.randrange(len(items) + 1) if turn > 1 else 0, mine)
        before = judged(*items, before=before)
        assert before.policy_problems == ()
        assert (decided(before).policy.mode, groups(before)["mine"].size.max) == (mode, high)
        assert groups(before)["mine"].hold is None


SHARED = [{"name": "infra", "targets": {"namespaces": ["prod"]}}, {"name": "team-b", "targets": {"namespaces": ["prod"]}}]


def tenant(number: int, target: str, generation: int = 1, **fields: Any) -> CustomObject:
    created = "2020-01-01T00:00:00Z"
    return group(f"e-{number:03}", namespace="team-b", target=target, generation=generation, created=created, **fields)


def test_changes_that_rely_on_each_other_take_no_round_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of sixty groups takes the target that the next one gives up, and the last one that of somebody else: checking all of
    them again for each that is held took time that grew with the square of their number."""
    rounds, check = 0, custom_policy.check_drafts

    def counted(*arguments: Any) -> None:
        nonlocal rounds
        rounds += 1
        check(*arguments)

    rules = limited(groupNamespaces=SHARED)
    before = judged(*(tenant(number, f"t-{number}") for number in range(60)), rules, group("mine"))
    assert before.problems == {}
    monkeypatch.setattr(custom_policy, "check_drafts", counted)
    targets = [*(f"t-{number}" for number in range(1, 60)), "mine"]
    changed = [tenant(number, target, 2) for number, target in enumerate(targets)]
    found = judged(*changed, rules, group("mine", hold={"reason": "stop"}, generation=2), before=before)
    assert rounds < 15
    assert len(found.problems) == 60
    entries = groups(found)
    assert entries["mine"].target.name == "mine"
    assert entries["mine"].hold is not None
    assert entries["mine"].hold.reason == "stop"
    assert {entries[f"e-{number:03}"].target.name for number in range(60)} == {f"t-{number}" for number in range(60)}


def test_windows_of_one_namespace_leave_those_of_others_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenant's windows use its own budget up: a contradiction in a group of another namespace is found all the same."""
    monkeypatch.setattr(overlap, "MAX_STEPS", 2_000)

    def windows(number: int) -> list[dict[str, Any]]:
        """Never open together, which is found out by looking at many of their openings."""
        return [
            {
                "schedule": f"*/{at + 7} {1 + at % 2 * 12} * * {number}",
                "duration": "1m",
                "size": {"min": 9} if at % 2 else {"max": 1},
            }
            for at in range(20)
        ]

    many = [tenant(number, f"t-{number}", high=20, windows=windows(number)) for number in range(5)]
    contradicting = [
        {"schedule": "0 7 * * *", "duration": "2h", "size": {"min": 4}},
        {"schedule": "0 8 * * *", "duration": "2h", "size": {"max": 2}},
    ]
    rules = limited(groupNamespaces=SHARED)
    found = judged(*many, rules, group("mine", windows=contradicting))
    assert list(found.problems) == ["NodeGroup infra/mine"]
    assert [problem.code for problem in found.problems["NodeGroup infra/mine"]] == ["MinAboveMax"]
