"""Approvals in commit messages: those that count are of commits that one who may approve has signed, by the real git and ssh."""

from pathlib import Path

import pytest

from reconciler.gitops.git.fault import FaultCode, SourceError
from reconciler.gitops.git.signature import Signers
from reconciler.gitops.sources.commit_approvals import NEWEST, Approvals, CommitApprovals
from reconciler.plan.approvals.group_approvals import group_trailer
from tests.gitops.repositories import GitRepo
from tests.gitops.signers import SshKey, sign_with_ssh, ssh_key

DIGEST = "sha256:" + "1" * 64
END = "2027-01-15T08:00:00Z"
SEEN = 1_795_600_000
"""2026-11-25: the commits of these repositories say that they are of 2026-11-21."""


@pytest.fixture(scope="module")
def ada(tmp_path_factory: pytest.TempPathFactory) -> SshKey:
    return ssh_key(tmp_path_factory.mktemp("ada"), "ada")


@pytest.fixture
def approvals(repo: GitRepo, tmp_path: Path, ada: SshKey) -> CommitApprovals:
    """Those of the repository; Ada may approve."""
    file = tmp_path / "allowed_signers"
    file.write_text(f"ada@example.org {ada.public}\n")
    return CommitApprovals(repo.root / ".git", Signers(allowed_signers_file=file))


def approving(group: str, nodes: int) -> str:
    return "approve\n\n" + group_trailer(DIGEST, "prod", group, nodes).replace("YYYY-MM-DDTHH:MM:SSZ", END)


def counted(found: Approvals) -> list[tuple[str, str, int]]:
    return [(one.cluster, one.group, one.nodes) for one in found.counted]


def test_signed_approvals_count(repo: GitRepo, approvals: CommitApprovals, ada: SshKey) -> None:
    """Of all commits, sorted, each once; commits without a trailer say nothing."""
    assert approvals.at(repo.commit({}, "no approval"), SEEN) == Approvals()
    sign_with_ssh(repo, ada)
    repo.commit({}, approving("prod/b", 8))
    repo.commit({}, approving("prod/b", 8).replace("Reconciler-Approve", "reconciler-approve"))
    tip = repo.commit({}, approving("prod/a", 3))
    found = approvals.at(tip, SEEN)
    assert counted(found) == [("prod", "prod/a", 3), ("prod", "prod/b", 8)]
    assert found.refused == ()
    assert approvals.at(tip, SEEN) == found


def test_what_does_not_count_is_told(repo: GitRepo, approvals: CommitApprovals, ada: SshKey) -> None:
    """An approval that nobody signed, and a trailer that cannot be read, each by its commit."""
    unsigned = repo.commit({}, approving("prod/a", 3))
    sign_with_ssh(repo, ada)
    odd = repo.commit({}, "x\n\nReconciler-Approve-Removals: everything")
    found = approvals.at(odd, SEEN)
    assert found.counted == ()
    first, second = found.refused
    assert first.startswith(f"commit {odd[:12]} approves nothing by Reconciler-Approve-Removals: 'everything': ")
    assert second.startswith(f"the approval of commit {unsigned[:12]} is invalid: ")


def test_a_signature_is_looked_at_once(
    repo: GitRepo, approvals: CommitApprovals, monkeypatch: pytest.MonkeyPatch, ada: SshKey
) -> None:
    """For as long as the commit is among the newest."""
    sign_with_ssh(repo, ada)
    tip = repo.commit({}, approving("prod/a", 3))
    found = approvals.at(tip, SEEN)
    monkeypatch.setattr("reconciler.gitops.sources.commit_approvals.verified", lambda *_: pytest.fail("looked at again"))
    assert approvals.at(tip, SEEN) == found
    assert approvals.at(f"{tip}~1", SEEN) == Approvals()


def test_keys_count_as_they_stood_when_the_commit_was_first_seen(
    repo: GitRepo, approvals: CommitApprovals, tmp_path: Path, ada: SshKey
) -> None:
    """A key whose time is over approves nothing that comes later, whatever date the commit bears; what came before stays."""
    file = tmp_path / "allowed_signers"
    file.write_text(f'ada@example.org valid-before="20261126" {ada.public}\n')
    sign_with_ssh(repo, ada)
    first = repo.commit({}, approving("prod/a", 3))
    assert counted(approvals.at(first, SEEN)) == [("prod", "prod/a", 3)]
    later = SEEN + 10 * 86_400
    second = repo.commit({}, approving("prod/b", 3))
    found = approvals.at(second, later)
    assert counted(found) == [("prod", "prod/a", 3)]
    assert f"commit {second[:12]}" in found.refused[0]
    restarted = CommitApprovals(repo.root / ".git", Signers(allowed_signers_file=file))
    assert counted(restarted.at(second, later)) == []


def test_who_is_taken_off_the_file_approves_nothing_any_more(
    repo: GitRepo, approvals: CommitApprovals, tmp_path: Path, ada: SshKey
) -> None:
    """The file is a mounted ConfigMap that changes while the process lives; without it nothing counts, and the rest goes on."""
    sign_with_ssh(repo, ada)
    tip = repo.commit({}, approving("prod/a", 3))
    assert counted(approvals.at(tip, SEEN)) == [("prod", "prod/a", 3)]
    file = tmp_path / "allowed_signers"
    before = file.read_bytes()
    file.write_bytes(b"")
    assert counted(approvals.at(tip, SEEN)) == []
    file.write_bytes(before)
    assert counted(approvals.at(tip, SEEN)) == [("prod", "prod/a", 3)]
    file.unlink()
    found = approvals.at(tip, SEEN)
    assert (found.counted, "allowed_signers: No such file" in found.refused[0]) == ((), True)


def test_what_cannot_be_read(repo: GitRepo, approvals: CommitApprovals, tmp_path: Path) -> None:
    """A commit that is not there, a program that is not."""
    assert NEWEST == 200
    with pytest.raises(SourceError, match="git gives no answer") as found:
        approvals.at("1" * 40, SEEN)
    assert (found.value.fault.code, found.value.fault.revision) == (FaultCode.DAMAGED, "1" * 40)
    missing = CommitApprovals(repo.root / ".git", Signers(), str(tmp_path / "no-git"))
    with pytest.raises(SourceError, match="cannot read the approvals") as found:
        missing.at("1" * 40, SEEN)
    assert found.value.fault.code is FaultCode.DAMAGED
