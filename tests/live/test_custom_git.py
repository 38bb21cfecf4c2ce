"""Policy from a real repository over a real control plane: whatever happens to the repository, replicas stay."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.control.policy.policy_source import FollowedPolicy
from reconciler.control.policy.stored_policy import LockedState, StateLastGoodStore
from reconciler.gitops.git.cache import Bounds
from reconciler.gitops.git.fault import FaultCode
from reconciler.gitops.git.remote import PROTOCOLS, checked_remote
from reconciler.gitops.git.remote_access import Access
from reconciler.gitops.sources.git_source import GitAddress, GitSource
from reconciler.kube.leading.state import StateObject
from tests.gitops.repositories import GitRepo
from tests.gitops.servers import git_daemon
from tests.live.own_loop import OWNER, OwnLoop, done
from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.testbed.cluster_documents import Group
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster

FILE = "policy.yaml"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A directory that `git daemon` serves, and its address."""
    root = tmp_path / "served"
    root.mkdir()
    with git_daemon(root) as url:
        yield root, url


class Following:
    """A loop that decides by what a repository holds, and remembers the last good policy on the API server."""

    def __init__(self, loop: OwnLoop, url: str, cache: Path) -> None:
        self.loop = loop
        self._url, self._cache = url, cache
        self.policy = self.restarted()

    def restarted(self) -> FollowedPolicy:
        """Another process: what it knows is what lies on the API server."""
        address = GitAddress(remote=checked_remote(self._url, PROTOCOLS), ref="main", access=Access())
        source = GitSource(address, self._cache, Bounds())
        store = StateLastGoodStore(LockedState(StateObject(self.loop.api, self.loop.namespace, OWNER)))
        self.policy = FollowedPolicy(source, store, self.loop.now)
        return self.policy

    def turn(self, times: int = 3) -> FaultCode | None:
        """Look, then decide and act so often; what is wrong with the source."""
        self.policy.poll()
        self.loop.hands.value = self.policy.current()
        for _ in range(times):
            report = self.loop.loop.turn()
            assert report.plan is not None, report.unavailable
        fault = self.policy.standing.fault
        return fault.code if fault is not None else None


def test_replicas_outlive_everything_that_a_repository_does(
    new_cluster: NewCluster, control_plane: ControlPlane, daemon: tuple[Path, str], tmp_path: Path
) -> None:
    """A bad commit in the middle, a rewritten branch, all groups deleted, the repository gone, a restart without it: each would
    move replicas if it were taken, none does, and the next good commit does."""
    root, url = daemon
    cluster = new_cluster()
    item = cluster.machine_deployment(Group("g", replicas=2))
    cluster.until_nodes(2)

    def policy(least: int, most: int) -> str:
        return policy_text(OWNER, cluster.namespace, {"g": (least, most)})

    repo = GitRepo(root / "policies")
    first = repo.commit({FILE: policy(1, 5)})
    with OwnLoop(control_plane, cluster.namespace) as loop:
        following = Following(loop, f"{url}/policies/.git", tmp_path / "cache")
        assert following.turn() is None
        # The replicas that the test wrote are taken over, as they are.
        adopted = loop.writes()

        repo.commit({FILE: policy(4, 5).replace("mode: Enforce", "mode: Enforced")})
        assert following.turn() is FaultCode.INVALID_POLICY

        repo.git("reset", "--quiet", "--hard", first)
        second = repo.commit({FILE: policy(1, 6)})
        assert following.turn() is None

        repo.git("reset", "--quiet", "--hard", first)
        repo.commit({FILE: policy(1, 1)})
        assert following.turn() is FaultCode.NOT_FAST_FORWARD

        repo.git("reset", "--quiet", "--hard", second)
        repo.commit({FILE: policy_text(OWNER, cluster.namespace, {})})
        assert following.turn() is FaultCode.NO_GROUPS

        repo.commit({FILE: None})
        assert following.turn() is FaultCode.NO_POLICY

        shutil.move(root / "policies", tmp_path / "away")
        assert following.turn() in (FaultCode.UNREACHABLE, FaultCode.REF_NOT_FOUND, FaultCode.AUTHENTICATION_FAILED)
        following.restarted()
        assert following.turn() in (FaultCode.UNREACHABLE, FaultCode.REF_NOT_FOUND, FaultCode.AUTHENTICATION_FAILED)

        assert (following.policy.current().revision, loop.writes()) == (second, adopted)
        assert cluster.api.read(item)["spec"]["replicas"] == 2

        shutil.move(tmp_path / "away", root / "policies")
        repo.commit({FILE: policy(3, 6)})
        assert following.turn(0) is None
        loop.until(lambda report: done(report, "Resize"), "the good commit being followed")
        assert cluster.api.read(item)["spec"]["replicas"] == 3


@pytest.mark.parametrize(
    ("files", "status", "said"),
    [
        (None, 200, r"ok: waiting for the first policy: git://\S+ has no refs/heads/main"),
        ({"README.md": "policies"}, 200, "ok: waiting for the first policy: clusters/prod is not in commit "),
        ({"clusters/prod/README.md": "policies"}, 200, "ok: waiting for the first policy: no NodeGroupPolicy in "),
        ({"clusters/prod/policy.yaml": "kind: Policy"}, 503, "nothing is decided: "),
    ],
    ids=["no-commit", "no-path", "no-policy", "bad-policy"],
)
def test_a_repository_without_a_policy_is_waited_for(
    control_plane: ControlPlane, daemon: tuple[Path, str], tmp_path: Path, files: dict[str, str] | None, status: int, said: str
) -> None:
    """Whoever installs it first and commits then has a loop that is Ready meanwhile; one whose policy is refused is not."""
    root, url = daemon
    repo = GitRepo(root / "policies")
    if files is not None:
        repo.commit(files)
    words = (
        f"--git={url}/policies/.git", "--git-protocol=git", "--path=clusters/prod", "--name=prod", "--namespace=default",
        f"--git-cache={tmp_path / 'cache'}", "--read-only",
    )  # fmt: skip
    with Reconciler(user(control_plane, "waits-for-git"), None, *words) as process:
        process.until_page("/readyz", lambda *found: found[0] == status and re.match(said, found[1]))
