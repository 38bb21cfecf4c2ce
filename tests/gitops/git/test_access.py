"""How a remote is reached: what ssh and git are told, asked of the real ssh."""

import subprocess
from pathlib import Path

import pytest

from reconciler.gitops.git.cache import Bounds, GitCache
from reconciler.gitops.git.fault import FaultCode, SourceError
from reconciler.gitops.git.remote import PROTOCOLS, checked_remote
from reconciler.gitops.git.remote_access import Access, AccessError, check_access, fetch_environment, fetch_settings, ssh_command
from tests.gitops.repositories import BASE, GitRepo


def test_ssh_believes_only_known_hosts(tmp_path: Path):
    """What the real ssh makes of the options: strict host keys from one file, no agent, no forwarding, no questions."""
    known = tmp_path / "known hosts"
    known.touch()
    (tmp_path / "key").touch()
    command = ssh_command(Access(known_hosts_file=known, ssh_key_file=tmp_path / "key"))
    shown = subprocess.run([*command, "-G", "git@git.example.org"], capture_output=True, check=True, text=True).stdout
    lines = set(shown.splitlines())
    assert {
        "stricthostkeychecking true", f"userknownhostsfile {known}", "globalknownhostsfile /dev/null", "batchmode yes",
        "identitiesonly yes", f"identityfile {tmp_path / 'key'}", "forwardagent no", "permitlocalcommand no",
        "clearallforwardings yes", "updatehostkeys false", "connecttimeout 10",
    } <= lines  # fmt: skip
    assert not [line for line in lines if line.startswith("proxycommand")]


def test_fetch_over_ssh_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """git runs ssh with these options and the host and user of the address; what it says comes through it."""
    repo = GitRepo(tmp_path / "srv" / "policies.git")
    tip = repo.commit(BASE)
    (tmp_path / "known").touch()
    stand_in = tmp_path / "bin" / "ssh"
    stand_in.parent.mkdir()
    # The far side of a connection: run what was asked there, as sshd would.
    stand_in.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/words\nfor last; do :; done\nexec sh -c "$last"\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stand_in.parent}:/usr/bin:/bin")
    remote = checked_remote(f"ssh://git@git.example.org:2222{repo.root}")
    cache = GitCache(tmp_path / "cache", remote, Access(known_hosts_file=tmp_path / "known"), Bounds())
    assert cache.fetch("refs/heads/main") == tip
    words = (tmp_path / "words").read_text().splitlines()
    assert "StrictHostKeyChecking=yes" in words
    assert words[words.index("-p") + 1] == "2222"
    assert "git@git.example.org" in words
    assert words[-1].startswith("git-upload-pack '")


def test_unknown_host_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """ssh's refusal of a host key is told as a matter of access."""
    (tmp_path / "known").touch()
    stand_in = tmp_path / "bin" / "ssh"
    stand_in.parent.mkdir()
    stand_in.write_text("#!/bin/sh\necho 'Host key verification failed.' >&2\nexit 255\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stand_in.parent}:/usr/bin:/bin")
    access = Access(known_hosts_file=tmp_path / "known")
    cache = GitCache(tmp_path / "cache", checked_remote("git@git.example.org:x/y"), access, Bounds())
    with pytest.raises(SourceError, match="Host key verification failed") as refused:
        cache.fetch("refs/heads/main")
    assert refused.value.fault.code is FaultCode.AUTHENTICATION_FAILED


@pytest.mark.parametrize(("url", "access", "told"), [
    ("git@host:x", Access(), "--known-hosts"),
    ("git@host:x", Access(known_hosts_file=Path("/nonexistent/known")), "/nonexistent/known: no such file"),
    ("http://host/x", Access(password_file=Path("/etc/hostname")), "in the clear"),
    ("git://host/x", Access(password_file=Path("/etc/hostname")), "in the clear"),
    ("https://host/x", Access(username="a\nb"), "a line break"),
])  # fmt: skip
def test_unsafe_access_is_refused(url: str, access: Access, told: str):
    """A host that nobody vouches for, a password in the clear, a name that would add a line to git's question."""
    with pytest.raises(AccessError, match=told):
        check_access(checked_remote(url, PROTOCOLS), access)


@pytest.mark.parametrize(("url", "names"), [
    ("https://h/x", ("password_file", "ca_file")), ("https://h/x", ()), ("http://h/x", ()), ("git://h/x", ()),
    ("ssh://h/x", ("known_hosts_file", "ssh_key_file", "password_file")), ("file:///x", ("password_file",)),
])  # fmt: skip
def test_access_that_is_in_order(tmp_path: Path, url: str, names: tuple[str, ...]):
    """Files that are there, and none where none is asked for."""
    (tmp_path / "secret").touch()
    check_access(checked_remote(url, PROTOCOLS), Access(**dict.fromkeys(names, tmp_path / "secret")))


@pytest.mark.parametrize(("url", "helper", "variables"), [
    ("https://open/x", [], []),
    ("https://h/x", ["credential.https://h.helper"], ["RECONCILER_GIT_PASSWORD_FILE", "RECONCILER_GIT_USERNAME"]),
    ("ssh://h/x", [], ["GIT_SSH_COMMAND", "GIT_SSH_VARIANT"]),
    ("file:///x", [], []),
])  # fmt: skip
def test_a_password_is_for_https_alone(tmp_path: Path, url: str, helper: list[str], variables: list[str]):
    """Over ssh and from a directory nobody is told where it lies. A server that stalls, below 1,000 bytes a second for 15 s, is
    left; none sends us elsewhere."""
    remote = checked_remote(url, PROTOCOLS)
    password_file = None if "open" in url else tmp_path / "token"
    access = Access(password_file=password_file, known_hosts_file=tmp_path / "known")
    settings = fetch_settings(remote, access)
    assert settings[:5] == (
        "credential.helper=", "http.followRedirects=false", "http.sslVerify=true", "http.lowSpeedLimit=1000",
        "http.lowSpeedTime=15",
    )  # fmt: skip
    assert [setting.partition("=")[0] for setting in settings[5:]] == helper
    environment = fetch_environment(remote, access)
    assert sorted(environment) == sorted(["GIT_ALLOW_PROTOCOL", "GIT_PROTOCOL_FROM_USER", *variables])
    assert (environment["GIT_ALLOW_PROTOCOL"], environment["GIT_PROTOCOL_FROM_USER"]) == (remote.protocol, "0")


def test_secrets_are_named_and_not_told(tmp_path: Path):
    """Neither settings nor environment hold the password: only where it lies, and for which origin."""
    token = tmp_path / "token"
    token.write_text("s3cr3t")
    remote, access = checked_remote("https://git.example.org:8443/x"), Access(password_file=token)
    settings, environment = fetch_settings(remote, access), fetch_environment(remote, access)
    assert "s3cr3t" not in repr((settings, environment))
    helpers = [setting.partition("=")[0] for setting in settings if ".helper=" in setting]
    assert helpers == ["credential.helper", "credential.https://git.example.org:8443.helper"]
    assert environment["GIT_ALLOW_PROTOCOL"] == "https"
    assert environment["RECONCILER_GIT_PASSWORD_FILE"] == str(token)
