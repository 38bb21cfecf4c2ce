"""Who signed a commit, judged by keys from outside the tree, with the real ssh-keygen and gpg."""

import re
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from reconciler.gitops.git.fault import FaultCode, SourceError
from reconciler.gitops.git.signature import Signature, Signers, verified
from reconciler.gitops.git.signer_name import SignerKind, SignerName, SignerNameError, signer_name, signer_names
from tests.gitops.repositories import BASE, GitRepo
from tests.gitops.signers import GpgKey, SshKey, end_gpg, gpg_key, gpg_subkey, sign_with_gpg, sign_with_ssh, ssh_key

SEEN = int(time.time()) + 3600
"""After every key and commit that is made here."""


@pytest.fixture(scope="module")
def ada(tmp_path_factory: pytest.TempPathFactory) -> SshKey:
    """Ada's key."""
    return ssh_key(tmp_path_factory.mktemp("ada"), "ada")


@pytest.fixture(scope="module")
def mallory(tmp_path_factory: pytest.TempPathFactory) -> SshKey:
    """The key of somebody else."""
    return ssh_key(tmp_path_factory.mktemp("mallory"), "mallory")


@pytest.fixture(scope="module")
def grace() -> Iterator[GpgKey]:
    """A GPG key."""
    key = gpg_key("grace")
    yield key
    end_gpg(key)
    shutil.rmtree(key.home, ignore_errors=True)


def signed(repo: GitRepo, key: SshKey) -> str:
    """A commit signed with an ssh key."""
    sign_with_ssh(repo, key)
    return repo.commit(BASE, "signed")


def allowed(tmp_path: Path, *lines: str) -> Signers:
    """An allowed_signers file."""
    file = tmp_path / "allowed_signers"
    file.write_text("\n".join(lines) + "\n")
    return Signers(allowed_signers_file=file)


def refusal(repo: GitRepo, commit: str, signers: Signers) -> SourceError:
    """Why a commit is not taken."""
    with pytest.raises(SourceError) as refused:
        verified(repo.root / ".git", commit, signers, SEEN)
    return refused.value


def test_ssh_signature_of_an_allowed_signer(repo: GitRepo, tmp_path: Path, ada: SshKey):
    """Good, with the principal of the file and the fingerprint of the key."""
    commit = signed(repo, ada)
    found = verified(repo.root / ".git", commit, allowed(tmp_path, f"ada@example.org {ada.public}"), SEEN)
    assert (found.commit, found.signer, found.fingerprint) == (commit, "ada@example.org", ada.fingerprint)


@pytest.mark.parametrize("line", [
    "mallory@example.org {mallory}", "", "ada@example.org namespaces=\"file\" {ada}",
    "ada@example.org valid-before=\"20200101\" {ada}",
])  # fmt: skip
def test_ssh_signature_of_nobody_who_is_allowed(repo: GitRepo, tmp_path: Path, ada: SshKey, mallory: SshKey, line: str):
    """Another key, an empty file, a key for something else, a key whose time is over."""
    commit = signed(repo, ada)
    signers = allowed(tmp_path, line.format(ada=ada.public, mallory=mallory.public))
    fault = refusal(repo, commit, signers).fault
    assert (fault.code, fault.revision) == (FaultCode.SIGNATURE_REFUSED, commit)


@pytest.mark.parametrize(("options", "seen", "good"), [
    ("", "20261125", True), ('valid-before="20261124"', "20261123", True), ('valid-before="20261124"', "20261125", False),
    ('valid-after="20261122"', "20261123", True), ('valid-after="20261122"', "20261121", False),
])  # fmt: skip
@pytest.mark.parametrize("zone", ["", "UTC", "Asia/Tokyo"])
def test_an_ssh_key_counts_as_it_stood_when_the_commit_came(
    repo: GitRepo, tmp_path: Path, ada: SshKey, options: str, seen: str, good: bool, zone: str, monkeypatch: pytest.MonkeyPatch
):
    """Whatever date a commit bears (2026-11-21 here, which its author chose): a key that is over signs nothing that is new.
    Instants of the file are local ones."""
    if zone:
        monkeypatch.setenv("TZ", zone)
    commit = signed(repo, ada)
    signers = allowed(tmp_path, f"ada@example.org {options} {ada.public}")
    seen_seconds = int(datetime.strptime(seen, "%Y%m%d").replace(tzinfo=ZoneInfo(zone or "UTC")).timestamp()) + 60
    time.tzset()
    try:
        if good:
            assert verified(repo.root / ".git", commit, signers, seen_seconds).signer == "ada@example.org"
        else:
            with pytest.raises(SourceError, match="no longer was when the commit came"):
                verified(repo.root / ".git", commit, signers, seen_seconds)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_gpg_key_counts_as_it_stood_when_the_commit_came(repo: GitRepo, tmp_path: Path):
    """A key of 2026 that is over in 2027: what was first seen in its time stays good, and nothing signed by it is new after."""
    key = gpg_key("old", expires="2026-12-01", made="20261110T000000")
    sign_with_gpg(repo, key)
    commit = repo.commit(BASE, "signed")
    keys = tmp_path / "keys.asc"
    keys.write_bytes(key.public)
    end_gpg(key)
    shutil.rmtree(key.home, ignore_errors=True)
    signers = Signers(gpg_keys_file=keys)
    day = {name: int(datetime.fromisoformat(f"{name}T12:00:00+00:00").timestamp()) for name in ("2026-11-20", "2026-12-05")}
    assert verified(repo.root / ".git", commit, signers, day["2026-11-20"]).fingerprint == key.fingerprint
    with pytest.raises(SourceError, match="the key has expired"):
        verified(repo.root / ".git", commit, signers, day["2026-12-05"])


def test_where_no_program_may_be_started(repo: GitRepo, tmp_path: Path, ada: SshKey, monkeypatch: pytest.MonkeyPatch):
    """Temporary files on a file system without programs: said as that, and refused."""
    commit = signed(repo, ada)
    monkeypatch.setattr("reconciler.gitops.git.signer_keys.os.access", lambda *_: False)
    fault = refusal(repo, commit, allowed(tmp_path, f"ada@example.org {ada.public}")).fault
    assert (fault.code, fault.hint[:10]) == (FaultCode.SIGNATURE_REFUSED, "set TMPDIR")


def test_unsigned_commit(repo: GitRepo, tmp_path: Path, ada: SshKey):
    """Said as such, with what to do."""
    commit = repo.git("rev-parse", "HEAD")
    fault = refusal(repo, commit, allowed(tmp_path, f"ada@example.org {ada.public}")).fault
    assert (fault.code, fault.hint[:12]) == (FaultCode.UNSIGNED, "sign commits")


def test_signature_of_another_commit(repo: GitRepo, tmp_path: Path, ada: SshKey):
    """A good signature that was cut out of one commit and put into another is a bad one."""
    commit = signed(repo, ada)
    raw = repo.git("cat-file", "commit", commit)
    forged = repo.git(
        "hash-object", "-w", "-t", "commit", "--stdin", given=raw.replace("\n\nsigned", "\n\nforged").encode() + b"\n"
    )
    assert forged != commit
    fault = refusal(repo, forged, allowed(tmp_path, f"ada@example.org {ada.public}")).fault
    assert fault.code is FaultCode.SIGNATURE_REFUSED
    assert "the signature is bad" in fault.message


def test_named_signers_narrow_the_file(repo: GitRepo, tmp_path: Path, ada: SshKey, mallory: SshKey):
    """Of several in the file, only the named principals or fingerprints count."""
    commit = signed(repo, ada)
    file = allowed(tmp_path, f"ada@example.org {ada.public}", f"mallory@example.org {mallory.public}").allowed_signers_file
    for name in ("ada@example.org", ada.fingerprint):
        assert (
            verified(
                repo.root / ".git", commit, Signers(allowed_signers_file=file, names=frozenset([signer_name(name)])), SEEN
            ).commit
            == commit
        )
    for name in ("mallory@example.org", mallory.fingerprint):
        fault = refusal(repo, commit, Signers(allowed_signers_file=file, names=frozenset([signer_name(name)]))).fault
        assert "not one of the named signers (ada@example.org, SHA256:" in fault.message


def test_keys_in_the_tree_and_in_the_repository_do_not_count(repo: GitRepo, tmp_path: Path, ada: SshKey, mallory: SshKey):
    """A pull request that brings its own list of signers, and configuration of the cache that names one."""
    own = f"mallory@example.org {mallory.public}\n"
    sign_with_ssh(repo, mallory)
    commit = repo.commit({".git-allowed-signers": own, "allowed_signers": own})
    repo.git("config", "gpg.ssh.allowedSignersFile", str(repo.root / "allowed_signers"))
    fault = refusal(repo, commit, allowed(tmp_path, f"ada@example.org {ada.public}")).fault
    assert fault.code is FaultCode.SIGNATURE_REFUSED


def test_gpg_signature(repo: GitRepo, tmp_path: Path, grace: GpgKey):
    """Good with the exported key; the fingerprint may be named."""
    sign_with_gpg(repo, grace)
    commit = repo.commit(BASE, "signed")
    keys = tmp_path / "keys.asc"
    keys.write_bytes(grace.public)
    for names in (frozenset[SignerName](), frozenset([signer_name(grace.fingerprint)])):
        found = verified(repo.root / ".git", commit, Signers(gpg_keys_file=keys, names=names), SEEN)
        assert (found.fingerprint, found.signer) == (grace.fingerprint, "grace <grace@example.org>")
    assert (
        refusal(repo, commit, Signers(gpg_keys_file=keys, names=frozenset([signer_name("0" * 40)]))).fault.code
        is FaultCode.SIGNATURE_REFUSED
    )


def test_gpg_signature_of_a_subkey(repo: GitRepo, tmp_path: Path, grace: GpgKey):
    """People name the fingerprint of their primary key, and sign with a subkey: the one or the other may be named."""
    key, subkey = gpg_subkey(grace)
    sign_with_gpg(repo, key)
    repo.git("config", "user.signingKey", f"{subkey}!")
    commit = repo.commit(BASE, "signed by a subkey")
    keys = tmp_path / "keys.asc"
    keys.write_bytes(key.public)
    assert subkey != key.fingerprint
    for name in (key.fingerprint, subkey):
        signers = Signers(gpg_keys_file=keys, names=frozenset([signer_name(name)]))
        assert verified(repo.root / ".git", commit, signers, SEEN).fingerprint == subkey
    assert (
        refusal(repo, commit, Signers(gpg_keys_file=keys, names=frozenset([signer_name("0" * 40)]))).fault.code
        is FaultCode.SIGNATURE_REFUSED
    )


def test_gpg_signature_where_only_ssh_is_allowed(repo: GitRepo, tmp_path: Path, grace: GpgKey, ada: SshKey):
    """A key that nobody configured cannot be checked."""
    sign_with_gpg(repo, grace)
    commit = repo.commit(BASE, "signed")
    fault = refusal(repo, commit, allowed(tmp_path, f"ada@example.org {ada.public}")).fault
    assert fault.code is FaultCode.SIGNATURE_REFUSED


@pytest.mark.parametrize("content", [b"no key", b""])
def test_keys_that_are_none(repo: GitRepo, tmp_path: Path, content: bytes, capfd: pytest.CaptureFixture[str]):
    """A file of keys that gpg cannot read makes every commit refused, by its name; gpg itself prints nothing here."""
    keys = tmp_path / "keys.asc"
    keys.write_bytes(content)
    commit = repo.git("rev-parse", "HEAD")
    capfd.readouterr()
    assert "gpg cannot read the configured keys" in refusal(repo, commit, Signers(gpg_keys_file=keys)).fault.message
    assert capfd.readouterr() == ("", "")


def test_file_of_signers_that_went_away(repo: GitRepo, tmp_path: Path):
    """Fails closed."""
    gone = Signers(allowed_signers_file=tmp_path / "gone")
    assert re.search("gone: No such file", refusal(repo, repo.git("rev-parse", "HEAD"), gone).fault.message)


COMMIT = "c" * 40


@pytest.fixture
def answer(tmp_path: Path) -> Callable[..., Signature]:
    """What is made of an answer of git, one that this program gives in its place."""

    def ask(*facts: str, code: int = 0, names: frozenset[SignerName] = frozenset()) -> Signature:
        (tmp_path / "facts").write_bytes("\0".join(facts).encode() + b"\n")
        program = tmp_path / "git"
        program.write_text(f"#!/bin/sh\ncat {tmp_path}/facts\nexit {code}\n")
        program.chmod(0o755)
        return verified(tmp_path, COMMIT, Signers(names=names), SEEN, str(program))

    return ask


GPG, SSH = "A" * 40, "SHA256:" + "k" * 43


@pytest.mark.parametrize(("facts", "name", "good"), [
    ((GPG, "B" * 40, "Ann"), GPG, True), ((GPG, "B" * 40, "Ann"), "B" * 40, True), ((GPG, "", "Ann"), "Ann", False),
    ((GPG, "", "B" * 40), "B" * 40, False), ((GPG, "", SSH), SSH, False), ((SSH, "", "Ann"), "Ann", True),
    ((SSH, "", "Ann"), SSH, True), ((SSH, "", GPG), GPG, False), ((SSH, GPG, "Ann"), GPG, False),
    ((SSH, "", "Ann"), "Ben", False),
])  # fmt: skip
def test_a_name_is_compared_with_its_own_kind(
    answer: Callable[..., Signature], facts: tuple[str, str, str], name: str, good: bool
):
    """Key or primary key by fingerprint, the principal of an SSH key by name; what a user ID says counts for nothing."""
    names = frozenset([signer_name(name)])
    if good:
        assert answer(COMMIT, "G", *facts, names=names).fingerprint == facts[0]
        return
    with pytest.raises(SourceError, match="not one of the named signers"):
        answer(COMMIT, "G", *facts, names=names)


@pytest.mark.parametrize(("text", "kind", "value"), [
    (SSH, SignerKind.SSH_KEY, SSH), ("a" * 40, SignerKind.GPG_KEY, GPG), (" ".join(["AAAA"] * 10), SignerKind.GPG_KEY, GPG),
    ("B" * 64, SignerKind.GPG_KEY, "B" * 64), ("ann@example.org", SignerKind.PRINCIPAL, "ann@example.org"),
    ("*@example.org", SignerKind.PRINCIPAL, "*@example.org"), ("beef", SignerKind.PRINCIPAL, "beef"),
])  # fmt: skip
def test_what_a_name_is(text: str, kind: SignerKind, value: str):
    """Told by its form."""
    assert signer_name(text) == SignerName(kind, value)


@pytest.mark.parametrize(("text", "told"), [
    ("SHA256:" + "k" * 42, "incomplete fingerprint"),
    ("SHA256:", "incomplete fingerprint"), ("0123456789ABCDEF", "incomplete fingerprint"),
    ("0x01234567", "incomplete fingerprint"), ("a" * 41, "incomplete fingerprint"), ("", "invalid principal"),
    ("Ann <ann@example.org>", "invalid principal"), ("ann@x,ben@x", "invalid principal"),
])  # fmt: skip
def test_what_names_nobody(text: str, told: str):
    """A fingerprint that was cut short, and what a user ID looks like: said at once, not when a commit is refused."""
    with pytest.raises(SignerNameError, match=told):
        signer_name(text)


def test_a_name_that_no_file_can_answer():
    """A principal goes with SSH keys, a fingerprint with keys of its kind."""
    assert signer_names([GPG, SSH, "Ann"], ssh=True, gpg=True) == {signer_name(text) for text in (GPG, SSH, "Ann")}
    for text, ssh in (("Ann", False), (SSH, False), (GPG, True)):
        with pytest.raises(SignerNameError, match="the only keys given are"):
            signer_names([text], ssh=ssh, gpg=not ssh)


@pytest.mark.parametrize(("facts", "code"), [
    ((COMMIT, "G", "KEY", "PRIMARY", "Ann"), 1), (("d" * 40, "G", "KEY", "PRIMARY", "Ann"), 0),
    ((COMMIT, "G", "KEY", "PRIMARY"), 0), ((COMMIT, "G", "KEY", "PRIMARY", "Ann", "more"), 0), (("",), 0),
])  # fmt: skip
def test_answers_that_are_none(answer: Callable[..., Signature], facts: tuple[str, ...], code: int):
    """A command that failed, another commit, too little or too much: nothing of it is believed."""
    with pytest.raises(SourceError, match="cannot check the signature: git gives no answer") as refused:
        answer(*facts, code=code)
    assert (refused.value.fault.code, refused.value.fault.revision) == (FaultCode.SIGNATURE_REFUSED, COMMIT)


@pytest.mark.parametrize(("state", "told"), [
    ("B", "the signature is bad"), ("U", "not among the allowed signers"), ("X", "the signature has expired"),
    ("Y", "the key has expired"), ("R", "the key was revoked"), ("E", "not among the allowed signers, or"),
    ("Q", "git calls the signature 'Q'"),
])  # fmt: skip
def test_states_that_git_knows(answer: Callable[..., Signature], state: str, told: str):
    """Only G is good; who it is said to be of is told where that is known."""
    for facts, who in ((("KEY", "P", "Ann"), " (Ann, KEY)"), (("KEY", "", ""), " (KEY)"), (("", "", ""), "")):
        with pytest.raises(SourceError) as refused:
            answer(COMMIT, state, *facts)
        fault = refused.value.fault
        assert (fault.code, fault.revision) == (FaultCode.SIGNATURE_REFUSED, COMMIT)
        assert fault.message.startswith("commit cccccccccccc: ")
        assert told in fault.message
        assert fault.message.endswith(who)
    assert (fault.message.endswith(")"), fault.hint[:19]) == (False, "the allowed signers")
