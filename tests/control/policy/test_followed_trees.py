"""A policy followed from trees of files that are handed in: what is asked of the source, what comes into force, what is told."""

import pytest

from reconciler.control.policy.policy_source import FollowedPolicy
from reconciler.gitops.git.fault import FaultCode, failed
from reconciler.gitops.sources.last_good import LastGood, MemoryLastGoodStore
from reconciler.gitops.sources.source import Fetched
from reconciler.gitops.sources.standing import SourceEvent
from reconciler.policy.pace import GroupApproval
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem

NOW = 1_800_000_000
APPROVAL = GroupApproval(policy_digest="p", cluster="c", group="a", until_seconds=NOW + 60, nodes=1)
POLICY = b"""apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec: {tiers: [{name: spot}]}
"""


def _group(name: str, most: int = 5) -> bytes:
    return f"""apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: {name}, namespace: infra}}
spec:
  policyRef: {{name: prod}}
  target: {{clusterAPI: {{kind: MachineDeployment, namespace: prod, name: {name}}}}}
  size: {{min: 0, max: {most}}}
""".encode()


class _Source:
    """Gives the tree that was set, and remembers which revision it was asked to go on from."""

    name = "git"

    def __init__(self) -> None:
        self.tree = self.of("r1", _group("a"))
        self.asked: list[str | None] = []
        self.error: Exception | None = None

    def of(self, revision: str, *groups: bytes, **fields: object) -> Fetched:
        files = {"policy.yaml": POLICY, **{f"{number}.yaml": text for number, text in enumerate(groups)}}
        self.tree = Fetched(revision=revision, root="", files=files, **fields)  # type: ignore[arg-type]
        return self.tree

    def fetch(self, last_revision: str | None, last_seconds: int = 0) -> Fetched:
        self.asked.append(last_revision)
        if self.error is not None:
            raise self.error
        return self.tree


@pytest.fixture
def source() -> _Source:
    return _Source()


def _followed(source: _Source, store: MemoryLastGoodStore, told: list[SourceEvent], **more: object) -> FollowedPolicy:
    return FollowedPolicy(source, store, lambda: NOW, tell=told.append, **more)  # type: ignore[arg-type]


def _most(policy: FollowedPolicy) -> list[int]:
    return [group.size.max for group in policy.current().groups]


def test_each_revision_comes_into_force_once(source: _Source) -> None:
    """The source is asked to go on from the revision in force; the same one again changes nothing."""
    told: list[SourceEvent] = []
    policy = _followed(source, MemoryLastGoodStore(), told)
    assert policy.poll()
    assert not policy.poll()
    source.of("r2", _group("a", 9), signer="Ann")
    assert policy.poll()
    assert _most(policy) == [9]
    assert (policy.revision, policy.standing.signer) == ("r2", "Ann")
    assert source.asked == [None, "r1", "r1"]
    assert [event.reason for event in told] == ["PolicyUpdated", "PolicyUpdated"]


def test_other_files_under_the_same_revision_are_judged(source: _Source) -> None:
    """A directory that changed while it was read, or a mark that was moved."""
    policy = _followed(source, MemoryLastGoodStore(), [])
    policy.poll()
    source.of("r1", _group("a", 9))
    assert policy.poll()
    assert _most(policy) == [9]


def test_an_invalid_tree_changes_nothing(source: _Source) -> None:
    """Not even its valid parts; a failure to ask changes nothing either."""
    policy = _followed(source, MemoryLastGoodStore(), [])
    policy.poll()
    source.of("r2", _group("a", 9), b"kind: NodeGroup\n")
    assert not policy.poll()
    assert policy.standing.fault is not None
    assert (policy.standing.fault.code, policy.standing.fault.revision) == (FaultCode.INVALID_POLICY, "r2")
    source.error = failed(FaultCode.UNREACHABLE, "no answer")
    assert not policy.poll()
    assert (_most(policy), policy.revision) == ([5], "r1")
    assert source.asked == [None, "r1", "r1"]


def test_groups_are_not_all_given_up_by_mistake(source: _Source) -> None:
    """Unless that is allowed."""
    for allowed in (False, True):
        source.of("r1", _group("a"))
        policy = _followed(source, MemoryLastGoodStore(), [], allow_no_groups=allowed)
        policy.poll()
        source.of("r2")
        assert policy.poll() is allowed
        assert policy.revision == ("r2" if allowed else "r1")


def test_a_restart_goes_on_from_what_was_saved(source: _Source) -> None:
    """Without a source to ask as well; the history of another source tells nothing."""
    store = MemoryLastGoodStore()
    _followed(source, store, []).poll()
    source.error = failed(FaultCode.UNREACHABLE, "no answer")
    policy = _followed(source, store, [])
    assert policy.poll()
    assert (_most(policy), policy.revision, source.asked[-1]) == ([5], "r1", "r1")

    kept = store.load()
    assert kept is not None
    store.save(LastGood(source="other", revision="x9", root="", files=kept.files, read_seconds=NOW))
    source.error = None
    policy = _followed(source, store, [])
    assert policy.poll()
    assert source.asked[-1] is None
    assert policy.revision == "r1"


def test_refused_approvals_are_told_once(source: _Source) -> None:
    """As long as they are there; when they come again they are news."""
    told: list[SourceEvent] = []
    policy = _followed(source, MemoryLastGoodStore(), told)
    for refused in (("Ann may not",), ("Ann may not", "Bob may not"), (), ("Ann may not",)):
        source.of("r1", _group("a"), not_approved=refused)
        policy.poll()
    assert [event.message for event in told if event.reason == "ApprovalRefused"] == ["Ann may not", "Bob may not", "Ann may not"]


def test_approvals_are_those_of_now(source: _Source) -> None:
    """The policy is in force for long, the approval came with a commit that changed nothing else of it, and has gone since."""
    policy = _followed(source, MemoryLastGoodStore(), [])
    policy.poll()
    assert policy.current().approvals == ()
    source.of("r1", _group("a"), approvals=(APPROVAL,))
    policy.poll()
    assert policy.current().approvals == (APPROVAL,)
    source.of("r1", _group("a"))
    policy.poll()
    assert policy.current().approvals == ()


def test_a_tree_that_became_wrong_under_its_revision_is_refused(source: _Source) -> None:
    """The same files: what is wrong is beside them, such as a link that leads out of the tree."""
    policy = _followed(source, MemoryLastGoodStore(), [])
    policy.poll()
    assert policy.standing.fault is None
    problem = Problem(code="Link", message="leads out of the tree", place=Place("a.yaml", 1, 1))
    source.of("r1", _group("a"), problems=(problem,))
    assert not policy.poll()
    assert policy.standing.fault is not None
    assert _most(policy) == [5]


def test_what_was_saved_and_cannot_be_read_any_more_is_judged_again(source: _Source) -> None:
    """Though the source has the very same: else nobody would learn why there is no policy."""
    store = MemoryLastGoodStore()
    broken = source.of("r1", b"kind: [broken")
    store.save(LastGood(source="git", revision="r1", root="", files=broken.files, read_seconds=NOW))
    policy = _followed(source, store, [])
    assert not policy.poll()
    assert source.asked == ["r1"]
    assert policy.standing.fault is not None
    assert policy.standing.fault.code is FaultCode.INVALID_POLICY
