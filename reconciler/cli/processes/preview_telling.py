"""One pull request as what is told about it: its policy files fetched and read as data, both policies decided, the words."""

from collections.abc import Callable, Iterator, Sequence

from reconciler.cli.inputs.preview_sides import Side, committed_side
from reconciler.cli.outputs.failure import InputError
from reconciler.cli.outputs.preview_comment import Told, told_failure, told_preview, told_refusal
from reconciler.cli.processes.preview_made import chosen, made_preview
from reconciler.cluster.world import World
from reconciler.control.previewer import PreviewFailedError, Previews, Telling
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
from reconciler.gitops.git.cache import GitCache
from reconciler.gitops.git.repository import GitError, PolicyFiles, Repository, RepositoryError
from reconciler.gitops.pull_requests.comment import STAMP_ROOM
from reconciler.gitops.pull_requests.open_request import OpenRequest
from reconciler.gitops.sources.fault import FaultCode, failed
from reconciler.rendering.markdown.length import GITHUB_LIMIT


class PreviewTelling:
    """`branch` is a full ref name, `root` the place of the policies, `names` the policies (None: the only one) with one key
    each. `cluster` reads the World and may raise `InputError`."""

    def __init__(
        self,
        *,
        cache: GitCache,
        branch: str,
        root: str,
        names: Sequence[str | None],
        keys: Sequence[str],
        cluster: Callable[[], World],
    ) -> None:
        self._cache = cache
        self._branch = branch
        self._root = root
        self._names = tuple(names)
        self._keys = tuple(keys)
        self._cluster = cluster
        self._world: World | None = None

    def forget_cluster(self) -> None:
        """The next preview reads it anew."""
        self._world = None

    def previews(self, request: OpenRequest) -> Previews:
        """Fetch base and head, and look at what the change touches. Raises `SourceError`."""
        base, head = self._cache.fetch_both(self._branch, request.ref)
        repository = Repository(self._cache.directory)
        try:
            fork = self._merge_base(repository, base, head, request.ref)
            before, after = (repository.policy_files(commit, self._root) for commit in (fork, head))
        except (RepositoryError, GitError) as error:
            raise failed(FaultCode.DAMAGED, str(error), revision=head) from None
        names = (f"{request.branch}", f"#{request.number}")
        return Previews(
            head=head,
            touched=_content(before) != _content(after),
            tellings=lambda: tuple(self._tellings(before, after, names, merge_base=fork != base)),
        )

    def _merge_base(self, repository: Repository, base: str, head: str, ref: str) -> str:
        try:
            return repository.merge_base(base, head)
        except RepositoryError:
            # The branches went apart before what a first fetch brings.
            self._cache.fetch_both(self._branch, ref, deep=True)
            return repository.merge_base(base, head)

    def _tellings(
        self, before: PolicyFiles, after: PolicyFiles, names: tuple[str, str], *, merge_base: bool
    ) -> Iterator[Telling]:
        world = self._read_cluster()
        now = world.captured_seconds
        base = committed_side(before, names[0], now, merge_base=merge_base)
        head = committed_side(after, names[1], now, merge_base=False)
        for key, name in zip(self._keys, self._names, strict=True):
            told = _told(world, now, base, head, name)
            yield Telling(
                key=key, digest=told.digest, head=told.head, summary=told.summary, changed=told.changed or bool(head.errors),
                markdown=told.markdown(GITHUB_LIMIT - STAMP_ROOM),
            )  # fmt: skip

    def _read_cluster(self) -> World:
        if self._world is None:
            try:
                self._world = self._cluster()
            except InputError as error:
                raise PreviewFailedError(error.message) from None
        return self._world


def _told(world: World, now_seconds: int, base: Side, head: Side, name: str | None) -> Told:
    if head.errors:
        return told_refusal(base, head)
    try:
        policy = chosen(base, head, name)
    except InputError as error:
        return told_failure(head, error.message)
    return told_preview(made_preview(world, now_seconds, base, head, policy, name, DEFAULT_WORK_BUDGET, pictured=False))


def _content(found: PolicyFiles) -> tuple[object, ...]:
    return found.found, found.alone, dict(found.files), found.problems
