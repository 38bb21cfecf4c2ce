"""One pull request as what is told about it: its policy files fetched as data, and decided on within bounds."""

import hashlib
from collections.abc import Callable, Sequence

import msgspec

from reconciler.cli.outputs.failure import InputError
from reconciler.cli.processes.preview_bounds import PreviewBounds, PreviewTooDearError, bounded_tellings
from reconciler.cli.processes.preview_child import PreviewTask
from reconciler.cluster.world import World
from reconciler.control.previewer import PreviewFailedError, Previews, Telling
from reconciler.gitops.git.cache import GitCache
from reconciler.gitops.git.fault import FaultCode, failed
from reconciler.gitops.git.git_command import GitError
from reconciler.gitops.git.merged import merged
from reconciler.gitops.git.repository import PolicyFiles, Repository, RepositoryError
from reconciler.gitops.pull_requests.comment import base_stamp
from reconciler.gitops.pull_requests.open_requests import OpenRequest
from reconciler.policy.problems.problem import Problem


class _Merge(msgspec.Struct, frozen=True):
    """The policies `after` the merge, whether something had to be merged (`made`), and what conflicts, `conflicting`: there."""

    after: PolicyFiles
    made: bool
    conflicts: tuple[Problem, ...]
    conflicting: bool


class PreviewTelling:
    """`branch` is a full ref name, `root` the place of the policies, `names` the policies (None: the only one) with one key
    each. `cluster` reads the World and may raise `InputError`. `bounds` are for the previews of one pull request."""

    def __init__(
        self,
        *,
        cache: GitCache,
        branch: str,
        root: str,
        names: Sequence[str | None],
        keys: Sequence[str],
        cluster: Callable[[], World],
        bounds: PreviewBounds | None = None,
    ) -> None:
        self._cache = cache
        self._branch = branch
        self._root = root
        self._names = tuple(names)
        self._keys = tuple(keys)
        self._cluster = cluster
        self.bounds = bounds or PreviewBounds()
        self._world: World | None = None

    def forget_cluster(self) -> None:
        """The next preview reads it again."""
        self._world = None

    def base(self) -> str:
        """What pull requests are compared with now, as their comments say it. Raises `SourceError`."""
        commit = self._cache.fetch(self._branch)
        try:
            content = Repository(self._cache.directory).policy_files(commit, self._root).content
        except (RepositoryError, GitError) as error:
            raise failed(FaultCode.DAMAGED, str(error), revision=commit) from None
        return base_stamp(self._branch, content)

    def previews(self, request: OpenRequest) -> Previews:
        """Fetch base and head, and look at what merging them changes. Raises `SourceError`."""
        base, head = self._cache.fetch_both(self._branch, request.ref)
        repository = Repository(self._cache.directory)
        try:
            before = repository.policy_files(base, self._root)
            merge = self._merged(repository, base, head, request.ref)
        except (RepositoryError, GitError) as error:
            raise failed(FaultCode.DAMAGED, str(error), revision=head) from None

        def tellings() -> Sequence[Telling]:
            task = PreviewTask(
                world=self._read_cluster(), before=before, after=merge.after, branches=(request.branch, f"#{request.number}"),
                merged=merge.made, conflicts=merge.conflicts, keys=self._keys, names=self._names,
            )  # fmt: skip
            return self._tellings(task)

        touched = merge.conflicting or _content(before) != _content(merge.after)
        return Previews(head=head, touched=touched, tellings=tellings)

    def _merged(self, repository: Repository, base: str, head: str, ref: str) -> "_Merge":
        try:
            return self._merge(repository, base, head)
        except RepositoryError:
            # The branches went apart before what a first fetch brings.
            self._cache.fetch_both(self._branch, ref, deep=True)
            return self._merge(repository, base, head)

    def _merge(self, repository: Repository, base: str, head: str) -> "_Merge":
        with merged(repository, base, head) as result:
            return _Merge(
                after=result.policy_files(self._root), made=result.made, conflicts=result.problems(),
                conflicting=result.conflicts_at(self._root),
            )  # fmt: skip

    def _tellings(self, task: PreviewTask) -> Sequence[Telling]:
        try:
            return bounded_tellings(task, self.bounds)
        except PreviewTooDearError as error:
            return [_too_dear(key, task.after.revision, str(error)) for key in self._keys]

    def _read_cluster(self) -> World:
        if self._world is None:
            try:
                self._world = self._cluster()
            except InputError as error:
                raise PreviewFailedError(error.message) from None
        return self._world


def _too_dear(key: str, head: str, why: str) -> Telling:
    digest = f"sha256:{hashlib.sha256(why.encode()).hexdigest()}"
    markdown = f"## This change cannot be previewed\n\n{why}\n"
    return Telling(
        key=key,
        digest=digest,
        head=head,
        summary="This change cannot be previewed.",
        changed=True,
        markdown=markdown,
        cut_short=True,
    )


def _content(policy_files: PolicyFiles) -> tuple[object, ...]:
    return policy_files.exists, policy_files.alone, dict(policy_files.files), policy_files.problems, policy_files.unread
