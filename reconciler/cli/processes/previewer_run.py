"""The previewer with everything that it works on: a host, a repository, a cluster."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from reconciler.cli.inputs.connections import connection_choice
from reconciler.cli.inputs.log_lines import LogChoice
from reconciler.cli.inputs.plan_inputs import one_cluster
from reconciler.cli.inputs.remote_access import RemoteAccess, reached
from reconciler.cli.inputs.running_loop import in_the_clear
from reconciler.cli.inputs.source_choice import cache_directory
from reconciler.cli.outputs.failure import EXIT_ERROR, EXIT_OK, InputError
from reconciler.cli.processes.live_pages import address, probe_server
from reconciler.cli.processes.preview_telling import PreviewTelling
from reconciler.control.log import Log
from reconciler.control.pages.round_probes import Pulse
from reconciler.control.previewer import Done, Forks, Line, Previewer, Settings
from reconciler.gitops.pull_requests.comment import HostCode, HostError
from reconciler.gitops.pull_requests.pull_request import job_order
from reconciler.gitops.sources.poll_times import Polling, next_wait_seconds
from reconciler.rendering.words.plain import plain

if TYPE_CHECKING:
    from reconciler.cluster.world import World
    from reconciler.control.previewer import Previews
    from reconciler.gitops.git.cache import GitCache
    from reconciler.gitops.pull_requests.open_requests import OpenRequest, RequestHost

_FAILED = frozenset({Done.FAILED})
_MOST_LABEL_CHARACTERS = {"github": 50, "gitlab": 255}
"""SOURCE: the hosts' answers to a longer name."""
_COMMIT_CHARACTERS = len("@") + 40


class PreviewerChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The options as given; names are those of the options."""

    host: str
    api_url: str | None
    repository: str
    git_url: str
    token_file: Path
    login: str
    branch: str
    path: str
    names: tuple[str, ...]
    cluster_name: str
    cluster_path: Path | None
    poll_seconds: int
    refresh_seconds: int
    forks: str
    fork_label: str
    git_cache: Path | None
    listen: str | None
    once: bool
    log: LogChoice = LogChoice()


def run_previewer(choice: PreviewerChoice, access: RemoteAccess, connection: Mapping[str, Any]) -> int:
    """Round after round until SIGTERM or SIGINT; with `once` one of them, whose exit code says whether it went well. Raises
    `InputError`."""
    journal = choice.log.opened()
    pulse = Pulse(time.monotonic)
    if choice.listen is not None:
        address("--listen", choice.listen)
    if choice.api_url is not None and in_the_clear(choice.api_url):
        raise InputError(f"--api-url {choice.api_url}: a token is not sent without TLS. Use https://")
    if len(choice.fork_label) + _COMMIT_CHARACTERS > _MOST_LABEL_CHARACTERS[choice.host]:
        most = _MOST_LABEL_CHARACTERS[choice.host] - _COMMIT_CHARACTERS
        raise InputError(
            f"--fork-label {choice.fork_label}: with @ and a commit it is too long for a label, which may have {most} characters"
        )
    previewer = _previewer(choice, access, connection, journal, pulse)
    if choice.once:
        lines = previewer.round()
        for line in lines:
            click.echo(plain(_shown(line)))
        return EXIT_ERROR if previewer.failures or any(line.done in _FAILED for line in lines) else EXIT_OK
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    server = probe_server(choice.listen, pulse, journal)
    where = {"port": server.port} if server is not None else {}
    journal.info(
        "Started", f"previews pull requests of {choice.repository} into {choice.branch}", cluster=choice.cluster_name, **where
    )
    polling = Polling(interval_seconds=float(choice.poll_seconds))
    chance = random.Random()  # noqa: S311 - spreads requests, keeps no secret
    while not ended.is_set():
        pulse.step()
        previewer.round()
        pulse.ended(previewer.failures)
        wait = max(next_wait_seconds(polling, previewer.failures, chance.random()), previewer.pause_seconds())
        pulse.rests(wait)
        ended.wait(wait)
    if server is not None:
        server.stop()
    journal.info("Stopped", "nothing is left to be undone")
    return EXIT_OK


def _previewer(choice: PreviewerChoice, access: RemoteAccess, connection: Mapping[str, Any], log: Log, pulse: Pulse) -> Previewer:
    from reconciler.gitops.git.remote import remote_ref
    from reconciler.gitops.git.tree_names import RefusedNameError, checked_root

    try:
        branch = remote_ref(choice.branch)
        root = checked_root(choice.path)
    except RefusedNameError as error:
        raise InputError(f"--branch {choice.branch!r} or --path {choice.path!r} {error}") from None
    keys = tuple(f"{choice.cluster_name}/{name}" for name in choice.names) or (choice.cluster_name,)
    telling = PreviewTelling(
        cache=_cache(choice, access), branch=branch, root=root, names=choice.names or (None,), keys=keys,
        cluster=_cluster(choice, connection),
    )  # fmt: skip
    settings = Settings(
        branch=choice.branch, keys=keys, refresh_seconds=choice.refresh_seconds, forks=Forks(choice.forks),
        fork_label=choice.fork_label, order=job_order(os.environ) if choice.once else None,
    )  # fmt: skip
    connect = _connector(choice)

    def begun() -> "RequestHost":
        # A round sees one cluster: it is read for the first pull request that needs it.
        telling.forget_cluster()
        return connect()

    def previews(request: "OpenRequest") -> "Previews":
        pulse.step()
        return telling.previews(request)

    return Previewer(settings, begun, previews, telling.base, lambda: int(time.time()), log)


def _cluster(choice: PreviewerChoice, connection: Mapping[str, Any]) -> "Callable[[], World]":
    given = connection_choice(connection)
    one_cluster(choice.cluster_path, given)
    if choice.cluster_path is not None:
        from reconciler.cli.inputs.cluster_files import load_world

        path = choice.cluster_path
        return lambda: msgspec.structs.replace(load_world(path), name=choice.cluster_name)
    from reconciler.cli.inputs.live_inputs import LiveInputs

    live = LiveInputs(given)
    return lambda: msgspec.structs.replace(live.world(own_clouds=True), name=choice.cluster_name)


def _cache(choice: PreviewerChoice, access: RemoteAccess) -> "GitCache":
    from reconciler.gitops.git.cache import Bounds, GitCache

    remote, credentials = reached("--git", choice.git_url, access)
    directory = choice.git_cache or cache_directory(None, f"previewer {remote.url}")
    return GitCache(directory, remote, credentials, Bounds(timeout_seconds=float(access.git_timeout)))


def _connector(choice: PreviewerChoice) -> "Callable[[], RequestHost]":
    """A client that is kept for as long as the token stays the same."""
    known: list[tuple[str, RequestHost]] = []

    def connect() -> "RequestHost":
        token = _token(choice.token_file)
        if not known or known[0][0] != token:
            known[:] = [(token, _host(choice, token))]
        return known[0][1]

    connect()

    def again() -> "RequestHost":
        # A secret that is being rotated may be gone for a moment.
        try:
            return connect()
        except InputError as error:
            raise HostError(HostCode.FORBIDDEN, error.message) from None

    return again


def _token(path: Path) -> str:
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--token-file {path}: {getattr(error, 'strerror', None) or 'no text'}") from None
    if not token or not token.isprintable() or " " in token:
        raise InputError(f"--token-file {path}: holds no token")
    return token


def _host(choice: PreviewerChoice, token: str) -> "RequestHost":
    try:
        if choice.host == "github":
            from reconciler.gitops.pull_requests.github import GitHubRepository

            url = choice.api_url or "https://api.github.com"
            return GitHubRepository(token, choice.repository, api_url=url, author=choice.login)
        from reconciler.gitops.pull_requests.gitlab import GitLabProject

        return GitLabProject(token, choice.repository, url=choice.api_url or "https://gitlab.com", author=choice.login)
    except ImportError:
        raise InputError("previewer needs the clients of code hosts: pip install 'nodegroup-reconciler[pullrequest]'") from None


def _shown(line: Line) -> str:
    parts = [f"#{line.number}", line.key, line.done.value, line.summary, line.url]
    return " ".join(part for part in parts if part)
