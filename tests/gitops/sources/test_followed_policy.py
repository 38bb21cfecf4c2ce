"""The policy in force through everything that a repository may do, with a real repository over `git daemon`."""

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.control.policy.policy_in_force import NoPolicyError
from reconciler.control.policy.policy_source import FollowedPolicy, SourceWatch
from reconciler.gitops.git.cache import Bounds
from reconciler.gitops.git.fault import FaultCode
from reconciler.gitops.git.remote import PROTOCOLS, checked_remote
from reconciler.gitops.git.remote_access import Access
from reconciler.gitops.git.signature import Signers
from reconciler.gitops.sources.git_source import GitAddress, GitSource
from reconciler.gitops.sources.last_good import FileLastGoodStore, LastGood, LastGoodError, encode_last_good
from reconciler.gitops.sources.standing import SourceEvent, Standing
from tests.gitops.repositories import BASE, POLICY, GitRepo, group
from tests.gitops.servers import git_daemon
from tests.gitops.signers import sign_with_ssh, ssh_key

NOW = 1_800_000_000
BAD = group("general").replace("max: 5", "max: 0")


class Followed:
    """A repository behind a daemon, and what follows it."""

    def __init__(self, root: Path, url: str, state: Path) -> None:
        self.repo = GitRepo(root / "policies")
        self.url = f"{url}/policies/.git"
        self.state = state
        self.events: list[SourceEvent] = []
        self.now = NOW
        self.policy = self.start()

    def start(
        self, *, allow_rewind: bool = False, allow_no_groups: bool = False, signers: Signers | None = None
    ) -> FollowedPolicy:
        """As after a restart: only the file of the last good policy and the cache are kept."""
        address = GitAddress(
            remote=checked_remote(self.url, PROTOCOLS), ref="main", path="policies", access=Access(), signers=signers,
            allow_rewind=allow_rewind,
        )  # fmt: skip
        source = GitSource(address, self.state / "cache", Bounds(), clock=lambda: self.now)
        store = FileLastGoodStore(self.state / "last-good")
        self.policy = FollowedPolicy(source, store, lambda: self.now, allow_no_groups=allow_no_groups, tell=self.events.append)
        return self.policy

    def poll(self) -> FaultCode | None:
        """One look, a second later; what is wrong."""
        self.now += 1
        self.policy.poll()
        return self.policy.standing.fault.code if self.policy.standing.fault else None

    def reasons(self) -> list[str]:
        """Reasons of the events since the last question."""
        said = [event.reason for event in self.events]
        self.events.clear()
        return said


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A directory that `git daemon` serves, and its address."""
    root = tmp_path_factory.mktemp("daemon")
    with git_daemon(root) as url:
        yield root, url


@pytest.fixture
def followed(tmp_path: Path, daemon: tuple[Path, str]) -> Followed:
    """With a good first commit that is in force."""
    root, url = daemon
    found = Followed(root / tmp_path.name, f"{url}/{tmp_path.name}", tmp_path / "state")
    found.repo.commit(BASE)
    assert found.poll() is None
    assert found.reasons() == ["PolicyUpdated"]
    return found


def test_new_commits_come_into_force(followed: Followed):
    """The revision is the commit; a poll without news changes and says nothing."""
    first = followed.policy.current()
    assert not followed.policy.poll()
    assert followed.policy.current() is first
    tip = followed.repo.commit({"policies/quiet.yaml": group("quiet").replace("max: 5", "max: 6")})
    assert followed.policy.poll()
    assert (followed.policy.current().revision, followed.policy.standing.updates) == (tip, 2)
    assert followed.reasons() == ["PolicyUpdated"]


def test_bad_commit_keeps_the_last_good_one(followed: Followed):
    """Said once, with file:line:column from the top of the repository; the next good commit is taken."""
    before = followed.policy.current()
    bad = followed.repo.commit({"policies/general.yaml": BAD})
    assert followed.poll() is FaultCode.INVALID_POLICY
    assert followed.poll() is FaultCode.INVALID_POLICY
    assert followed.policy.current() is before
    standing = followed.policy.standing
    ready, stalled = standing.conditions()
    assert (ready.type, ready.status, ready.reason) == ("Ready", "False", "InvalidPolicy")
    assert (stalled.type, stalled.status) == ("Stalled", "True")
    assert "policies/general.yaml:8:10:" in ready.message
    assert f"commit {before.revision[:12]} stays in force" in ready.message
    assert (standing.fault.revision, standing.since_seconds, dict(standing.faults)) == (bad, NOW + 2, {"InvalidPolicy": 2})
    assert [(event.type, event.reason) for event in followed.events] == [("Warning", "InvalidPolicy")]
    assert followed.events[0].message == ready.message
    good = followed.repo.commit({"policies/general.yaml": group("general")})
    assert followed.poll() is None
    assert followed.policy.current().revision == good


def test_restart_in_the_middle_of_a_bad_commit(followed: Followed):
    """The new process begins with the policy of the old one, from its bytes."""
    before = followed.policy.current()
    followed.repo.commit({"policies/general.yaml": BAD})
    shutil.rmtree(followed.state / "cache")
    policy = followed.start()
    with pytest.raises(NoPolicyError):
        policy.current()
    assert followed.poll() is FaultCode.INVALID_POLICY
    assert policy.current() == before


def test_restart_while_the_repository_is_gone(followed: Followed):
    """Unreachable, and no policy is lost; Ready is False, Stalled too: nobody has to change anything."""
    before = followed.policy.current()
    hidden = followed.repo.root.rename(followed.repo.root.with_name("hidden"))
    policy = followed.start()
    assert followed.poll() is FaultCode.UNREACHABLE
    assert followed.poll() is FaultCode.UNREACHABLE
    assert (policy.current(), policy.standing.failures) == (before, 2)
    assert [condition.status for condition in policy.standing.conditions()] == ["False", "False"]
    assert followed.reasons() == ["SourceUnreachable"]
    hidden.rename(followed.repo.root)
    assert followed.poll() is None
    assert followed.reasons() == ["SourceRecovered"]
    assert (policy.standing.failures, policy.standing.success_seconds) == (0, followed.now)


def test_emptied_repository(followed: Followed):
    """Nothing at the place any more, then files without a policy."""
    before = followed.policy.current()
    followed.repo.commit({**dict.fromkeys(BASE), "README.md": "moved"})
    assert followed.poll() is FaultCode.PATH_NOT_FOUND
    followed.repo.commit({"policies/other.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"})
    assert followed.poll() is FaultCode.NO_POLICY
    assert followed.policy.current() is before


def test_zero_groups_where_there_were_some(followed: Followed):
    """Refused, unless it is allowed on purpose."""
    before = followed.policy.current()
    tip = followed.repo.commit({"policies/general.yaml": None, "policies/quiet.yaml": None})
    assert followed.poll() is FaultCode.NO_GROUPS
    assert followed.policy.current() is before
    followed.start(allow_no_groups=True)
    assert followed.poll() is None
    assert (followed.policy.current().revision, followed.policy.current().groups) == (tip, ())


def test_deleted_branch(followed: Followed):
    """The ref is not there any more."""
    before = followed.policy.current()
    followed.repo.git("switch", "--quiet", "--create", "other")
    followed.repo.git("branch", "--delete", "--force", "main")
    assert followed.poll() is FaultCode.REF_NOT_FOUND
    assert followed.policy.current() is before


def test_rewritten_branch(followed: Followed):
    """A force-push is refused, also after a restart without the cache, until it is allowed."""
    before = followed.policy.current()
    followed.repo.git("commit", "--quiet", "--amend", "--message", "rewritten")
    rewritten = followed.repo.git("rev-parse", "HEAD")
    assert followed.poll() is FaultCode.NOT_FAST_FORWARD
    shutil.rmtree(followed.state / "cache")
    followed.start()
    assert followed.poll() is FaultCode.NOT_FAST_FORWARD
    assert followed.policy.current().revision == before.revision
    assert followed.policy.standing.conditions()[1].status == "True"
    followed.start(allow_rewind=True)
    assert followed.poll() is None
    assert followed.policy.current().revision == rewritten


def test_older_commit_is_a_rewrite_too(followed: Followed):
    """Resetting the branch to a commit before the one in force."""
    first = followed.repo.git("rev-parse", "HEAD")
    followed.repo.commit({"policies/prod.yaml": POLICY + "# more\n"})
    assert followed.poll() is None
    followed.repo.git("reset", "--quiet", "--hard", first)
    assert followed.poll() is FaultCode.NOT_FAST_FORWARD


def test_signatures(followed: Followed, tmp_path: Path):
    """With allowed signers an unsigned tip is refused, a signed one taken and its signer named."""
    key = ssh_key(tmp_path, "ada")
    (tmp_path / "allowed").write_text(f"ada@example.org {key.public}\n")
    followed.start(signers=Signers(allowed_signers_file=tmp_path / "allowed"))
    assert followed.poll() is FaultCode.UNSIGNED
    sign_with_ssh(followed.repo, key)
    followed.repo.commit({"policies/prod.yaml": POLICY + "# signed\n"})
    followed.reasons()
    assert followed.poll() is None
    assert followed.policy.standing.signer == "ada@example.org"
    assert followed.events[-1].message.endswith("signed by ada@example.org")


def test_a_key_that_is_over_signs_nothing_new(followed: Followed, tmp_path: Path):
    """A commit that says that it is of before: refused, since it came after. The one in force stays what it was, across a restart
    too."""
    key = ssh_key(tmp_path, "ada")
    over = NOW + 3600
    end = time.strftime("%Y%m%d%H%M%S", time.localtime(over))
    (tmp_path / "allowed").write_text(f'ada@example.org valid-before="{end}" {key.public}\n')
    signers = Signers(allowed_signers_file=tmp_path / "allowed")
    followed.start(signers=signers)
    sign_with_ssh(followed.repo, key)
    followed.repo.commit({"policies/prod.yaml": POLICY + "# signed\n"})
    assert followed.poll() is None
    followed.now = over + 60
    assert followed.poll() is None
    followed.start(signers=signers)
    assert followed.poll() is None
    in_force = followed.policy.current()
    followed.repo.commit({"policies/prod.yaml": POLICY + "# signed by a key that is over, and dated back\n"})
    assert followed.poll() is FaultCode.SIGNATURE_REFUSED
    assert followed.policy.current() == in_force


def test_hostile_tree_is_refused_by_its_problem(followed: Followed):
    """What makes a tree unusable is an invalid policy with a place."""
    before = followed.policy.current()
    link = followed.repo.blob(b"/etc/passwd")
    followed.repo.commit_policies(("120000", b"x.yaml", link), branch="hostile")
    followed.repo.git("reset", "--quiet", "--hard", "hostile")
    assert followed.poll() is FaultCode.INVALID_POLICY
    assert "policies/x.yaml:1:1: a symbolic link is not followed" in followed.policy.standing.fault.sentence
    assert followed.policy.current() is before


def test_policy_that_cannot_be_saved_is_not_used(followed: Followed):
    """Otherwise a restart would go back behind what was done by it."""
    before = followed.policy.current()
    (followed.state / "last-good").unlink()
    (followed.state / "last-good").mkdir()
    tip = followed.repo.commit({"policies/prod.yaml": POLICY + "# more\n"})
    assert followed.poll() is FaultCode.NOT_SAVED
    assert followed.policy.current() is before
    (followed.state / "last-good").rmdir()
    assert followed.poll() is None
    assert followed.policy.current().revision == tip


def test_store_that_cannot_be_read_is_waited_for(followed: Followed):
    """At a start nothing may be taken before it is known what was in force."""

    class Away:
        def load(self) -> LastGood | None:
            raise LastGoodError("the API server does not answer")

        def save(self, last_good: LastGood) -> None:
            raise AssertionError(last_good)

    policy = FollowedPolicy(followed.policy._source, Away(), lambda: NOW)
    policy.poll()
    assert (policy.ready, policy.standing.fault.code) == (False, FaultCode.NOT_SAVED)


def _read_at(seconds: int) -> bytes:
    files = {path.removeprefix("policies/"): text.encode() for path, text in BASE.items()}
    return encode_last_good(LastGood(source="s", revision="0" * 40, root="policies", files=files, read_seconds=seconds))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"reconciler-last-good/9\nx",
        b"reconciler-last-good/1\nAAAA",
        b"reconciler-last-good/1\n%",
        _read_at(10**15),
        _read_at(-(10**15)),
    ],
)
def test_damaged_store_is_said_and_read_afresh(followed: Followed, content: bytes):
    """Nobody else can mend it, and the source has what is meant."""
    (followed.state / "last-good").write_bytes(content)
    followed.start()
    assert followed.poll() is None
    assert followed.reasons() == ["LastGoodDamaged", "PolicyUpdated"]


def test_nothing_was_ever_good(followed: Followed, tmp_path: Path):
    """Without a policy nothing is decided, and the sentence of the fault says why."""
    (followed.state / "last-good").unlink()
    followed.repo.commit({"policies/general.yaml": BAD})
    policy = followed.start()
    followed.poll()
    assert not policy.ready
    with pytest.raises(NoPolicyError, match=r"policies/general\.yaml:8:10"):
        policy.current()
    assert "No policy is in force, so nothing is done" in policy.standing.conditions()[0].message


def test_watch_polls_at_once_and_when_it_is_notified():
    """Long before the interval is over; the loop is told only of polls that brought another policy. Stopping does not wait."""

    class Polled:
        standing = Standing(source="x")

        def __init__(self) -> None:
            self.polls = 0
            self.looked = threading.Semaphore(0)

        def poll(self) -> bool:
            self.polls += 1
            self.looked.release()
            return self.polls == 2

    polled, changed = Polled(), threading.Semaphore(0)
    watch = SourceWatch(polled, lambda _: 3600.0, changed.release, pytest.fail)
    watch.start()
    assert polled.looked.acquire(timeout=30)
    watch.notify()
    assert polled.looked.acquire(timeout=30)
    assert changed.acquire(timeout=30)
    watch.stop()
    assert not changed.acquire(blocking=False)


def test_watch_outlives_what_breaks():
    """A poll that raises, and one whose change breaks the loop that is told of it, are told; the next poll comes all the same.
    Even a teller that breaks ends nothing."""

    class Polled:
        standing = Standing(source="x")

        def __init__(self) -> None:
            self.polls = 0
            self.looked = threading.Semaphore(0)

        def poll(self) -> bool:
            self.polls += 1
            self.looked.release()
            if self.polls == 1:
                raise ValueError("of the poll")
            return True

    def changed() -> None:
        raise KeyError("of the loop")

    def broken(error: Exception) -> None:
        told.append(type(error))
        raise OSError("no log")

    polled, told = Polled(), []
    watch = SourceWatch(polled, lambda _: 3600.0, changed, broken)
    watch.start()
    for _ in range(3):
        assert polled.looked.acquire(timeout=30)
        watch.notify()
    watch.stop()
    assert told[:2] == [ValueError, KeyError]
