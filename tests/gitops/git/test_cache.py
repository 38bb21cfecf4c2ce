"""Fetching from real servers, good and hostile ones."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from random import Random

import pytest

from reconciler.gitops.git import cache as git_cache
from reconciler.gitops.git.cache import Bounds, GitCache
from reconciler.gitops.git.fault import FaultCode, SourceError
from reconciler.gitops.git.remote import PROTOCOLS, checked_remote
from reconciler.gitops.git.remote_access import Access
from reconciler.gitops.git.repository import Repository
from tests.gitops.repositories import BASE, POLICY, GitRepo
from tests.gitops.servers import certificate, git_daemon, http_host, served

MAIN = "refs/heads/main"
Cache = Callable[..., GitCache]


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """A cache of an address in a new directory."""

    def make(url: str, directory: str = "cache", **options: object) -> GitCache:
        access = options.pop("access", Access())
        assert isinstance(access, Access)
        return GitCache(tmp_path / directory, checked_remote(url, PROTOCOLS), access, Bounds(**options))  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A directory that `git daemon` serves, and its address."""
    root = tmp_path_factory.mktemp("daemon")
    with git_daemon(root) as url:
        yield root, url


def fault_of(cache: GitCache, ref: str = MAIN) -> SourceError:
    """The error of a fetch."""
    with pytest.raises(SourceError) as failed:
        cache.fetch(ref)
    return failed.value


def noise(size: int) -> bytes:
    """Bytes that do not compress."""
    return os.urandom(size)


def test_fetch_over_git_daemon(daemon: tuple[Path, str], cache: Cache):
    """The tip of one ref, its tree, nothing of other refs and tags; the next fetch brings the next tip."""
    root, url = daemon
    repo = GitRepo(root / "plain")
    first = repo.commit(BASE)
    repo.git("tag", "v1")
    repo.branch("other")
    repo.commit({"policies/other.yaml": "x"})
    found = cache(f"{url}/plain/.git")
    assert found.fetch(MAIN) == first
    names = {name.removeprefix("policies/") for name in BASE}
    assert set(Repository(found.directory).policy_files(first, "policies").files) == names
    refs = (found.directory / "packed-refs").read_text() if (found.directory / "packed-refs").exists() else ""
    loose = [path.name for path in (found.directory / "refs").rglob("*") if path.is_file()]
    assert (refs, loose) == ("", ["tip"])
    repo.git("switch", "--quiet", "main")
    second = repo.commit({"policies/prod.yaml": POLICY + "  # more\n"})
    assert found.fetch(MAIN) == second
    assert found.descends(second, first, MAIN)


def test_ref_that_is_not_there(daemon: tuple[Path, str], cache: Cache):
    """A missing branch, and a missing repository."""
    root, url = daemon
    GitRepo(root / "refs").commit(BASE)
    assert fault_of(cache(f"{url}/refs/.git"), "refs/heads/nowhere").fault.code is FaultCode.REF_NOT_FOUND
    assert fault_of(cache(f"{url}/nowhere", "other")).fault.code is FaultCode.UNREACHABLE


def test_a_ref_that_is_no_commit(daemon: tuple[Path, str], cache: Cache):
    """A tag of a file."""
    root, url = daemon
    repo = GitRepo(root / "blob")
    repo.commit(BASE)
    repo.git("tag", "file", repo.blob(b"x"))
    assert "is not a commit" in str(fault_of(cache(f"{url}/blob/.git"), "refs/tags/file"))


def test_a_tip_descends_from_itself(cache: Cache):
    """Nobody is asked for that, as long as nothing is new."""
    assert cache("https://127.0.0.1:1/x").descends("a" * 40, "a" * 40, MAIN)


def test_history_is_deepened_when_needed(daemon: tuple[Path, str], cache: Cache):
    """A revision in force that lies deeper than the first fetch is found; one of a rewritten branch is not."""
    root, url = daemon
    repo = GitRepo(root / "deep")
    commits = [repo.commit({"n": str(number)}) for number in range(6)]
    found = cache(f"{url}/deep/.git", depth=2)
    assert found.fetch(MAIN) == commits[-1]
    assert found.descends(commits[-1], commits[0], MAIN)
    repo.git("switch", "--quiet", "--orphan", "new")
    rewritten = repo.commit({"n": "x"})
    repo.git("branch", "--force", "main", "new")
    assert found.fetch(MAIN) == rewritten
    assert not found.descends(rewritten, commits[-1], MAIN)


def test_depth_bounds_the_search_for_the_revision_in_force(daemon: tuple[Path, str], cache: Cache):
    """Beyond `most_depth` commits nothing is asked for: the history counts as rewritten."""
    root, url = daemon
    repo = GitRepo(root / "deeper")
    commits = [repo.commit({"n": str(number)}) for number in range(6)]
    found = cache(f"{url}/deeper/.git", depth=1, most_depth=3)
    tip = found.fetch(MAIN)
    assert found.descends(tip, commits[3], MAIN)
    assert not found.descends(tip, commits[1], MAIN)


def test_huge_pack_is_cut_off(daemon: tuple[Path, str], cache: Cache):
    """More bytes than allowed end the fetch while they come, and leave no such file behind."""
    root, url = daemon
    repo = GitRepo(root / "huge")
    repo.commit({**BASE, "video.bin": noise(3 << 20)})
    found = cache(f"{url}/huge/.git", pack_bytes=1 << 20)
    failed = fault_of(found).fault
    assert failed.code is FaultCode.TOO_LARGE
    assert "more than 1 MiB" in failed.message
    sizes = [path.stat().st_size for path in found.directory.rglob("*") if path.is_file()]
    assert max(sizes) <= 1 << 20
    repo.git("rm", "--quiet", "video.bin")
    repo.git("commit", "--quiet", "--amend", "--message", "small")
    assert found.fetch(MAIN) == repo.git("rev-parse", "HEAD")
    assert not list(found.directory.rglob("tmp_*"))


def test_a_large_file_elsewhere_in_the_repository_does_no_harm(daemon: tuple[Path, str], cache: Cache):
    """A file of 100 MB that packs small: fetched, never read."""
    root, url = daemon
    repo = GitRepo(root / "monorepo")
    repo.git("config", "core.compression", "1")
    tip = repo.commit({**BASE, "data.bin": b"\0" * (100 << 20)})
    found = cache(f"{url}/monorepo/.git", pack_bytes=4 << 20)
    assert found.fetch(MAIN) == tip
    assert len(Repository(found.directory).policy_files(tip, "policies").files) == len(BASE)


def test_server_that_never_answers(cache: Cache):
    """A host that takes connections and stays silent is given up after the time-out, with every process of the fetch."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        found = cache(f"http://127.0.0.1:{silent.getsockname()[1]}/x", timeout_seconds=0.3)
        failed = fault_of(found).fault
    assert (failed.code, failed.message.endswith("did not answer within 0.3 s")) == (FaultCode.TIMED_OUT, True)
    assert not _processes_that_name(str(found.directory))


def test_server_that_drips(cache: Cache):
    """One byte at a time is a time-out as well."""
    stop = threading.Event()

    class Drip(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
            self.end_headers()
            while not stop.wait(0.02):
                self.wfile.write(b"0")
                self.wfile.flush()

        def log_message(self, *_: object) -> None:
            return

    with served(Drip) as url:
        found = cache(f"{url}/x", timeout_seconds=0.5)
        assert fault_of(found).fault.code is FaultCode.TIMED_OUT
        stop.set()
    assert not _processes_that_name(str(found.directory))


@pytest.mark.parametrize("target", ["file://{secret}", "http://{other}", "ext::touch {canary}", "https://127.0.0.1:1/x"])
def test_redirects_are_not_followed(tmp_path: Path, cache: Cache, target: str):
    """A server that sends git elsewhere: to a local repository, another host, a program. Nothing is asked there."""
    repo = GitRepo(tmp_path / "secret")
    repo.commit(BASE)
    canary = tmp_path / "CANARY"
    with http_host(tmp_path) as other:
        where = target.format(secret=repo.root, other=f"{other.url.removeprefix('http://')}/secret/.git", canary=canary)

        class Redirect(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(302)
                self.send_header("Location", where + "/info/refs?service=git-upload-pack")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        with served(Redirect) as url:
            failed = fault_of(cache(f"{url}/x")).fault
        assert (failed.code, other.asked, canary.exists()) == (FaultCode.UNREACHABLE, [], False)


def test_password_goes_to_its_origin_over_https(tmp_path: Path, cache: Cache):
    """The token of the file opens the repository; it stands in no address, message or file of the cache."""
    repo = GitRepo(tmp_path / "srv" / "private")
    tip = repo.commit(BASE)
    token = tmp_path / "token"
    token.write_text("s3cr3t\n")
    tls = certificate(tmp_path)
    access = Access(password_file=token, ca_file=tls[0])
    with http_host(tmp_path / "srv", password="s3cr3t", tls=tls) as host:
        found = cache(f"{host.url}/private/.git", access=access)
        assert found.fetch(MAIN) == tip
        token.write_text("wr0ng")
        failed = fault_of(found).fault
        assert failed.code is FaultCode.AUTHENTICATION_FAILED
        assert "wr0ng" not in failed.sentence
        untrusted = fault_of(cache(f"{host.url}/private/.git", "other", access=Access(password_file=token))).fault
        assert untrusted.code is FaultCode.UNREACHABLE
        assert "certificate" in untrusted.message
    kept = b"".join(path.read_bytes() for path in found.directory.rglob("*") if path.is_file())
    assert b"s3cr3t" not in kept


def test_a_question_for_a_password_is_answered_by_nobody(tmp_path: Path, cache: Cache):
    """Without a file there is no prompt and no helper of the machine: the fetch fails at once."""
    GitRepo(tmp_path / "private").commit(BASE)
    with http_host(tmp_path, password="x") as host:
        assert fault_of(cache(f"{host.url}/private/.git")).fault.code is FaultCode.AUTHENTICATION_FAILED


def test_hooks_and_configuration_of_the_cache_are_not_run(tmp_path: Path, cache: Cache):
    """Programs that somebody put into the cache directory."""
    canary = tmp_path / "CANARY"
    repo = GitRepo(tmp_path / "repo")
    repo.commit(BASE)
    with http_host(tmp_path) as host:
        found = cache(f"{host.url}/repo/.git")
        found.fetch(MAIN)
        for name in ("reference-transaction", "post-fetch", "pre-auto-gc", "post-checkout", "fsmonitor-watchman"):
            hook = found.directory / "hooks" / name
            hook.parent.mkdir(exist_ok=True)
            hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
            hook.chmod(0o755)
        with (found.directory / "config").open("a") as config:
            config.write(
                f"[core]\n\tsshCommand = touch {canary}\n\tfsmonitor = touch {canary}\n\thooksPath = {found.directory}/hooks\n"
            )
            config.write(f'[credential]\n\thelper = "!touch {canary}"\n[gpg]\n\tprogram = touch {canary}\n')
        tip = repo.commit({"policies/prod.yaml": POLICY + "#\n"})
        assert found.fetch(MAIN) == tip
    assert not canary.exists()


def test_submodules_filters_and_lfs_are_not_followed(tmp_path: Path, cache: Cache):
    """What the tree asks a checkout to do is not done: the only requests are those for the repository itself."""
    repo = GitRepo(tmp_path / "repo")
    with http_host(tmp_path) as host:
        tip = repo.commit({
            **BASE,
            ".gitmodules": f'[submodule "m"]\n\tpath = m\n\turl = {host.url}/evil\n',
            ".gitattributes": "*.yaml filter=lfs diff=lfs merge=lfs\n",
            ".lfsconfig": f"[lfs]\n\turl = {host.url}/evil\n",
        })  # fmt: skip
        found = cache(f"{host.url}/repo/.git")
        assert found.fetch(MAIN) == tip
        files = Repository(found.directory).policy_files(tip, "policies").files
        assert files["prod.yaml"] == POLICY.encode()
        assert host.asked
        assert not [line for line, _ in host.asked if "/repo/.git/" not in line]


def test_objects_that_are_malformed_are_refused(daemon: tuple[Path, str], cache: Cache):
    """A tree with a `.git` in it is not even stored."""
    root, url = daemon
    repo = GitRepo(root / "malformed")
    repo.commit(BASE)
    repo.commit_policies(("100644", b".git", repo.blob(b"x")), branch="bad")
    assert fault_of(cache(f"{url}/malformed/.git"), "refs/heads/bad").fault.code is FaultCode.UNREACHABLE


def test_directory_of_others_is_left_alone(tmp_path: Path, cache: Cache):
    """Something that is no cache of ours is neither used nor removed; nor is what a link leads to."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "precious").write_text("x")
    assert "stays untouched" in str(fault_of(cache("https://127.0.0.1:1/x")))
    assert (tmp_path / "cache" / "precious").read_text() == "x"
    (tmp_path / "link").symlink_to(tmp_path / "cache")
    assert "stays untouched" in str(fault_of(cache("https://127.0.0.1:1/x", "link")))
    (tmp_path / "empty").mkdir()
    (tmp_path / "other link").symlink_to(tmp_path / "empty")
    assert "stays untouched" in str(fault_of(cache("https://127.0.0.1:1/x", "other link")))
    assert not list((tmp_path / "empty").iterdir())


@pytest.mark.parametrize("damage", ["HEAD", "objects", "reconciler-cache", "objects/pack/tmp_pack_1"])
def test_damaged_cache_is_made_anew(daemon: tuple[Path, str], cache: Cache, damage: str):
    """A crash or a full disk in the middle of anything."""
    root, url = daemon
    name = f"whole-{damage.replace('/', '-')}"
    tip = GitRepo(root / name).commit(BASE)
    found = cache(f"{url}/{name}/.git")
    found.fetch(MAIN)
    (found.directory / "of before").touch()
    path = found.directory / damage
    if path.is_dir():
        path.rename(found.directory / "elsewhere")
    elif damage == "HEAD":
        path.unlink()
    else:
        path.write_text("https://other.example.org/x\n")
    assert found.fetch(MAIN) == tip
    assert not (found.directory / "of before").exists()
    found.fetch(MAIN)
    (found.directory / "of before").touch()
    assert found.fetch(MAIN) == tip
    assert (found.directory / "of before").exists()


def test_an_empty_directory_becomes_a_cache(daemon: tuple[Path, str], cache: Cache):
    """For its owner alone, as a new one is. Unless it is said, a fetch brings 50 commits, 2,000 at most to find one, 256 MiB, and
    takes a minute."""
    root, url = daemon
    tip = GitRepo(root / "empty").commit(BASE)
    found = cache(f"{url}/empty/.git")
    found.directory.mkdir()
    assert found.fetch(MAIN) == tip
    assert found.directory.stat().st_mode & 0o777 == 0o700
    assert Bounds() == Bounds(depth=50, most_depth=2000, pack_bytes=268_435_456, timeout_seconds=60.0)


def test_many_small_fetches_do_not_pile_up(daemon: tuple[Path, str], cache: Cache, monkeypatch: pytest.MonkeyPatch):
    """The cache is made anew once it holds many packs."""
    root, url = daemon
    assert git_cache._MOST_PACKS == 50
    monkeypatch.setattr(git_cache, "_MOST_PACKS", 3)
    repo = GitRepo(root / "packs")
    found = cache(f"{url}/packs/.git")
    counts = []
    for number in range(6):
        tip = repo.commit({"n": str(number)})
        assert found.fetch(MAIN) == tip
        counts.append(len(list((found.directory / "objects" / "pack").glob("*.pack"))))
    assert max(counts) == 4
    assert counts[4] == 1


@pytest.mark.parametrize(("spare", "kept"), [(0, True), (-1, False)])
def test_packs_that_together_are_too_large_are_not_kept(daemon: tuple[Path, str], cache: Cache, spare: int, kept: bool):
    """The bound on packs is one on their sum: at it the cache goes on, one byte above it the cache is made anew."""
    root, url = daemon
    repo = GitRepo(root / f"sizes{spare}")
    # Large enough that what git writes beside a pack (its index, at least a kilobyte) is below the bound.
    repo.commit({"n": Random(0).randbytes(20_000).hex()})
    found = cache(f"{url}/sizes{spare}/.git")
    found.fetch(MAIN)
    repo.commit({"n": Random(1).randbytes(20_000).hex()})
    found.fetch(MAIN)
    packs = sorted((found.directory / "objects" / "pack").glob("*.pack"))
    assert len(packs) == 2
    bound = sum(pack.stat().st_size for pack in packs) + spare
    with nullcontext() if kept else suppress(SourceError):  # made anew, it may not fit either
        cache(f"{url}/sizes{spare}/.git", pack_bytes=bound).fetch(MAIN)
    assert packs[0].exists() is kept


def _processes_that_name(text: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if text.encode() in line:
            found.append(line.decode())
    return found
