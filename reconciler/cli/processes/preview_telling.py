"""One pull request as what is told about it: its policy files fetched as data, and decided on within bounds."""

import hashlib
import math
from collections.abc import Callable, Sequence

import msgspec

from reconciler.cli.outputs.failure import InputError
from reconciler.cli.processes.preview_child import PreviewTask
from reconciler.cluster.world import World
from reconciler.control.previewer import PreviewFailedError, Previews, Telling
from reconciler.gitops.bounded_child import Bound, ChildBounds, ChildTooDearError, child_answer
from reconciler.gitops.git.cache import GitCache
from reconciler.gitops.git.fault import FaultCode, failed
from reconciler.gitops.git.repository import GitError, PolicyFiles, Repository, RepositoryError
from reconciler.gitops.pull_requests.pull_request import OpenRequest

# What the previews of one pull request may take, and the child process that is held to it.

_MIB = 1 << 20
_CHILD = "reconciler.cli.processes.preview_child"


class PreviewBounds(msgspec.Struct, frozen=True, kw_only=True):
    """For all policies of one pull request together. `seconds` by the wall clock."""

    seconds: float = 120
    memory_bytes: int = 1024 * _MIB
    output_bytes: int = 4 * _MIB


class PreviewTooDearError(Exception):
    """A bound was met; the sentence says which."""


def bounded_tellings(task: PreviewTask, bounds: PreviewBounds) -> list[Telling]:
    """What the child makes of `task`. Raises `PreviewTooDearError` and `ChildError`."""
    held = ChildBounds(
        seconds=bounds.seconds, cpu_seconds=math.ceil(bounds.seconds), memory_bytes=bounds.memory_bytes,
        output_bytes=bounds.output_bytes,
    )  # fmt: skip
    try:
        return msgspec.json.decode(child_answer(_CHILD, task, held), type=list[Telling])
    except ChildTooDearError as error:
        raise PreviewTooDearError(_sentence(error.bound, bounds)) from None


def _sentence(bound: Bound, bounds: PreviewBounds) -> str:
    match bound:
        case Bound.TIME:
            return f"Its preview took more than {bounds.seconds:g} s and was ended."
        case Bound.MEMORY:
            return f"Its preview took more than {bounds.memory_bytes // _MIB} MiB of memory and was ended."
        case Bound.OUTPUT:
            return f"Its preview is longer than {bounds.output_bytes // _MIB} MiB and was ended."


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
            tellings=lambda: self._tellings(before, after, names, merge_base=fork != base),
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
    ) -> Sequence[Telling]:
        task = PreviewTask(
            world=self._read_cluster(), before=before, after=after, branches=names, merge_base=merge_base, keys=self._keys,
            names=self._names,
        )  # fmt: skip
        try:
            return bounded_tellings(task, self.bounds)
        except PreviewTooDearError as error:
            return [_too_dear(key, after.revision, str(error)) for key in self._keys]

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


def _content(found: PolicyFiles) -> tuple[object, ...]:
    return found.found, found.alone, dict(found.files), found.problems, found.unread
