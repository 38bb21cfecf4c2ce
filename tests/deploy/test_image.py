"""What can be said of the image without building it: no engine runs where these tests do."""

import fnmatch
import re
from pathlib import Path

import pytest

from reconciler.cli.main import main
from tests.deploy.rendered import deployment, overlay

ROOT = Path(__file__).resolve().parents[2]


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"(?m)^\s*#.*\n", "", (ROOT / "Dockerfile").read_text()).replace("\\\n", " ")
    return [(words[0], words[1]) for line in text.splitlines() if len(words := line.split(None, 1)) == 2]


def final_stage() -> list[tuple[str, str]]:
    found = instructions()
    start = max(number for number, (name, _) in enumerate(found) if name == "FROM")
    return found[start:]


def test_it_runs_as_the_numeric_user_of_the_manifests() -> None:
    """runAsNonRoot can only be checked by a kubelet for a number, and it is that of the Deployment."""
    (user,) = (value for name, value in final_stage() if name == "USER")
    pod = deployment(overlay("enforce"))["spec"]["template"]["spec"]["securityContext"]
    assert user == f"{pod['runAsUser']}:{pod['runAsGroup']}"
    assert any(f"useradd --uid {pod['runAsUser']} " in value for name, value in final_stage() if name == "RUN")


def test_its_base_is_one_digest() -> None:
    """One base for both stages, by digest: the tag beside it is only a name. What the digest names is not fetched here."""
    (base,) = (value for name, value in instructions() if name == "ARG")
    assert re.fullmatch(r"BASE=python:3\.1[1-9]-slim-\w+@sha256:[0-9a-f]{64}", base)
    assert len(set(base[-64:])) > 8
    said = (ROOT / "Dockerfile").read_text()
    assert said.count("@sha256:") == 1
    assert f"inspect {base.partition('=')[2].partition('@')[0]} " in said
    assert [value.split()[0] for name, value in instructions() if name == "FROM"] == ["${BASE}", "${BASE}"]


def test_its_entry_point_is_the_command() -> None:
    """The arguments of the Deployment are arguments of `reconciler`, and without any it explains itself."""
    found = dict(final_stage())
    assert (found["ENTRYPOINT"], found["CMD"]) == ('["reconciler"]', '["--help"]')
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0


def test_it_writes_nowhere_but_into_volumes() -> None:
    """The root file system is read-only: no bytecode is written, and home and work directory are a volume."""
    (container,) = deployment(overlay("enforce"))["spec"]["template"]["spec"]["containers"]
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    found = dict(final_stage())
    assert "PYTHONDONTWRITEBYTECODE=1" in found["ENV"]
    assert found["WORKDIR"] in mounts
    assert {item["value"] for item in container["env"] if item["name"] == "HOME"} <= mounts
    assert next(one for one in container["args"] if one.startswith("--git-cache=")).partition("=")[2] in mounts


def test_no_compiler_and_no_secret_reaches_it() -> None:
    """The compiler stays in the build stage; nothing is added from an address, no credential is an argument."""
    text = "\n".join(f"{name} {value}" for name, value in final_stage())
    assert "gcc" not in text
    assert not re.search(r"(?i)\bADD\b|https?://|token|password|secret", text)


def test_what_is_copied_is_let_through_and_nothing_else() -> None:
    """.dockerignore is a list of what may pass: it is what the build copies."""
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    passed = {line[1:] for line in lines if line.startswith("!")}
    copied = {
        part.removeprefix("./")
        for name, value in instructions()
        if name == "COPY" and "--from" not in value
        for part in value.split()
    }
    assert lines[0] == "*"
    assert passed == copied - {""}
    assert all((ROOT / name).exists() for name in passed)
    assert any(fnmatch.fnmatch("reconciler/scheduling/kernels/compiled_loops.x86_64.so", line) for line in lines[1:])
