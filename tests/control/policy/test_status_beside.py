"""Objects that are applied beside a loop which follows git: their status says what is done, or what is in force instead."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
import yaml

from reconciler.control.policy.status_beside import StatusBeside
from reconciler.control.turn.turn_report import LoopReport
from reconciler.gitops.git.fault import Fault, FaultCode
from reconciler.gitops.sources.standing import Standing
from reconciler.kube.custom.custom_object import CustomObject
from reconciler.kube.custom.status import Status
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.plan.plan import GroupLine, Ownership, OwnerState, Plan
from reconciler.policy.documents import PolicySet
from reconciler.policy.tree import read_tree
from tests.kube.custom_resources import group, group_spec, manifest, policy, policy_spec

NOW = 1_800_000_000
REVISION = "abcdef1" + "0" * 33
IN_FORCE = "abcdef100000 of git main is in force"


class _Loop:
    """What is applied, what the loop follows, and what was written."""

    def __init__(self, *items: CustomObject, source: Iterable[dict[str, Any]] = ()) -> None:
        self.items, self.why, self.absent, self.leader = items, "", "", True
        self.rounds: list[dict[str, Status]] = []
        documents = list(source) or [manifest("NodeGroupPolicy", "prod", policy_spec()), _in_git("a")]
        tree = read_tree({"policy.yaml": yaml.safe_dump_all(documents).encode()}, now_seconds=NOW)
        assert not tree.problems
        (self.policy,) = tree.sets
        self.standing = Standing(source="git main", revision=REVISION)
        self.started = 0
        self.status = StatusBeside(
            self, lambda: self, self, name="prod", clock=lambda: NOW, leads=lambda: self.leader  # type: ignore[arg-type]
        )  # fmt: skip

    def start(self) -> None:
        self.started += 1

    def doubt(self) -> str:
        return self.why

    def all(self) -> tuple[CustomObject, ...]:
        return self.items

    def current(self) -> PolicySet:
        return self.policy

    def missing(self) -> str:
        return self.absent

    def round(self, wanted: Iterable[tuple[CustomObject, Status]], now: str) -> None:
        assert now == "2027-01-15T08:00:00Z"
        self.rounds.append({item.title: status for item, status in wanted})

    def turned(self, *, observed: bool = False) -> dict[str, Status]:
        line = GroupLine(
            name="a", target="MachineDeployment prod/a", tier="", current=2, desired=2, min=0, max=5,
            owner=Ownership(state=OwnerState.OURS),
        )  # fmt: skip
        plan = Plan(digest="sha256:1", now="", mode="Observe" if observed else "Enforce", summary="No changes.", groups=(line,))
        self.status.turned(LoopReport(at_seconds=NOW, plan=plan))
        return self.rounds[-1] if self.rounds else {}


def _in_git(name: str, namespace: str = "infra", **fields: Any) -> dict[str, Any]:
    return manifest("NodeGroup", name, group_spec(name, **fields), namespace)


def _words(status: Status) -> tuple[str, str, str]:
    ready = next(one for one in status.conditions if one.type == "Ready")
    stalled = next(one for one in status.conditions if one.type == "Stalled")
    return ready.status, ready.reason, stalled.status


def test_what_git_and_the_object_both_say_is_told() -> None:
    """The facts of the plan, on the generation that was compared; who applies objects may label them."""
    labelled = msgspec.structs.replace(group("a", generation=3), labels={"app.kubernetes.io/instance": "policies"})
    found = _Loop(policy(), labelled, group("c", policy="other")).turned()
    assert set(found) == {"NodeGroupPolicy prod", "NodeGroup infra/a"}
    status = found["NodeGroup infra/a"]
    assert (_words(status), status.observed_generation) == (("True", "AsDesired", "False"), 3)
    assert (status.facts["current"], status.beside) == (2, {"revision": REVISION, "planDigest": "sha256:1"})
    whole = found["NodeGroupPolicy prod"]
    assert _words(whole) == ("True", "InForce", "False")
    assert (whole.facts["revision"], whole.facts["groups"], whole.facts["summary"]) == (REVISION, 1, "No changes.")


@pytest.mark.parametrize(
    ("item", "words", "message"),
    [
        (group("a", high=9), ("False", "FollowsAnotherSource", "False"), f"{IN_FORCE}, and says something else of this group"),
        (group("b"), ("False", "NotInForce", "False"), f"{IN_FORCE}, and does not have this group"),
        (group("a", low="many"), ("False", "*", "True"), f"{IN_FORCE}, which this object does not change"),
        (policy(mode="Enforce"), ("False", "FollowsAnotherSource", "False"), f"{IN_FORCE}, and says something else"),
        (policy(mode="Perhaps"), ("False", "*", "True"), IN_FORCE),
    ],
)
def test_what_only_the_object_says_decides_nothing(item: CustomObject, words: tuple[str, str, str], message: str) -> None:
    """It is named as waiting, or as wrong; never as done."""
    (status,) = _Loop(item).turned().values()
    found = _words(status)
    assert (found[0], found[2]) == (words[0], words[2])
    assert words[1] in ("*", found[1])
    assert message in status.conditions[0].message
    assert "spec." in status.conditions[0].message or found[2] == "False", "the field, and no line that nobody has seen"


def test_a_refused_commit_is_told_on_the_policy() -> None:
    loop = _Loop(policy(), group("a"))
    fault = Fault(code=FaultCode.INVALID_POLICY, message="a.yaml has 1 error")
    loop.standing = msgspec.structs.replace(loop.standing, fault=fault)
    found = loop.turned()
    assert _words(found["NodeGroupPolicy prod"]) == ("False", "InvalidPolicy", "True")
    assert _words(found["NodeGroup infra/a"])[0] == "True"


def test_a_document_without_a_namespace_is_that_of_whoever_applies_it() -> None:
    source = [manifest("NodeGroupPolicy", "prod", policy_spec()), _in_git("a", "")]
    (status,) = _Loop(group("a", namespace="reconciler"), source=source).turned().values()
    assert _words(status)[0] == "True"


def test_where_nothing_can_be_told() -> None:
    """No definitions, no policy, no Lease: nothing is written, and nothing raises."""
    loop = _Loop(group("a"))
    for change in ({"why": "the server knows no nodegroups"}, {"absent": "not read yet"}, {"leader": False}):
        for key, value in change.items():
            setattr(loop, key, value)
        assert loop.turned() == {}
        loop.why, loop.absent, loop.leader = "", "", True
    loop.status.turned(LoopReport(at_seconds=NOW))
    assert loop.rounds == []

    def refused(*_: object) -> None:
        raise NotLeaderError

    loop.round = refused  # type: ignore[method-assign, assignment]
    assert loop.turned() == {}
    assert loop.status.subjects(None) == {}
