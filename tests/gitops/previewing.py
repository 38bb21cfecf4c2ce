"""Open pull requests of a local host, a real git server behind them, and a previewer over both."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from reconciler.cli.inputs.cluster_files import load_world
from reconciler.cli.processes.preview_telling import PreviewTelling
from reconciler.control.log import Log
from reconciler.control.previewer import Done, Forks, Line, Previewer, Settings
from reconciler.gitops.git.cache import Bounds, GitCache
from reconciler.gitops.git.remote import PROTOCOLS, checked_remote
from reconciler.gitops.git.remote_access import Access
from reconciler.gitops.pull_requests.github import GitHubRepository
from reconciler.gitops.pull_requests.gitlab import GitLabProject
from reconciler.gitops.pull_requests.open_requests import RequestHost
from tests.gitops.hosts import TOKEN, Host, github_host, gitlab_host
from tests.gitops.repositories import GitRepo, group
from tests.gitops.servers import http_host

NOW = 1_795_284_000
MINUTE = 60


class Place(NamedTuple):
    """A host of pull requests, the repository behind it, and where git serves it."""

    host: Host
    kind: str
    repo: GitRepo
    url: str
    tmp_path: Path

    def client(self, token: str = TOKEN) -> RequestHost:
        if self.kind == "github":
            return GitHubRepository(token, "team/policies", api_url=self.host.url, pause_seconds=0)
        return GitLabProject(token, "42", url=self.host.url)

    def push(self, number: int, files: dict[str, str | bytes | None], start: str = "main", **facts: object) -> str:
        """A pull request with a change, as the host keeps it."""
        self.repo.git("switch", "--quiet", "--detach", start)
        return self.show(number, self.repo.commit(files), **facts)

    def show(self, number: int, head: str, **facts: object) -> str:
        refs = "refs/pull" if self.kind == "github" else "refs/merge-requests"
        self.repo.git("update-ref", f"{refs}/{number}/head", head)
        self.host.open(number, head, **facts)  # type: ignore[arg-type]
        self.repo.git("switch", "--quiet", "--force", "main")
        return head


class Run:
    """A previewer over a place; `clock` is in Unix seconds, `world` counts how often the cluster was read."""

    def __init__(self, place: Place, cluster: Path, *, cluster_name: str = "small", **changed: object) -> None:
        self.clock = NOW
        self.reads = 0
        self.cluster = cluster
        self.log = io.StringIO()
        self.place = place
        token = str(changed.pop("token", TOKEN))
        root = str(changed.pop("root", "policies"))
        names: tuple[str | None, ...] = changed.pop("names", (None,))  # type: ignore[assignment]
        keys = tuple("/".join(part for part in (cluster_name, name) if part) for name in names)
        options = {"branch": "main", "keys": keys, "refresh_seconds": 15 * MINUTE, "forks": Forks.LABEL, "fork_label": "preview"}
        settings = Settings(**options | changed)  # type: ignore[arg-type]
        remote = checked_remote(place.url, PROTOCOLS)
        telling = self.telling = PreviewTelling(
            cache=GitCache(place.tmp_path / f"cache-{cluster_name}", remote, Access(), Bounds()), branch="refs/heads/main",
            root=root, names=names, keys=keys, cluster=self._world,
        )  # fmt: skip

        def connect() -> RequestHost:
            telling.forget_cluster()
            return place.client(token)

        self.previewer = Previewer(
            settings, connect, telling.previews, telling.base, lambda: self.clock, Log(self.log, lambda: self.clock)
        )

    def _world(self):
        self.reads += 1
        return load_world(self.cluster)

    def round(self) -> list[tuple[int, Done]]:
        return [(line.number, line.done) for line in self.previewer.round()]

    def lines(self) -> tuple[Line, ...]:
        return self.previewer.round()


@pytest.fixture(params=["github", "gitlab"])
def place(request: pytest.FixtureRequest, repo: GitRepo, tmp_path: Path) -> Iterator[Place]:
    with (github_host if request.param == "github" else gitlab_host)() as host, http_host(tmp_path) as git:
        yield Place(host, request.param, repo, f"{git.url}/repo/.git", tmp_path)


@pytest.fixture
def github(repo: GitRepo, tmp_path: Path) -> Iterator[Place]:
    with github_host() as host, http_host(tmp_path) as git:
        yield Place(host, "github", repo, f"{git.url}/repo/.git", tmp_path)


MORE = {"policies/general.yaml": group("general").replace("min: 1", "min: 4")}
