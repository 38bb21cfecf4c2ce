"""`snapshot --publish`: a capture to a branch of a git repository, or to one file."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from reconciler.cli.inputs.source import access_options
from reconciler.cli.outputs.failure import InputError

if TYPE_CHECKING:
    from reconciler.cli.inputs.remote_access import RemoteAccess
    from reconciler.control.capture import Capture
    from reconciler.gitops.snapshots.publish import SnapshotBranch

DEFAULT_BRANCH = "reconciler-snapshots"
_Command = TypeVar("_Command", bound=Callable[..., object])
# An address has a scheme, or is `user@host:path`; a path on disk is neither.
_ADDRESS = re.compile(r"[a-z0-9+]+://|[^/@]+@[^/:]+:")


def publish_options(command: _Command) -> _Command:
    """Add `--publish`, `--publish-branch`, `--cluster-name` and how a repository is reached."""
    options = (
        click.option(
            "--publish",
            metavar="URL|FILE",
            help="Redact, and push to this repository (https://…, ssh://…), or write one file (NAME.tar.gz).",
        ),
        click.option(
            "--publish-branch",
            metavar="BRANCH",
            default=DEFAULT_BRANCH,
            show_default=True,
            help="Branch for snapshots only: it holds the newest one of each cluster and is pushed with force.",
        ),
        click.option("--cluster-name", metavar="NAME", help="Name of the cluster there [default: the context]."),
    )
    command = access_options(command)
    for option in reversed(options):
        command = option(command)
    return command


def check_target(target: str, branch: str, access: "RemoteAccess") -> None:
    """Raises `InputError` for what could only fail after the cluster was read."""
    if _ADDRESS.match(target):
        _branch(target, branch, access)
        return
    from reconciler.gitops.snapshots.snapshot_archive import SUFFIXES, is_archive

    path = Path(target)
    if not is_archive(path):
        raise InputError(f"--publish {target}: neither an address (https://…) nor a file that ends in {', '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise InputError(f"--publish {target}: directory not found: {path.parent}")


def publish(capture: "Capture", target: str, branch: str, access: "RemoteAccess") -> str:
    """Publish a redacted capture; what was done, in a line. Raises `InputError`."""
    files = capture.files()
    if not _ADDRESS.match(target):
        from reconciler.gitops.snapshots.snapshot_archive import write_archive

        try:
            size = write_archive(Path(target), files, capture.captured_seconds)
        except OSError as error:
            raise InputError(f"--publish {target}: {error.strerror or error}") from None
        return f"published to {target}, {size:,} bytes"
    from reconciler.gitops.git.fault import SourceError
    from reconciler.gitops.git.tree_names import RefusedNameError
    from reconciler.gitops.snapshots.publish import PublishError

    snapshot_branch = _branch(target, branch, access)
    try:
        done = snapshot_branch.publish(capture.cluster, files, capture.captured_seconds)
    except RefusedNameError as error:
        raise InputError(f"--cluster-name {capture.cluster!r} {error}") from None
    except (SourceError, PublishError) as error:
        raise InputError(f"--publish: {error}") from None
    return f"published to {done.ref} as {done.commit[:12]}, place {capture.cluster}, {done.stored_bytes:,} bytes"


def _branch(target: str, branch: str, access: "RemoteAccess") -> "SnapshotBranch":
    from reconciler.cli.inputs.remote_access import reached
    from reconciler.gitops.git.tree_names import RefusedNameError

    try:
        from reconciler.gitops.snapshots.publish import SnapshotBranch
    except ImportError:
        raise InputError(
            "git is not on the PATH, and --publish URL needs it. To a file (NAME.tar.gz) it works without git"
        ) from None
    remote, credentials = reached("--publish", target, access)
    try:
        return SnapshotBranch(remote, branch, credentials, timeout_seconds=float(access.git_timeout))
    except RefusedNameError as error:
        raise InputError(f"--publish-branch {error}") from None
