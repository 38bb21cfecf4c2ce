"""Answers that loops of one process share: how old they are, and what ends them."""

import threading
from typing import Any

import pytest

from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Answer, AwsError
from reconciler.platforms.aws.writing.sharing import SharedReads
from reconciler.providers.shared_answers import SharedAnswers
from tests.aws.test_asking import Clock

_GROUPS = "DescribeAutoScalingGroups"


class Scripted:
    """Groups with a version that grows with each call. `during` happens while a call is under way."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.gone: set[str] = set()
        self.error: AwsError | None = None
        self.during: Any = None

    def call(self, service: str, action: str, **parameters: Any) -> Answer:
        assert service == AUTO_SCALING
        self.calls.append((action, parameters))
        version = len(self.calls)
        if self.during is not None:
            happens, self.during = self.during, None
            happens()
        if self.error is not None:
            raise self.error
        names = parameters.get("AutoScalingGroupNames", ["listed"])
        items = [{"AutoScalingGroupName": name, "Version": version} for name in names if name not in self.gone]
        return Answer({"AutoScalingGroups": items}, 0)


def named(reads: SharedReads, *names: str) -> dict[str, int]:
    items = reads.call(AUTO_SCALING, _GROUPS, AutoScalingGroupNames=list(names)).body["AutoScalingGroups"]
    return {one["AutoScalingGroupName"]: one["Version"] for one in items}


def test_one_call_for_the_groups_of_all() -> None:
    """Who asks by name also gets what others have asked for lately and what is due; each name is asked once in 8 s."""
    aws, clock = Scripted(), Clock()
    reads = SharedReads(aws, clock)
    assert (named(reads, "a"), named(reads, "b")) == ({"a": 1}, {"b": 2})
    clock.seconds = 8
    assert named(reads, "a") == {"a": 3}
    assert aws.calls[-1][1]["AutoScalingGroupNames"] == ["a", "b"]
    assert (named(reads, "b"), named(reads, "a", "b")) == ({"b": 3}, {"a": 3, "b": 3})
    clock.seconds = 15.9
    assert (named(reads, "a"), len(aws.calls)) == ({"a": 3}, 3)


def test_a_group_that_is_gone_is_gone_for_all() -> None:
    aws, clock = Scripted(), Clock()
    reads = SharedReads(aws, clock)
    aws.gone.add("a")
    assert (named(reads, "a", "b"), named(reads, "a"), len(aws.calls)) == ({"b": 1}, {}, 1)


def test_a_write_ends_what_was_read_before_it() -> None:
    """By name and in lists, also where the answer is under way: who asks after the write gets a later answer, and who asked
    before it loses no group."""
    aws, clock = Scripted(), Clock()
    reads = SharedReads(aws, clock)
    named(reads, "a", "b")
    reads.call(AUTO_SCALING, _GROUPS, MaxRecords=100)
    reads.wrote("a", others=False)
    assert (named(reads, "b"), named(reads, "a")) == ({"b": 1}, {"a": 3})
    reads.call(AUTO_SCALING, _GROUPS, MaxRecords=100)
    assert len(aws.calls) == 4
    aws.during = lambda: reads.wrote("a", others=False)
    assert named(reads, "a", "c") == {"a": 3, "c": 5}
    assert named(reads, "a", "c") == {"a": 6, "c": 6}


def test_who_sizes_a_group_is_asked_again_after_a_surprise() -> None:
    aws, clock = Scripted(), Clock()
    reads = SharedReads(aws, clock)
    for others, calls in ((False, 1), (False, 1), (True, 2)):
        reads.call(AUTO_SCALING, "DescribePolicies", MaxRecords=100)
        assert len(aws.calls) == 1
        reads.wrote("a", others=others)
        if others:
            reads.call(AUTO_SCALING, "DescribePolicies", MaxRecords=100)
        assert len(aws.calls) == calls


@pytest.mark.parametrize("names", [[], ["a"]])
def test_a_missing_right_is_missing_for_all(names: list[str]) -> None:
    """It is asked for once in 8 s; another failure tells nothing of the next call."""
    aws, clock = Scripted(), Clock()
    reads = SharedReads(aws, clock)

    def ask() -> None:
        with pytest.raises(AwsError):
            reads.call(AUTO_SCALING, _GROUPS, **({"AutoScalingGroupNames": names} if names else {"MaxRecords": 100}))

    aws.error = AwsError("AccessDenied", "no", status=403)
    ask(), ask()
    assert len(aws.calls) == 1
    clock.seconds, aws.error = 8, AwsError("InternalFailure", "no", status=500)
    ask(), ask()
    assert len(aws.calls) == 3


def test_those_who_ask_at_once_wait_for_one_answer() -> None:
    """Another question does not wait for it."""
    answers, asked = SharedAnswers(), list[str]()
    begun, go = threading.Event(), threading.Event()

    def ask() -> str:
        asked.append("a")
        begun.set()
        go.wait(10)
        return "answer"

    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(answers.of("a", 60, ask))) for _ in range(5)]
    for thread in threads:
        thread.start()
    begun.wait(10)
    assert answers.of("b", 60, lambda: "other") == "other"
    go.set()
    for thread in threads:
        thread.join()
    assert (asked, found) == (["a"], ["answer"] * 5)
