"""`reconciler apply --plan-signers`: only a plan that a named key signed, byte for byte. Keys and signatures are real."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from tests.cli.commands.test_apply_signed import Removal, removal
from tests.gitops.signers import SshKey

__all__ = ["removal"]


@pytest.fixture
def plan(removal: Removal, tmp_path: Path) -> Path:
    """A copy of the plan that removes a node, without a signature."""
    return Path(shutil.copy(removal.directory / "plan.json", tmp_path / "plan.json"))


def sign(plan: Path, key: SshKey, namespace: str = "reconciler-plan") -> None:
    plan.with_name("plan.json.sig").unlink(missing_ok=True)
    words = ["ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", key.file, plan]
    subprocess.run(words, check=True, capture_output=True)


def words(removal: Removal, plan: Path, signers: Path | None = None) -> list[str]:
    place = ["--policy", removal.directory / "policies", "--cluster", removal.directory / "cluster", "--simulate"]
    return [str(word) for word in ("apply", plan, *place, "--plan-signers", signers or removal.allowed)]


def applied(removal: Removal, plan: Path, signers: Path | None = None) -> Result:
    return CliRunner().invoke(cli, words(removal, plan, signers), prog_name="reconciler", standalone_mode=False)


def refusal(capsys: pytest.CaptureFixture[str], removal: Removal, plan: Path, signers: Path | None = None) -> str:
    """Nothing is done and nothing printed; why."""
    code = guarded(cli, words(removal, plan, signers))
    told = capsys.readouterr()
    assert (code, told.out) == (1, "")
    return told.err


def test_a_signed_plan_is_carried_out(removal: Removal, plan: Path) -> None:
    sign(plan, removal.ada)
    result = applied(removal, plan)
    assert (result.exception, result.return_value) == (None, 0)
    assert "the plan was signed by ada@example.org" in result.stderr
    assert "general-1" in result.stdout


def test_one_of_several_principals(removal: Removal, plan: Path, tmp_path: Path) -> None:
    """A pattern, and two names for one key."""
    sign(plan, removal.ada)
    (tmp_path / "signers").write_text(f"bob@example.org {removal.mallory.public}\nada,eve,*@example.org {removal.ada.public}\n")
    assert applied(removal, plan, tmp_path / "signers").return_value == 0


def test_an_altered_plan(removal: Removal, plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the difference is a space."""
    sign(plan, removal.ada)
    text = plan.read_text()
    for altered in (text + " ", text.replace("general-1", "general-2"), ""):
        plan.write_text(altered)
        assert "the file differs from the signed one" in refusal(capsys, removal, plan)
    plan.write_text(text)
    assert applied(removal, plan).return_value == 0


def test_a_plan_without_a_signature(removal: Removal, plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = refusal(capsys, removal, plan)
    assert f"{plan}: the plan is not signed: there is no plan.json.sig" in told
    assert "ssh-keygen -Y sign -n reconciler-plan -f KEY" in told


def test_a_key_of_somebody_else(removal: Removal, plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sign(plan, removal.mallory)
    assert "its key is not among the allowed signers" in refusal(capsys, removal, plan)


def test_a_signature_for_another_purpose(removal: Removal, plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Such as that of a commit, or of any file."""
    for namespace in ("git", "file"):
        sign(plan, removal.ada, namespace)
        assert "the signature is not for 'reconciler-plan'" in refusal(capsys, removal, plan)


@pytest.mark.parametrize(("validity", "counts"), [
    ('valid-before="20200101"', False), ('valid-after="20990101"', False), ('valid-after="20200101"', True),
    ('namespaces="git"', False), ('namespaces="git,reconciler-plan"', True),
])  # fmt: skip
def test_keys_count_as_they_are_now(removal: Removal, plan: Path, tmp_path: Path, validity: str, *, counts: bool) -> None:
    """Whatever the file or its signature say about time."""
    sign(plan, removal.ada)
    os.utime(plan, (1_500_000_000, 1_500_000_000))
    (tmp_path / "signers").write_text(f"ada@example.org {validity} {removal.ada.public}\n")
    result = applied(removal, plan, tmp_path / "signers")
    assert (result.exception is None) == counts


@pytest.mark.parametrize(
    "signature", [b"", b"x" * 200_000, b"-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n"]
)
def test_what_is_no_signature(removal: Removal, plan: Path, capsys: pytest.CaptureFixture[str], signature: bytes) -> None:
    plan.with_name("plan.json.sig").write_bytes(signature)
    assert "it is not an SSH signature" in refusal(capsys, removal, plan)


def test_signers_that_cannot_be_read(removal: Removal, plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No file, and one without keys: nobody may sign."""
    sign(plan, removal.ada)
    assert "signers: no such file" in refusal(capsys, removal, plan, tmp_path / "signers")
    (tmp_path / "signers").write_text("\n# nobody\n")
    assert "its key is not among the allowed signers" in refusal(capsys, removal, plan, tmp_path / "signers")


def test_without_ssh(removal: Removal, plan: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    sign(plan, removal.ada)
    monkeypatch.setenv("PATH", "/nowhere")
    assert "cannot run ssh-keygen to check the signature" in refusal(capsys, removal, plan)


def test_a_plan_is_checked_before_it_is_read(removal: Removal, plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is signed and no plan is told as such."""
    plan.write_text(json.dumps({"formatVersion": "99.0"}))
    sign(plan, removal.ada)
    assert "the plan was signed by ada@example.org" in refusal(capsys, removal, plan)
