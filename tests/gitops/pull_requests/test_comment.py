"""One comment for one cluster, against servers that behave as those of six hosts do."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial

import pytest

from reconciler.gitops.pull_requests.comment import (
    CommentHost,
    CommitStatus,
    HostCode,
    HostError,
    Message,
    Posted,
    body,
    marker,
    post,
)
from reconciler.gitops.pull_requests.github import GitHubPullRequest
from reconciler.gitops.pull_requests.gitlab import GitLabMergeRequest
from reconciler.gitops.pull_requests.rest_forges import (
    AzurePullRequest,
    BitbucketCloudPullRequest,
    BitbucketServerPullRequest,
    GiteaPullRequest,
    RestForge,
)
from tests.gitops.hosts import READ_ONLY, TOKEN, Host, github_host, gitlab_host
from tests.gitops.rest_hosts import AZURE, CLOUD, GITEA, SERVER, rest_host

FIRST = Message(key="prod", digest="sha256:1", head="a" * 40, order=10, markdown="## one\n")
SECOND = Message(key="prod", digest="sha256:2", head="b" * 40, order=11, markdown="## two\n")


def github(host: Host, token: str = TOKEN, **options: object) -> GitHubPullRequest:
    """The client of pull request 7."""
    return GitHubPullRequest(token, "team/policies", 7, api_url=host.url, pause_seconds=0, **options)  # type: ignore[arg-type]


def gitlab(host: Host, token: str = TOKEN) -> GitLabMergeRequest:
    """The client of merge request 7."""
    return GitLabMergeRequest(token, "42", 7, url=host.url, web_url="https://gitlab.example.org/x/-/merge_requests/7")


def rest(forge: type[RestForge], base: str, page: str) -> Callable[..., RestForge]:
    """A client of pull request 7 over REST."""

    def client(host: Host, token: str = TOKEN) -> RestForge:
        collection = f"{host.url}/org" if forge is AzurePullRequest else ""
        return forge(token, f"{host.url}{base}", 7, web_url=page, collection=collection, pause_seconds=0)

    return client


HOSTS: dict[str, tuple[Callable[[], AbstractContextManager[Host]], Callable[..., CommentHost]]] = {
    "github": (github_host, github),
    "gitlab": (gitlab_host, gitlab),
    "gitea": (partial(rest_host, "gitea"), rest(GiteaPullRequest, GITEA, "")),
    "cloud": (partial(rest_host, "cloud"), rest(BitbucketCloudPullRequest, CLOUD, "https://bitbucket.example.org/7")),
    "server": (partial(rest_host, "server"), rest(BitbucketServerPullRequest, SERVER, "https://bitbucket.example.org/7")),
    "azure": (partial(rest_host, "azure"), rest(AzurePullRequest, AZURE, "https://azure.example.org/7")),
}


@pytest.fixture(params=HOSTS)
def both(request: pytest.FixtureRequest) -> Iterator[tuple[Host, CommentHost]]:
    """A server and its client."""
    server, client = HOSTS[request.param]
    with server() as host:
        host.kind = request.param
        yield host, client(host)


def other(host: Host, token: str) -> CommentHost:
    """A client of the same server with another token."""
    return HOSTS[host.kind][1](host, token)


def texts(host: Host) -> list[str]:
    """What the comments say, without their hidden lines."""
    return [
        re.sub(r"^(?:<!-- reconciler|\[//\]: # \(reconciler).*\n", "", one["body"], flags=re.MULTILINE) for one in host.comments
    ]


def test_written_once_then_updated(both: tuple[Host, CommentHost]):
    """One comment; its address is where people read it."""
    host, client = both
    host.add("ada", "looks good")
    first = post(client, FIRST)
    assert (first.posted, texts(host)) == (Posted.CREATED, ["looks good", "## one\n"])
    second = post(client, SECOND)
    assert (second.posted, texts(host)) == (Posted.UPDATED, ["looks good", "## two\n"])
    assert first.url == second.url
    assert first.url.startswith("https://")
    assert first.url.endswith("2")


def test_left_alone_when_nothing_changed(both: tuple[Host, CommentHost]):
    """The same words from another commit: not one write."""
    host, client = both
    post(client, FIRST)
    written = host.writes()
    same = Message(key="prod", digest="sha256:1", head="c" * 40, order=12, markdown="## one\n")
    assert post(client, same).posted is Posted.UNCHANGED
    assert (host.writes(), texts(host)) == (written, ["## one\n"])


def test_a_slow_run_does_not_overwrite_a_later_one(both: tuple[Host, CommentHost]):
    """What run 11 wrote stays when run 10 comes after it."""
    host, client = both
    post(client, SECOND)
    assert post(client, FIRST).posted is Posted.NEWER
    assert texts(host) == ["## two\n"]


def test_clusters_have_comments_of_their_own(both: tuple[Host, CommentHost]):
    """Also where one name begins with the other."""
    host, client = both
    for key in ("prod", "prod-eu", "pro"):
        message = Message(key=key, digest="sha256:1", head="", order=1, markdown=f"{key}\n")
        assert post(client, message).posted is Posted.CREATED
    assert texts(host) == ["prod\n", "prod-eu\n", "pro\n"]


def test_found_on_a_later_page(both: tuple[Host, CommentHost]):
    """A hundred and twenty comments of others in front of it."""
    host, client = both
    for number in range(120):
        host.add("ada", f"comment {number}")
    post(client, FIRST)
    assert post(client, SECOND).posted is Posted.UPDATED
    assert len(host.comments) == 121


def test_comments_of_others_are_not_taken_for_ours(both: tuple[Host, CommentHost]):
    """Somebody who copies the marker gets neither our text nor our silence."""
    host, client = both
    host.add("mallory", body(FIRST))
    host.add("reconciler-bot", f"quoting {marker('prod')}")
    assert post(client, FIRST).posted is Posted.CREATED
    assert len(host.comments) == 3


def test_comments_of_nobody(both: tuple[Host, CommentHost]):
    """Somebody whose account was deleted is nobody, also where the marker is copied; so is who says nothing."""
    host, client = both
    host.add("", body(FIRST))
    host.add("reconciler-bot", None)
    assert post(client, FIRST).posted is Posted.CREATED
    assert len(host.comments) == 3


def test_two_of_ours_become_one(both: tuple[Host, CommentHost]):
    """Two runs at once may each have written one: the first stays."""
    host, client = both
    first = host.add("reconciler-bot", body(FIRST))
    host.add("reconciler-bot", body(FIRST))
    assert post(client, SECOND).posted is Posted.UPDATED
    assert [comment["id"] for comment in host.comments] == [first]
    assert texts(host) == ["## two\n"]


def test_edited_by_a_person(both: tuple[Host, CommentHost]):
    """With marker but without stamp the comment is ours, and written anew."""
    host, client = both
    host.add("reconciler-bot", f"{marker('prod')}\nI like trains")
    assert post(client, FIRST).posted is Posted.UPDATED
    assert texts(host) == ["## one\n"]


def test_token_that_may_only_read(both: tuple[Host, CommentHost]):
    """As on a pull request from a fork: a code of its own."""
    host, _ = both
    client = other(host, READ_ONLY)
    with pytest.raises(HostError) as refused:
        post(client, FIRST)
    assert (refused.value.code, host.comments) == (HostCode.FORBIDDEN, [])


def test_wrong_token(both: tuple[Host, CommentHost]):
    """Refused without repeating the token."""
    host, _ = both
    client = other(host, "wr0ng")
    with pytest.raises(HostError) as refused:
        post(client, FIRST)
    assert refused.value.code is HostCode.FORBIDDEN
    assert "wr0ng" not in str(refused.value)


def test_server_that_fails_for_a_while(both: tuple[Host, CommentHost], monkeypatch: pytest.MonkeyPatch):
    """Two errors of the server, then it works."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    host, client = both
    host.failures = [(502, {}, "bad gateway"), (503, {}, "unavailable")]
    assert post(client, FIRST).posted is Posted.CREATED


def test_rate_limit_that_passes(both: tuple[Host, CommentHost], monkeypatch: pytest.MonkeyPatch):
    """The host asks to wait a second; then it works."""
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    host, client = both
    host.failures = [(429, {"Retry-After": "1"}, "You have exceeded a secondary rate limit")]
    assert post(client, FIRST).posted is Posted.CREATED
    assert 1 in waited


def test_ten_pushes_leave_one_comment_and_every_host_has_the_same(both: tuple[Host, CommentHost]):
    """Folds and small print are the same words where a host does not show HTML."""
    host, client = both
    fold = "<details><summary>two nodes</summary>\n\n- node a\n- node b\n\n</details>\n"
    for push in range(10):
        text = f"## Plan {push}\n\n{fold}\n<sub>{push}</sub>\n"
        post(client, Message(key="prod", digest=f"sha256:{push}", head=f"{push}" * 40, order=push, markdown=text))
    (said,) = texts(host)
    assert re.sub(r"</?\w+>|[*#-]", " ", said).split() == ["Plan", "9", "two", "nodes", "node", "a", "node", "b", "9"]
    assert post(client, Message(key="prod", digest="sha256:9", head="f" * 40, order=11, markdown=text)).posted is Posted.UNCHANGED


@pytest.mark.parametrize(
    ("failed", "words"), [(True, {"failure", "failed", "FAILED"}), (False, {"success", "succeeded", "SUCCESSFUL"})]
)
def test_the_commit_has_a_status_with_the_headline(both: tuple[Host, CommentHost], *, failed: bool, words: set[str]):
    """One of its own for each cluster, and never longer than the host takes."""
    host, client = both
    mark = CommitStatus(
        commit="a" * 40, context="reconciler/prod", description="Plan: " + "x" * 300, failed=failed, url="https://e.org"
    )
    client.set_status(mark)
    (status,) = host.pulls
    assert status["state"] in words
    assert status["description"].startswith("Plan: ")
    assert len(status["description"]) <= 255
    assert "prod" in str(status.get("context") or status.get("name") or status.get("key"))


@pytest.mark.parametrize("token", [READ_ONLY, "wr0ng"])
def test_a_status_that_may_not_be_set(both: tuple[Host, CommentHost], token: str):
    """A code of its own, as for comments."""
    host, _ = both
    with pytest.raises(HostError) as refused:
        other(host, token).set_status(CommitStatus(commit="a" * 40, context="reconciler/prod", description="x", failed=False))
    assert (refused.value.code, host.pulls) == (HostCode.FORBIDDEN, [])


def test_a_long_text_fits_each_host(both: tuple[Host, CommentHost]):
    """Ours is cut to the limit of the host, which takes it."""
    host, client = both
    long = Message(key="prod", digest="d", head="", order=1, markdown="x\n" * 60_000)
    assert post(client, long).posted is Posted.CREATED
    assert len(host.comments[0]["body"]) <= (32_768 if host.kind in ("cloud", "server") else 65_536)


def test_the_next_page_is_on_the_same_server(monkeypatch: pytest.MonkeyPatch):
    """An answer cannot send the token elsewhere."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    with rest_host("cloud") as host:
        client = HOSTS["cloud"][1](host)
        for number in range(60):
            host.add("ada", f"comment {number}")
        host.url = "http://elsewhere.example.org"
        with pytest.raises(HostError) as refused:
            post(client, FIRST)
    assert refused.value.code is HostCode.REFUSED


def test_pull_request_that_is_not_there():
    """Said as such."""
    with github_host() as host, pytest.raises(HostError) as missing:
        post(GitHubPullRequest(TOKEN, "team/other", 7, api_url=host.url, pause_seconds=0), FIRST)
    assert missing.value.code is HostCode.NOT_FOUND


def test_rate_limit_that_lasts_too_long(monkeypatch: pytest.MonkeyPatch):
    """An hour is not waited for in a job: a minute at a time, three times."""
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    with github_host() as host:
        host.failures = [(403, {"Retry-After": "3600"}, "You have exceeded a secondary rate limit")] * 4
        with pytest.raises(HostError) as limited:
            post(github(host), FIRST)
    assert limited.value.code is HostCode.RATE_LIMITED
    assert max(waited) <= 60


def test_token_of_a_workflow_run():
    """It cannot ask who it is and writes under the bot's login, which is how its comment is found again."""
    with github_host() as host:
        host.login = None
        assert post(github(host), FIRST).posted is Posted.CREATED
        assert post(github(host), SECOND).posted is Posted.UPDATED
        assert [comment["author"] for comment in host.comments] == ["github-actions[bot]"]


def test_host_counts_characters():
    """What is over the limit is refused by the host with a code of its own; our bodies never are."""
    long = Message(key="prod", digest="d", head="", order=1, markdown="x\n" * 40_000)
    with github_host() as host:
        with pytest.raises(HostError) as refused:
            github(host).create("x" * 65_537)
        assert refused.value.code is HostCode.TOO_LONG
        assert post(github(host), long).posted is Posted.CREATED
        assert len(host.comments[0]["body"]) <= 65_536


def test_nobody_answers():
    """A host that is not there."""
    client = GitHubPullRequest(TOKEN, "team/policies", 7, api_url="http://127.0.0.1:1", pause_seconds=0)
    with pytest.raises(HostError) as silent:
        post(client, FIRST)
    assert silent.value.code is HostCode.UNREACHABLE


@pytest.mark.parametrize("key", ["a-->b", "a\n<script>", "-->", "\u202e", "x" * 30])
def test_key_cannot_end_the_marker(key: str):
    """Whatever a cluster is called, the first line is one comment."""
    line = marker(key)
    assert line.startswith("<!-- reconciler-preview ")
    assert line.endswith(" -->")
    assert (line.count("-->"), line.isascii(), "\n" in line) == (1, True, False)


def test_cut_text_closes_what_is_open():
    """A fence and two folds are closed, the reader is told, and marker and stamp are whole."""
    text = "<details><summary>a</summary>\n\n<details><summary>b</summary>\n\n````diff\n" + "+ line\n" * 200
    cut = body(Message(key="k", digest="d", head="", order=1, markdown=text), 900)
    assert len(cut) <= 900
    assert cut.startswith(marker("k"))
    assert cut.index("\n````\n") < cut.index("</details>")
    assert cut.count("</details>") == 2
    assert "ends here" in cut.rstrip().splitlines()[-1]


def test_length_counts_as_hosts_may():
    """Characters outside the basic plane count twice."""
    assert len(body(Message(key="k", digest="d", head="", order=1, markdown="\U0001f600\n" * 400), 900)) <= 700
