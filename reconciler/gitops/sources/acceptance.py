"""May a fetched tree replace the policy in force? All or nothing."""

import msgspec

from reconciler.gitops.git.fault import Fault, FaultCode, SourceError, failed
from reconciler.gitops.sources.bounded_tree import TreeReader
from reconciler.gitops.sources.last_good import LastGood
from reconciler.gitops.sources.source import Fetched
from reconciler.policy.documents import PolicySet
from reconciler.policy.neighbours import InForce, Neighbour
from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.problems.problem import Problem, Severity
from reconciler.rendering.words.wording import count


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """A policy for decisions, what a restart needs to restore it, its warnings, and the files next to it that were skipped."""

    policy: PolicySet
    last_good: LastGood
    warnings: tuple[Problem, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()


def accepted(
    fetched: Fetched,
    source: str,
    name: str | None,
    now_seconds: int,
    before: PolicySet | None,
    read: TreeReader,
    *,
    in_force: InForce | None = None,
    allow_no_groups: bool = False,
) -> Accepted:
    """Judge a tree against the policy in force, `before` (None: there is none). `read` parses the tree. `name` chooses one of
    several policies. `in_force` has the documents that this source had: an unreadable file must not make one of them disappear.

    Raises `SourceError`: InvalidPolicy with every problem and its place, NoPolicy, or NoGroups. A policy without groups would
    release all previous groups. It is more often a mistake in a path or a merge than intended.
    """
    if fetched.problems:
        raise _invalid(fetched.problems, fetched.revision)
    tree = read(fetched.files, now_seconds, fetched.revision, fetched.unread, in_force)
    problems = _placed(fetched, now_seconds, read, in_force) if tree.problems else ()
    if any(problem.severity is Severity.ERROR for problem in problems):
        raise _invalid(problems, fetched.revision)
    policy = _chosen(tree, name, fetched.revision)
    if before is not None and _groups(before) and not _groups(policy) and not allow_no_groups:
        raise failed(
            FaultCode.NO_GROUPS,
            f"no NodeGroup and no discovery is left. There {_were(before)}",
            "to release all groups, allow it with --allow-no-groups",
            fetched.revision,
        )
    last_good = LastGood(
        source=source, revision=fetched.revision, root=fetched.root, files=dict(fetched.files), read_seconds=now_seconds,
        signer=fetched.signer, unread=tuple(dict.fromkeys(one.path for one in tree.neighbours if one.unread)),
    )  # fmt: skip
    return Accepted(policy=policy, last_good=last_good, warnings=problems, neighbours=tree.neighbours)


def restored(last_good: LastGood, name: str | None, read: TreeReader) -> PolicySet:
    """The policy that was in force before a restart, read as it was then. Raises `SourceError` if it reads differently now, as
    after a version change."""
    tree = read(last_good.files, last_good.read_seconds, last_good.revision)
    if any(problem.severity is Severity.ERROR for problem in tree.problems):
        raise _invalid(tree.problems, last_good.revision)
    return _chosen(tree, name, last_good.revision)


def _placed(fetched: Fetched, now_seconds: int, read: TreeReader, in_force: InForce | None) -> tuple[Problem, ...]:
    """The problems, with paths from the top of the source, which people can open."""
    prefix = f"{fetched.root}/" if fetched.root else ""
    files = {f"{prefix}{path}": data for path, data in fetched.files.items()}
    unread = tuple(msgspec.structs.replace(one, path=f"{prefix}{one.path}") for one in fetched.unread)
    before = in_force.moved(lambda path: f"{prefix}{path}") if in_force is not None else None
    return read(files, now_seconds, None, unread, before).problems


def _invalid(problems: tuple[Problem, ...], revision: str) -> SourceError:
    errors = tuple(problem for problem in problems if problem.severity is Severity.ERROR)
    message = f"{short_revision(revision)} has {count(len(errors), 'error')}"
    return SourceError(Fault(code=FaultCode.INVALID_POLICY, message=message, revision=revision, problems=errors))


def _chosen(tree: PolicyTree, name: str | None, revision: str) -> PolicySet:
    names = ", ".join(entry.policy.name for entry in tree.sets)
    if name is None and len(tree.sets) == 1:
        return tree.sets[0]
    for entry in tree.sets:
        if entry.policy.name == name:
            return entry
    if not tree.sets and tree.for_many:
        message = f"no NodeGroupPolicy of {short_revision(revision)} applies in this cluster"
        raise failed(FaultCode.NO_POLICY, message, "check --cluster-name, and spec.clusters of the policies", revision)
    if not tree.sets:
        message = f"no NodeGroupPolicy in {count(tree.files, 'policy file')} of {short_revision(revision)}"
        raise failed(FaultCode.NO_POLICY, message, "check --path", revision)
    if name is None:
        message = f"{short_revision(revision)} has several policies"
        raise failed(FaultCode.NO_POLICY, message, f"choose one with --name ({names})", revision)
    raise failed(FaultCode.NO_POLICY, f"{short_revision(revision)} has no policy {name}", f"it has {names}", revision)


def short_revision(revision: str) -> str:
    """A revision in a sentence: the first 12 digits of an id, other names whole."""
    if revision.startswith("sha256:"):
        return revision[:19]
    return f"commit {revision[:12]}" if len(revision) in (40, 64) else revision or "the tree"


def _groups(policy: PolicySet) -> int:
    return len(policy.groups) + len(policy.policy.discovery)


def _were(policy: PolicySet) -> str:
    return f"{'was' if _groups(policy) == 1 else 'were'} {_groups(policy)}"
