"""What a fork, a neighbour under our own login and a small file of much can do to the previewer and to comments."""

import gzip
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from reconciler.cli.inputs.cluster_files import load_world
from reconciler.cli.outputs.failure import InputError
from reconciler.control.previewer import Done, Forks
from reconciler.gitops.git.repository import Repository, RepositoryError
from reconciler.gitops.pull_requests.comment import CommentHost, Message, Posted, body, marker, post
from reconciler.gitops.snapshots.committed_snapshot import committed_files
from tests.gitops.conftest import cluster, first_commit, repo  # noqa: F401 - fixtures
from tests.gitops.hosts import TOKEN, Host, github_host
from tests.gitops.previewing import Place, Run, github, place  # noqa: F401 - fixtures
from tests.gitops.pull_requests.test_comment import gitlab
from tests.gitops.repositories import GitRepo, group

MORE: dict[str, str | bytes | None] = {"policies/general.yaml": group("general").replace("min: 1", "min: 4")}
OURS = Message(key="prod", digest="sha256:1", head="a" * 40, order=5_000, markdown="## ours\nall of it\n")


@pytest.mark.parametrize(
    ("label", "done"),
    [
        ("preview", Done.FORK), ("preview@", Done.FORK), ("preview@HEAD8", Done.FORK), ("other@HEAD40", Done.FORK),
        ("preview@OLD40", Done.FORK), ("preview@HEAD12", Done.FORK), ("preview@HEAD40", Done.CREATED),
    ],
)  # fmt: skip
def test_a_label_lets_one_commit_in(place: Place, cluster: Path, label: str, done: Done):  # noqa: F811
    """What is pushed after somebody has looked is another commit: the label of before does not count for it."""
    old = place.push(7, MORE, fork=True)
    head = place.push(8, {**MORE, "policies/x.yaml": group("x")}, start=old, fork=True)
    place.host.pulls[:] = [pull for pull in place.host.pulls if pull["number"] == 8]
    for name, digits in (("HEAD8", 8), ("HEAD12", 12), ("HEAD40", 40)):
        label = label.replace(name, head[:digits])
    place.host.pulls[0]["labels"] = [label.replace("OLD40", old)]
    assert Run(place, cluster, forks=Forks.LABEL).round() == [(8, done)]


@pytest.fixture(params=["github", "gitlab"])
def both(request: pytest.FixtureRequest) -> Iterator[tuple[Host, CommentHost]]:
    from reconciler.gitops.pull_requests.github import GitHubPullRequest
    from tests.gitops.hosts import gitlab_host

    with (github_host if request.param == "github" else gitlab_host)() as host:
        client = GitHubPullRequest(TOKEN, "team/policies", 7, api_url=host.url, pause_seconds=0)
        yield host, client if request.param == "github" else gitlab(host)


@pytest.mark.parametrize("order", ["9" * 17, "9" * 18, "9" * 5_000, "-1", "\u0661"])
def test_a_stamp_of_the_far_future_does_not_silence_us(both: tuple[Host, CommentHost], order: str):
    """Another workflow writes as the same bot, with our marker and an order that no run will reach, or that is no number."""
    host, client = both
    stamp = f"<!-- reconciler-stamp digest=sha256:1 head={'a' * 40} order={order} -->"
    host.add("reconciler-bot", f"{marker('prod')}\n{stamp}\n## all is well\n")
    assert post(client, OURS).posted is Posted.UPDATED
    assert host.comments[0]["body"] == body(OURS)


def test_a_copied_digest_does_not_leave_another_text_alone(both: tuple[Host, CommentHost]):
    """Marker and stamp are ours to the letter, the text is not."""
    host, client = both
    host.add("reconciler-bot", body(OURS).replace("all of it", "nothing to see"))
    assert post(client, OURS).posted is Posted.UPDATED
    assert host.comments[0]["body"] == body(OURS)
    assert post(client, OURS).posted is Posted.UNCHANGED


def test_a_forged_time_does_not_stop_previews(place: Place, cluster: Path):  # noqa: F811
    """A comment that says to be of next year is not taken for a preview that was just made."""
    head = place.push(7, MORE)
    message = Message(key="small", digest="sha256:1", head=head, order=9_999_999_999, markdown="## all is well\n")
    place.host.add(place.host.login or "github-actions[bot]", body(message))
    assert Run(place, cluster).round() != [(7, Done.RECENT)]


def test_a_small_file_does_not_become_a_large_one(tmp_path: Path):
    """96 MiB in 0.1 MiB, as a file, in a commit and in an archive: a sentence instead of memory."""
    zeros = gzip.compress(bytes(96 << 20), compresslevel=9)
    assert len(zeros) < 1 << 20
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "all.json.gz").write_bytes(zeros)
    with pytest.raises(InputError, match="unpacks to more than 64 MiB"):
        load_world(tmp_path / "cluster")
    held = GitRepo(tmp_path / "repo")
    held.commit({"snapshot/all.json.gz": zeros})
    read = Repository.at(held.root)
    with pytest.raises(RepositoryError, match="its unpacked content exceeds the size limit"):
        committed_files(read, read.commit("HEAD"), "snapshot")
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo("all.json")
        entry.size = 96 << 20
        archive.addfile(entry, BytesIO(bytes(entry.size)))
    (tmp_path / "a.tar.gz").write_bytes(packed.getvalue())
    with pytest.raises(InputError, match="more than 10000 files or 64 MiB"):
        load_world(tmp_path / "a.tar.gz")
