"""Who approves: a commit that its approver signed. The commits here are real, the plan and the cluster that it is for as well."""

import pytest

from tests.cli.commands.test_apply_signed import Removal, removal, repo
from tests.gitops.repositories import GitRepo
from tests.gitops.signers import sign_with_ssh

__all__ = ["removal", "repo"]
DONE = "replicas 2 -> 1"


@pytest.mark.parametrize("signed", [False, True])
def test_a_trailer_of_anybody_approves_nothing(removal: Removal, repo: GitRepo, signed: bool) -> None:
    """The right words in a commit of whoever can write one, or signed by a key that nobody named: without a word of the operator
    nothing is done."""
    if signed:
        sign_with_ssh(repo, removal.mallory)
    removal.commit(repo)
    refused = removal.apply(repo)
    assert "is valid if its approver signed the commit" in str(refused.exception)
    assert DONE not in refused.output
    named = removal.apply(repo, "--allowed-signers", removal.allowed)
    assert "[ApprovalNotSigned]" in named.stdout
    assert DONE not in named.stdout
    assert DONE in removal.apply(repo, "--any-author").stdout
