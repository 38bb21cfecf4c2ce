"""Which trees may replace the policy in force: every refusal with its sentence and what to do."""

import msgspec
import pytest

from reconciler.gitops.git.fault import Fault, FaultCode, SourceError
from reconciler.gitops.sources.acceptance import Accepted, accepted, restored
from reconciler.gitops.sources.bounded_tree import BoundedTreeReader
from reconciler.gitops.sources.source import Fetched
from tests.gitops.repositories import POLICY, group

NOW = 1_800_000_000
COMMIT = "1" * 40
READ = BoundedTreeReader()
DISCOVERY = POLICY.replace("spec:", "spec:\n  discovery: [{name: all, clusterAPI: {namespaces: [prod]}}]")


def fetched(root: str = "", signer: str = "", **files: str) -> Fetched:
    content = {f"{name}.yaml": text.encode() for name, text in files.items()}
    return Fetched(revision=COMMIT, root=root, files=content, signer=signer)


def taken(tree: Fetched, before: Accepted | None = None, name: str | None = None, **options: bool) -> Accepted:
    return accepted(tree, "git://x", name, NOW, before.policy if before else None, READ, **options)


def fault(tree: Fetched, before: Accepted | None = None, name: str | None = None) -> Fault:
    with pytest.raises(SourceError) as found:
        taken(tree, before, name)
    return found.value.fault


def test_a_good_tree() -> None:
    """With what a restart begins with, which reads the same."""
    found = taken(fetched("policies", "ada", prod=POLICY, a=group("a")))
    assert [entry.name for entry in found.policy.groups] == ["a"]
    kept = found.last_good
    assert (kept.source, kept.revision, kept.root, kept.signer, kept.read_seconds) == ("git://x", COMMIT, "policies", "ada", NOW)
    assert sorted(kept.files) == ["a.yaml", "prod.yaml"]
    assert restored(kept, None, READ) == found.policy


def test_errors_are_placed_from_the_top() -> None:
    """Where people open the file; only errors are counted."""
    bad = group("a").replace("max: 5", "max: 0")
    found = fault(fetched("policies", prod=POLICY, a=bad))
    assert (found.code, found.revision) == (FaultCode.INVALID_POLICY, COMMIT)
    assert found.message == "commit 111111111111 has 1 error"
    assert [problem.place.path for problem in found.problems] == ["policies/a.yaml"]
    assert [problem.place.path for problem in fault(fetched(prod=POLICY, a=bad)).problems] == ["a.yaml"]
    two = fault(fetched(prod=POLICY, a=bad, b=group("b").replace("max: 5", "max: 0")))
    assert two.message == "commit 111111111111 has 2 errors"


@pytest.mark.parametrize(
    ("files", "name", "message", "hint"),
    [
        ({}, None, "no NodeGroupPolicy in 0 policy files of commit 111111111111", "check --path"),
        ({"a": "kind: Other\napiVersion: v1\n"}, "prod",
         "no NodeGroupPolicy in 1 policy file of commit 111111111111", "check --path"),
        ({"a": POLICY, "b": POLICY.replace("prod", "test")}, None,
         "commit 111111111111 has several policies", "choose one with --name (prod, test)"),
        ({"a": POLICY, "b": POLICY.replace("prod", "test")}, "stage",
         "commit 111111111111 has no policy stage", "it has prod, test"),
        ({"a": POLICY}, "stage", "commit 111111111111 has no policy stage", "it has prod"),
    ],
)  # fmt: skip
def test_which_policy_is_meant(files: dict[str, str], name: str | None, message: str, hint: str) -> None:
    """None at all, several, or none of that name."""
    found = fault(fetched(**files), name=name)
    assert (found.code, found.message, found.hint) == (FaultCode.NO_POLICY, message, hint)


def test_one_of_several_by_its_name() -> None:
    """And the only one whether it is named or not."""
    both = fetched(a=POLICY, b=POLICY.replace("prod", "test"))
    assert [taken(both, name=name).policy.policy.name for name in ("prod", "test")] == ["prod", "test"]
    assert taken(fetched(a=POLICY), name="prod").policy.policy.name == "prod"
    assert restored(taken(both, name="test").last_good, "test", READ).policy.name == "test"


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ({"a": group("a")}, "There was 1"),
        ({"a": group("a"), "b": group("b")}, "There were 2"),
    ],
)
def test_all_groups_gone(before: dict[str, str], words: str) -> None:
    """More often a mistake than meant: refused unless it is allowed."""
    there = taken(fetched(prod=POLICY, **before))
    found = fault(fetched(prod=POLICY), there)
    assert (found.code, found.revision) == (FaultCode.NO_GROUPS, COMMIT)
    assert found.message == f"no NodeGroup and no discovery is left. {words}"
    assert "--allow-no-groups" in found.hint
    assert taken(fetched(prod=POLICY), there, allow_no_groups=True).policy.groups == ()
    assert taken(fetched(prod=POLICY)).policy.groups == ()
    assert taken(fetched(prod=POLICY), taken(fetched(prod=POLICY))).policy.groups == ()


def test_discovery_counts_as_groups() -> None:
    """What it will find nobody knows from the tree."""
    there, found = taken(fetched(prod=POLICY, a=group("a"))), taken(fetched(prod=DISCOVERY))
    assert taken(fetched(prod=DISCOVERY), there).policy.groups == ()
    assert fault(fetched(prod=POLICY), found).message.endswith("There was 1")


def test_what_was_good_and_is_not_any_more() -> None:
    """After a change of version: told, not decided by."""
    kept = taken(fetched("policies", prod=POLICY)).last_good

    odd = msgspec.structs.replace(kept, files={"prod.yaml": POLICY.replace("spec:", "spec:\n  unheardOf: 1").encode()})
    with pytest.raises(SourceError) as found:
        restored(odd, None, READ)
    assert found.value.fault.code is FaultCode.INVALID_POLICY
