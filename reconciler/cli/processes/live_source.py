"""Where the policy of the live loop comes from, as options say it."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.cli.inputs.connections import ConnectionChoice
from reconciler.cli.inputs.source_choice import SourceChoice, flux_source
from reconciler.cli.outputs.failure import InputError
from reconciler.values.two_sentences import two_sentences

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.control.log import Log
    from reconciler.control.policy.followed_source import FollowedSource
    from reconciler.control.policy.stored_policy import Parts
    from reconciler.gitops.sources.bounded_tree import TreeReader
    from reconciler.gitops.sources.source import Source
    from reconciler.gitops.sources.standing import SourceEvent, Standing
    from reconciler.kube.connection.api import Api
from reconciler.cli.processes.custom_resources_source import ClusterSource

GIT_POLL_SECONDS, FLUX_POLL_SECONDS, DIRECTORY_POLL_SECONDS = 60.0, 15.0, 5.0
DEFAULT_DIRECTORY = Path("policies")


class LiveSource:
    """A git repository, an artifact of Flux, a directory or a file. Raises `InputError` for what cannot be meant."""

    def __init__(
        self,
        policy: Path | None,
        choice: SourceChoice,
        *,
        keep: bool,
        tell: "Callable[[SourceEvent], None]",
        api: "Api | None" = None,
        cluster: str = "",
        shared: "tuple[Source, TreeReader] | None" = None,
    ) -> None:
        """`keep`: the last good policy outlasts this process. `tell` is given what happens at the source. `api` is the cluster in
        which Flux keeps its sources. `cluster` names the one whose policies are read where a tree is for many. `shared` is a
        source of several loops, and how this one reads its trees."""
        from reconciler.gitops.sources.bounded_tree import BoundedTreeReader
        from reconciler.values.cluster_identity import ClusterIdentity

        self._source: Source
        self._read: TreeReader
        self._choice = choice
        self._keep = keep
        self._tell = tell
        self.waits_for = "the policy's source was not read yet"
        self.awaited = False
        """A tree in which no policy can be named is taken for a mistake: --name says which one is waited for."""
        if shared is not None:
            self._source, self._read = shared
        else:
            self._source = tree_source(policy, choice, api)
            # One for the name and for what is followed: what was read for the one is known for the other.
            self._read = BoundedTreeReader(cluster=ClusterIdentity(name=cluster) if cluster else None)
        self.interval_seconds = GIT_POLL_SECONDS if choice.git_url is not None else DIRECTORY_POLL_SECONDS
        if api is not None:
            self.interval_seconds = FLUX_POLL_SECONDS

    def policy_name(
        self, wait: "Callable[[float], bool] | None", kept: "Callable[[str], tuple[str, ...]]" = lambda _: ()
    ) -> str | None:
        """The name that --name gives, else that of the policy found: Lease and state are called after it.

        If the source cannot be read yet, `wait` waits so many seconds. It returns true if the process is to end; the result is
        then None. Without `wait`, such a source is an `InputError`. `kept` gives the policies that were in force from a source.
        While the source has none that may be used and `kept` exactly one, that one goes on, as with --name.
        """
        from reconciler.control.policy.policy_source import FollowedPolicy
        from reconciler.gitops.sources.last_good import MemoryLastGoodStore

        if self._choice.policy_name:
            return self._choice.policy_name
        tell = self._tell if wait is not None else lambda _: None
        first = FollowedPolicy(self._source, MemoryLastGoodStore(), lambda: int(time.time()), tell=tell, read=self._read)
        while True:
            first.poll()
            if first.ready:
                return first.current().policy.name
            before = self._kept_names(kept)
            if len(before) == 1:
                return before[0]
            if wait is None:
                raise _unreadable(first.standing)
            fault = first.standing.fault
            self.waits_for = fault.sentence if fault is not None else f"{self._source.name} was not read yet"
            if before:
                self.waits_for += f". Several policies were in force from it. Choose one with --name ({', '.join(before)})"
            if wait(self.interval_seconds):
                return None

    def _kept_names(self, kept: "Callable[[str], tuple[str, ...]]") -> tuple[str, ...]:
        from reconciler.gitops.git.fault import SourceError
        from reconciler.gitops.sources.acceptance import restored
        from reconciler.gitops.sources.last_good import FileLastGoodStore, LastGoodError

        if self._choice.last_good is None:
            return kept(self._source.name) if self._keep else ()
        try:
            last_good = FileLastGoodStore(self._choice.last_good).load()
            if last_good is None or last_good.source != self._source.name:
                return ()
            return (restored(last_good, None, self._read).policy.name,)
        except (LastGoodError, SourceError, ValueError):
            # Told once the policy of this name is followed; here there is only no name in it.
            return ()

    def follow(
        self, name: str, state: "Parts", term: "Callable[[], int]", looked: "Callable[[Standing], None]"
    ) -> "FollowedSource":
        """The source as a live process takes it."""
        import random

        from reconciler.control.policy.followed_source import FollowedSource
        from reconciler.control.policy.policy_source import FollowedPolicy
        from reconciler.control.policy.stored_policy import FileBesideState, StateLastGoodStore
        from reconciler.gitops.sources.last_good import FileLastGoodStore, LastGoodStore, MemoryLastGoodStore
        from reconciler.gitops.sources.poll_times import Polling, next_wait_seconds

        store: LastGoodStore = StateLastGoodStore(state) if self._keep else MemoryLastGoodStore()
        if self._choice.last_good is not None:
            file = FileLastGoodStore(self._choice.last_good)
            store = FileBesideState(file, store) if self._keep else file
        polling = Polling(interval_seconds=self.interval_seconds)
        chance = random.Random()  # noqa: S311 - spreads requests, keeps no secret

        def policy() -> FollowedPolicy:
            return FollowedPolicy(
                self._source, store, lambda: int(time.time()), name=name, allow_no_groups=self._choice.allow_no_groups,
                tell=self._tell, read=self._read,
            )  # fmt: skip

        return FollowedSource(
            policy, term, lambda failures: next_wait_seconds(polling, failures, chance.random()), (looked,), self._tell
        )


def tree_source(policy: Path | None, choice: SourceChoice, api: "Api | None" = None) -> "Source":
    """What options name: an artifact of Flux in the cluster of `api`, a repository, a directory or a file.

    Raises `InputError`.
    """
    if api is not None:
        return flux_source(choice, api)
    return _source(policy, choice)


def _source(policy: Path | None, choice: SourceChoice) -> "Source":
    from reconciler.cli.inputs.source_choice import git_source
    from reconciler.gitops.sources.directory_source import DirectorySource
    from reconciler.gitops.sources.file_source import FileSource
    from reconciler.policy.tree import SUFFIXES

    if choice.git_url is not None:
        return git_source(choice)
    path = policy or DEFAULT_DIRECTORY
    if path.is_dir():
        return DirectorySource(path)
    if not path.exists():
        raise InputError(f"{path}: no such file or directory. Name the policy with --policy PATH or --git URL")
    if not path.name.lower().endswith(SUFFIXES):
        raise InputError(f"{path}: a policy file ends with {' or '.join(SUFFIXES)}")
    return FileSource(path)


def _unreadable(standing: "Standing") -> InputError:
    """Every problem with its place goes to stderr, as `validate` shows it; the error says what that means here."""
    import click

    from reconciler.cli.outputs.terminal import wants_colour
    from reconciler.rendering.printers.problem_lines import render_text

    fault = standing.fault
    if fault is not None and fault.problems:
        click.echo(render_text(fault.problems, color=wants_colour(sys.stderr)), err=True)
    return InputError(f"{standing.source}: {fault.message if fault is not None else 'it was not read'}")


def source_in_cluster(
    management: "Api",
    connection: ConnectionChoice,
    choice: SourceChoice,
    own: str,
    *,
    keep: bool,
    tell: "Callable[[SourceEvent], None]",
    cluster: str = "",
) -> LiveSource | ClusterSource:
    """An artifact of Flux, or custom resources: with targets of some namespaces, those of them and of `own`, the namespace in
    which this runs. `keep` and `tell` as for both, `cluster` as for the artifact."""
    if choice.flux_source is not None:
        return LiveSource(None, choice, keep=keep, tell=tell, api=management, cluster=cluster)
    namespaces = connection.target_namespaces
    if namespaces:
        namespaces = tuple(sorted({own, *namespaces}))
    return ClusterSource(management, namespaces, choice, own_namespace=own, keep=keep, tell=tell)


def say(journal: "Log", event: "SourceEvent") -> None:
    """One line, and one for each problem of a policy that was refused, with its place."""
    (journal.warning if event.type == "Warning" else journal.info)(event.reason, event.message)
    for problem in event.problems:
        message = two_sentences(f"{problem.place}: {problem.message}", problem.hint)
        journal.warning(problem.code, message, place=str(problem.place))
