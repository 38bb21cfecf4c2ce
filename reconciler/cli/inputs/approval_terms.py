"""How many nodes may go without an approval, and which commit approves more, as options say it."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from reconciler.cli.outputs.failure import InputError
from reconciler.cli.outputs.telling import tell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.control.saved_plans.apply import RemovalTerms
    from reconciler.gitops.git.repository import Repository
    from reconciler.gitops.git.signature import Signers


class ApprovalChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The options as given, by their names; `limit` None: removals need no approval."""

    limit: int | None
    approved_by: str | None
    repo: Path
    allowed_signers: Path | None
    gpg_keys: Path | None
    signers: tuple[str, ...]
    any_author: bool


def approval_choice(given: "Mapping[str, Any]") -> tuple[ApprovalChoice, dict[str, Any]]:
    """The values that click hands over, and those of other options. Raises `UsageError` for options that need another one."""
    names = ApprovalChoice.__struct_fields__
    choice = ApprovalChoice(**{name: given[name] for name in names})
    if choice.approved_by is not None and choice.limit is None:
        raise click.UsageError("--approved-by goes with --require-plan N")
    keys = choice.allowed_signers is not None or choice.gpg_keys is not None
    if choice.signers and not keys:
        raise click.UsageError("--signer narrows --allowed-signers or --gpg-keys: give one of them")
    if keys and choice.approved_by is None:
        raise click.UsageError("--allowed-signers and --gpg-keys say who may sign the commit of --approved-by REF: give it")
    if choice.any_author and (keys or choice.approved_by is None):
        raise click.UsageError("--any-author goes with --approved-by REF, instead of --allowed-signers and --gpg-keys")
    if choice.approved_by is not None and not keys and not choice.any_author:
        raise click.UsageError(
            "an approval is valid if its approver signed the commit. Name the approvers with --allowed-signers or --gpg-keys. "
            "--any-author trusts anyone who can write a commit"
        )
    return choice, {name: value for name, value in given.items() if name not in names}


def removal_terms(choice: ApprovalChoice) -> "RemovalTerms | None":
    """What is allowed. Raises `InputError`; a trailer that cannot be read is told on stderr and approves nothing."""
    from reconciler.control.saved_plans.apply import RemovalTerms
    from reconciler.plan.approvals.plan_approvals import read_approvals

    if choice.limit is None:
        return None
    if choice.approved_by is None:
        return RemovalTerms(limit=choice.limit)
    message, not_signed = _read(choice, choice.approved_by)
    approvals, problems = read_approvals(message)
    for problem in problems:
        tell(f"warning: {problem}")
    return RemovalTerms(limit=choice.limit, approvals=approvals, not_signed=not_signed)


def _read(choice: ApprovalChoice, name: str) -> tuple[str, str]:
    """The message of the commit, and what is wrong with its signature where it needs one."""

    try:
        from reconciler.gitops.git.git_command import GitError
        from reconciler.gitops.git.repository import Repository, RepositoryError
    except ImportError:
        raise InputError("git is not on the PATH, and --approved-by needs it to read the commit") from None
    try:
        repository = Repository.at(choice.repo)
        commit = repository.commit(name)
        return repository.message(commit), _not_signed(repository, commit, _signers(choice))
    except (RepositoryError, GitError) as error:
        raise InputError(str(error)) from None


def _signers(choice: ApprovalChoice) -> "Signers | None":
    from reconciler.gitops.git.signature import Signers
    from reconciler.gitops.git.signer_name import SignerNameError, signer_names

    if choice.allowed_signers is None and choice.gpg_keys is None:
        return None
    for file in (choice.allowed_signers, choice.gpg_keys):
        if file is not None and not file.is_file():
            raise InputError(f"{file}: no such file")
    ssh, gpg = choice.allowed_signers, choice.gpg_keys
    try:
        names = signer_names(choice.signers, ssh=ssh is not None, gpg=gpg is not None)
    except SignerNameError as error:
        raise InputError(f"--signer: {error}") from None
    return Signers(allowed_signers_file=ssh, gpg_keys_file=gpg, names=names)


def _not_signed(repository: "Repository", commit: str, signers: "Signers | None") -> str:
    from reconciler.gitops.git.fault import SourceError
    from reconciler.gitops.git.signature import verified

    if signers is None:
        return ""
    try:
        # The commit is seen here for the first time: its keys count as they stand now.
        verified(repository.git_dir, commit, signers, int(time.time()))
    except SourceError as error:
        return error.fault.sentence
    return ""
