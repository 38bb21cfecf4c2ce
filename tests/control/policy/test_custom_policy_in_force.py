"""The policy in force from custom resources: the promises of every source, object by object."""

import msgspec
import pytest

from reconciler.control.policy.custom_resources import SOURCE
from reconciler.control.policy.policy_in_force import NoPolicyError
from reconciler.gitops.git.fault import FaultCode
from reconciler.gitops.sources.last_good import LastGoodError
from reconciler.kube.custom.custom_text import CustomText
from tests.control.custom_followed import LOW_ABOVE_HIGH, NOW, Followed
from tests.kube.custom_resources import group, policy


def test_what_is_there_comes_into_force() -> None:
    """Policy and groups, saved first; the same objects again change nothing, another generation does."""
    followed = Followed(policy(), group("a"), group("b"))
    with pytest.raises(NoPolicyError, match="custom resources was not read yet"):
        followed.policy.current()
    assert not followed.policy.ready
    assert followed.policy.revision == ""

    assert followed.look()
    assert followed.groups() == ["a", "b"]
    assert followed.policy.ready
    first = followed.policy.revision
    kept = followed.store.load()
    assert kept is not None
    assert (kept.source, kept.revision, kept.root, kept.read_seconds) == (SOURCE, first, "", NOW + 10)
    assert followed.told() == ["PolicyUpdated"]
    before = followed.policy.current()
    assert not followed.look()
    assert followed.policy.current() is before
    assert followed.look(policy(), group("a", high=9, generation=2), group("b"))
    assert followed.policy.revision != first
    assert followed.policy.reading.revision == followed.policy.revision
    assert followed.fault() is None


def test_an_invalid_group_is_held_alone() -> None:
    """The others are in force as they stand; fault and revision name it, and it is said once."""
    followed = Followed(policy(), group("a"), group("b"), group("c"))
    followed.look()
    followed.told()

    assert followed.look(policy(), group("a", high=9, generation=2), group("b", generation=2, **LOW_ABOVE_HIGH), group("c"))

    assert [item.size.max for item in followed.policy.current().groups] == [9, 5, 5]
    assert followed.fault() == (FaultCode.INVALID_POLICY, "1 NodeGroup with errors", "")
    standing = followed.policy.standing
    assert standing.fault is not None
    assert standing.fault.revision == "NodeGroup infra/b@2"
    assert standing.revision == followed.policy.revision
    assert followed.told() == ["PolicyUpdated", "InvalidPolicy"]
    followed.look()
    assert followed.told() == []
    followed.look(policy(), *(group(name, generation=3, **LOW_ABOVE_HIGH) for name in "ab"), group("c"))
    assert followed.fault() == (FaultCode.INVALID_POLICY, "2 NodeGroups with errors", "")
    assert followed.policy.standing.fault != standing.fault
    followed.look(policy(), group("a"), group("b"), group("c"))
    assert followed.fault() is None


def test_an_invalid_policy_leaves_the_last_good_one() -> None:
    """As a deleted one does; both are said with what to do."""
    followed = Followed(policy(), group("a"))
    followed.look()

    assert not followed.look(policy(generation=2, mode="Perhaps"), group("a"))
    assert followed.fault() == (FaultCode.INVALID_POLICY, "NodeGroupPolicy prod has 1 error", "")
    assert followed.groups() == ["a"]
    assert not followed.look(policy("other"), group("a"))
    found = followed.fault()
    assert found is not None
    assert (found[0], found[2]) == (FaultCode.NO_POLICY, "apply it, or choose another one with --name")
    assert followed.groups() == ["a"]


def test_groups_follow_while_the_policy_is_invalid() -> None:
    """The last good policy goes on with the newest groups; another policy and its mistakes are none of ours."""
    followed = Followed(policy(), group("a"))
    followed.look()
    assert followed.look(policy(generation=2, mode="Perhaps"), group("a", high=9, generation=2))
    assert [item.size.max for item in followed.policy.current().groups] == [9]
    assert followed.fault() == (FaultCode.INVALID_POLICY, "NodeGroupPolicy prod has 1 error", "")
    followed.look(policy(), group("a"), policy("other", mode="Perhaps"))
    assert followed.fault() is None


def test_no_policy_ever() -> None:
    """Nothing is decided, and the reason is given."""
    followed = Followed()
    assert not followed.look()
    with pytest.raises(NoPolicyError, match="Apply it, or choose another one with --name"):
        followed.policy.current()
    assert followed.fault() is not None


def test_objects_that_cannot_be_read() -> None:
    """What is known may be old: nothing is judged until it is sure."""
    followed = Followed(policy(), group("a"))
    followed.look()
    followed.objects.why = "the API server does not answer"

    assert not followed.look(policy(), group("a", high=9, generation=2))
    assert followed.fault() == (
        FaultCode.UNREACHABLE,
        "custom resources cannot be read: the API server does not answer",
        "",
    )
    followed.objects.why = ""
    assert followed.look()


def test_all_groups_gone_is_refused_unless_allowed() -> None:
    """Zero where there were some; a policy that discovers, or one that never had groups, may have none."""
    followed = Followed(policy(), group("a"), group("b"))
    followed.look()
    assert not followed.look(policy())
    assert followed.fault() == (
        FaultCode.NO_GROUPS,
        "no NodeGroup and no discovery is left. Before, there were 2 NodeGroups",
        "if all groups are to be released, allow it with --allow-no-groups",
    )
    assert followed.groups() == ["a", "b"]

    allowed = Followed(policy(), group("a"), allow_no_groups=True)
    allowed.look()
    assert allowed.look(policy())
    assert allowed.groups() == []
    assert allowed.fault() is None

    discovering = policy(generation=2, discovery=[{"name": "all", "clusterAPI": {"namespaces": ["prod"]}, "tier": "spot"}])
    found = Followed(policy(), group("a"))
    found.look()
    assert found.look(discovering)
    assert found.groups() == []
    found.look(policy(generation=3))
    assert found.fault() == (
        FaultCode.NO_GROUPS,
        "no NodeGroup and no discovery is left. Before, there were 0 NodeGroups",
        "if all groups are to be released, allow it with --allow-no-groups",
    )

    empty = Followed(policy())
    assert empty.look()
    assert empty.look(policy(generation=2, currency="EUR"))
    assert empty.fault() is None


def test_groups_that_go_are_waited_for() -> None:
    """Only where one that is in force is missing since the last look, or since the process before."""
    followed = Followed(policy(), group("a"), group("b"))
    followed.look()
    assert followed.objects.settled == 0
    followed.look(policy(), group("a"))
    assert followed.objects.settled == 1
    assert followed.groups() == ["a"]
    followed.look()
    assert followed.objects.settled == 1
    followed.start()
    followed.look(policy())
    assert followed.objects.settled == 2
    assert followed.groups() == ["a"]


def test_groups_that_stay_in_force_are_waited_for_once() -> None:
    """Where their going was refused they are not there either; nobody waits for them at every look."""
    followed = Followed(policy(), group("a"))
    followed.look()
    for _ in range(3):
        followed.look(policy())
        assert (followed.groups(), followed.objects.settled) == (["a"], 1)


def test_what_is_as_it_was_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One object of many changes: its text is made, and no other."""
    read = []
    made = CustomText.of
    monkeypatch.setattr(CustomText, "of", lambda item: read.append(item.title) or made(item))
    followed = Followed(policy(), group("a"), group("b"))
    followed.look()
    assert len(read) == 3
    followed.look(policy(), group("a"), group("b", high=9, generation=2))
    assert read[3:] == ["NodeGroup infra/b"]


def test_groups_that_the_policy_does_not_take() -> None:
    """One of another namespace is named in the policy, and is no fault of it."""
    followed = Followed(policy(), group("a"))
    followed.look()
    assert followed.policy.current().refused == ()
    others = [group(f"x{number:02d}", namespace="else") for number in range(24)]
    followed.look(policy(), group("a"), *others, group("x24", namespace="else", **LOW_ABOVE_HIGH))
    kept = followed.store.load()
    assert kept is not None
    assert kept.read_seconds == NOW + 10

    refused = followed.policy.current().refused
    assert [entry.title for entry in refused] == [f"NodeGroup else/x{number:02d}" for number in range(20)]
    assert followed.groups() == ["a"]
    assert followed.fault() is None


def test_a_restart_begins_with_what_was_in_force() -> None:
    """Also while the server cannot be read; what another source had saved does not count."""
    followed = Followed(policy(), group("a"))
    followed.look()
    revision = followed.policy.revision
    followed.objects.why = "no answer"
    followed.start()

    assert followed.look()
    assert followed.groups() == ["a"]
    assert followed.policy.revision == followed.policy.reading.revision == revision
    standing = followed.policy.standing
    assert (standing.revision, standing.success_seconds) == (revision, NOW + 10)

    kept = followed.store.load()
    assert kept is not None
    followed.store.save(msgspec.structs.replace(kept, source="git"))
    followed.start()
    assert not followed.look()
    assert not followed.policy.ready


def test_what_was_saved_is_damaged() -> None:
    """It is said, given up, and read afresh; one that cannot be asked now is asked again."""
    followed = Followed(policy(), group("a"))
    followed.store.unreadable = LastGoodError("the stored policy is damaged: x", damaged=True)
    assert followed.look()
    assert followed.told() == ["LastGoodDamaged", "PolicyUpdated"]

    followed.start()
    followed.store.unreadable = LastGoodError("no answer")
    assert not followed.look()
    assert followed.fault() == (FaultCode.NOT_SAVED, "the policy that was in force before cannot be read: no answer", "")
    followed.store.unreadable = None
    assert followed.look()
    assert followed.fault() is None

    kept = followed.store.load()
    assert kept is not None
    followed.store.save(msgspec.structs.replace(kept, files=dict.fromkeys(kept.files, b"no text")))
    followed.start()
    followed.events.clear()
    assert followed.look()
    assert followed.events[0].reason == "LastGoodDamaged"
    assert followed.events[0].message.startswith("the policy of before the restart cannot be used any more: ")


def test_what_cannot_be_saved_is_not_used() -> None:
    """The old one stays until the store takes the new one."""
    followed = Followed(policy(), group("a"))
    followed.look()
    followed.store.full = True
    assert not followed.look(policy(), group("a"), group("b"))
    found = followed.fault()
    assert found is not None
    assert found[:2] == (FaultCode.NOT_SAVED, "the new policy cannot be saved, so it is not used: no room")
    assert followed.groups() == ["a"]
    followed.store.full = False
    assert followed.look()
    assert followed.groups() == ["a", "b"]


def test_a_defect_is_told_like_a_fault() -> None:
    """The thread that follows outlives it."""
    followed = Followed(policy(), group("a"))
    followed.objects.all = lambda: 1 // 0  # type: ignore[assignment,return-value]
    assert not followed.look()
    found = followed.fault()
    assert found is not None
    assert found[:2] == (
        FaultCode.UNREACHABLE,
        "custom resources could not be looked at: ZeroDivisionError: integer division or modulo by zero",
    )
