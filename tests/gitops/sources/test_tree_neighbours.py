"""What lies beside policies in a repository that is followed, and in a change of it: no fault, and never the end of a hold."""

from pathlib import Path

import pytest

from reconciler.control.policy.policy_source import FollowedPolicy
from reconciler.gitops.git.fault import FaultCode
from reconciler.gitops.git.repository import Repository
from reconciler.gitops.sources.directory_source import DirectorySource
from reconciler.gitops.sources.last_good import MemoryLastGoodStore
from reconciler.gitops.sources.standing import SourceEvent
from tests.gitops.conftest import Preview
from tests.gitops.repositories import BASE, POLICY, GitRepo, group

NOW = 1_800_000_000
HELD = group("held") + "  hold: {reason: recovering}\n"
SECRET = "data: ENC[AES256_GCM,data:YQ==,type:str]\nsops: {mac: 'ENC[AES256_GCM,data:YQ==,type:str]'}\n"
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 9\n"
BESIDE = {
    "policies/kustomization.yaml": "resources: [prod.yaml]\n",
    "policies/apps/values.yaml": "replicaCount: 2\n",
    "policies/apps/patch.yaml": "- op: replace\n  path: /spec/replicas\n  value: 5\n",
    "policies/apps/renovate.json": '{"extends": ["config:base"]}',
    "policies/apps/secret.yaml": SECRET,
    "policies/apps/template.yaml": "{{- if .Values.x }}\na: b\n{{- end }}\n",
    "policies/snapshot.yaml": "formatVersion: '1.0'\nkinds: [Node]\n",
    "policies/nodes.json": " " * (1 << 20) + "{}",
    "policies/large.json": LFS,
}


class Followed:
    """A directory that a loop follows."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store = MemoryLastGoodStore()
        self.events: list[SourceEvent] = []
        self.policy = self.start()

    def start(self) -> FollowedPolicy:
        self.policy = FollowedPolicy(DirectorySource(self.directory), self.store, lambda: NOW, tell=self.events.append)
        return self.policy

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.directory / f"{name}.yaml").write_text(text)

    def poll(self) -> FaultCode | None:
        self.policy.poll()
        fault = self.policy.standing.fault
        return fault.code if fault else None

    def groups(self) -> list[str]:
        return [entry.name for entry in self.policy.current().groups]


@pytest.fixture
def followed(tmp_path: Path) -> Followed:
    """With a policy and a held group in force."""
    found = Followed(tmp_path)
    found.write(prod=POLICY, held=HELD)
    assert found.poll() is None
    return found


def test_neighbours_do_not_stop_who_follows(followed: Followed) -> None:
    """They are told once, by name, and the next change of the policy is taken."""
    followed.events.clear()
    followed.write(kustomization="resources: [prod.yaml]\n", secret=SECRET)
    (followed.directory / "link.yaml").symlink_to("/etc/hostname")
    assert (followed.poll(), followed.poll()) == (None, None)
    followed.write(more=group("more"))
    assert (followed.poll(), followed.groups()) == (None, ["held", "more"])
    told = [event.message for event in followed.events if event.reason == "NeighboursSkipped"]
    assert told == ["3 files next to the policies skipped: kustomization.yaml, link.yaml, secret.yaml"]


def _linked(directory: Path) -> None:
    (directory / "held.yaml").unlink()
    (directory / "held.yaml").symlink_to("/etc/hostname")


def _grown(directory: Path) -> None:
    (directory / "held.yaml").write_text("#" * (2 << 20))


def _encrypted(directory: Path) -> None:
    (directory / "held.yaml").write_text(SECRET)


def _moved(directory: Path) -> None:
    (directory / "held.yaml").unlink()
    (directory / "held.enc.yaml").write_text(SECRET)


def _binary(directory: Path) -> None:
    (directory / "held.yaml").write_bytes(b"\0GITCRYPT\0\xff\xfe")


@pytest.mark.parametrize("change", [_linked, _grown, _encrypted, _moved, _binary])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_hold_stays_when_its_file_becomes_unreadable(followed: Followed, change: object, *, restarted: bool) -> None:
    """Whatever hides it, also over a restart: what is in force stays, and the fault names the group and the file."""
    change(followed.directory)
    if restarted:
        followed.start()
    assert followed.poll() is FaultCode.INVALID_POLICY
    assert followed.groups() == ["held"]
    assert "NodeGroup 'held' of the policy in force is gone" in followed.policy.standing.fault.sentence
    followed.write(held2=HELD)
    assert (followed.poll(), followed.groups()) == (None, ["held"])


def test_a_group_is_released_beside_an_old_secret(followed: Followed) -> None:
    """Also after a restart, and though the secret was written anew: it was unreadable while the group was there."""
    followed.write(secret=SECRET, more=group("more"))
    assert followed.poll() is None
    followed.start()
    followed.write(secret=SECRET.replace("YQ", "Yg"))
    (followed.directory / "held.yaml").unlink()
    assert (followed.poll(), followed.groups()) == (None, ["more"])


def test_neighbours_in_a_change(repo: GitRepo, preview: Preview) -> None:
    """A preview of what the loop takes; --verbose names them as `validate` does."""
    repo.branch("change")
    repo.commit(BESIDE)
    result = preview("--base", "main", "--verbose")
    assert result.code == 0
    assert "neither the policy nor the decision differs" in result.out
    named = {line.split(": ")[1] for line in result.err.splitlines() if line.startswith("skipped: ")}
    assert named == {name.removeprefix("policies/") for name in BESIDE}


def test_a_change_that_hides_a_group_is_refused(repo: GitRepo, preview: Preview) -> None:
    """As the loop would refuse it after the merge."""
    assert "policies/general.yaml" in BASE
    repo.branch("change")
    repo.commit({"policies/general.yaml": SECRET})
    result = preview("--base", "main")
    assert result.code == 1
    assert "policies/general.yaml:1:1: error: the document is encrypted" in result.out
    assert "NodeGroup 'general' of the policy in force is gone from the tree" in result.out


def test_large_files_of_a_commit_are_looked_through(repo: GitRepo) -> None:
    """Ours at any place in it makes it an error, as does one that nobody looks through."""
    repo.commit({"policies/foreign.yaml": "#" * (2 << 20), "policies/ours.yaml": "#" * (2 << 20) + POLICY})
    found = Repository(repo.root / ".git").policy_files(Repository(repo.root / ".git").commit("HEAD"), "policies")
    assert [(one.path, one.code, one.ours) for one in found.unread] == [
        ("foreign.yaml", "FileTooLarge", False), ("ours.yaml", "FileTooLarge", True),
    ]  # fmt: skip
    assert "general.yaml" in found.files
