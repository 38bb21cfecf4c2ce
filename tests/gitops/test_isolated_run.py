"""What a program that renders a tree can reach, tried by bash, which needs no other program for it."""

from pathlib import Path

import msgspec
import pytest

from reconciler.gitops import isolated_run
from reconciler.gitops.isolated_run import IsolatedRunError, isolated_output

BASH = "/bin/bash"


@pytest.fixture(params=["Landlock", "a mount namespace"])
def confined(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to restrict what is read. Skipped where the kernel does not have the one."""
    if request.param != "Landlock":
        monkeypatch.setattr(isolated_run, "_landlock", lambda *_: None)
    try:
        output("echo")
    except IsolatedRunError as error:
        pytest.skip(f"this kernel lacks {request.param}: {error}")
    return request.param


def output(script: str, place: str = "prod", **files: str) -> str:
    """The output of a script that is in the tree."""
    tree = {f"{place}/script": script.encode(), **{path: text.encode() for path, text in files.items()}}
    return isolated_output(tree, place, (BASH, "script")).decode()


@pytest.mark.usefixtures("confined")
def test_only_the_copy_is_read(tmp_path: Path) -> None:
    """No file of the machine and none of the user, through `..` and links as well; whether it is there cannot be listed."""
    secret = tmp_path / "secret"
    secret.write_text("hidden\n")
    tries = [
        str(secret),
        "/etc/hostname",
        "/etc/passwd",
        "/proc/self/environ",
        f"/proc/self/root{secret}",
        "../../../../etc/passwd",
    ]
    script = "".join(f'read -r line < {path} && echo "read {path}: $line"\n' for path in tries)
    script += 'echo own; read -r line < script && echo "in the tree"; for one in /home/* /root/* /etc/*; do echo "$one"; done\n'
    said = output(script).splitlines()
    assert said[:4] == ["own", "in the tree", "/home/*", "/root/*"]
    assert set(said[4:]) <= {"/etc/*", "/etc/ld.so.cache"}


@pytest.mark.usefixtures("confined")
def test_only_the_copy_is_written(tmp_path: Path) -> None:
    """Not the libraries either, for a user that is root."""
    library = Path("/usr/lib/written-by-a-test")
    try:
        output(f"echo x > {tmp_path}/made; echo x > {library}; true")
        assert not (tmp_path / "made").exists()
        assert not library.exists()
    finally:
        library.unlink(missing_ok=True)
    assert output("echo x > own; read -r line < own; echo $line") == "x\n"


@pytest.mark.usefixtures("confined")
def test_no_socket_no_token_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of our environment, and no other program of the machine."""
    monkeypatch.setenv("GITHUB_TOKEN", "x")
    assert output('echo "token: $GITHUB_TOKEN"') == "token: \n"
    connect = "{ exec 3<>/dev/tcp/127.0.0.1/9; } 2>said; read -r line < said; echo $line"
    assert output(connect) == "script: socket: Operation not permitted\n"
    assert output("/usr/bin/env || echo none") == "none\n"


@pytest.mark.usefixtures("confined")
def test_bounds_are_those_of_a_small_runner() -> None:
    """1 GiB of data, 10 s of a processor, 16 MiB for a file."""
    assert output("ulimit -d; ulimit -t; ulimit -f") == f"{1 << 20}\n10\n{16 << 10}\n"


@pytest.mark.usefixtures("confined")
@pytest.mark.parametrize("end", ["true", "exit 7"])
def test_output_above_the_bound_is_no_output(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """A program that ignores a failed write, as helm does, ends well. What it wrote until then is not taken for the whole."""
    line, lines = "x" * 1023, 4 * 1024
    monkeypatch.setattr(isolated_run, "BOUNDS", msgspec.structs.replace(isolated_run.BOUNDS, output_bytes=2 << 20))
    script = f"trap '' XFSZ; for ((i = 0; i < {lines}; i++)); do echo {line}; done 2>said; {end}"
    with pytest.raises(
        IsolatedRunError, match=r"^its output reaches the bound of 2 MiB. Split it into smaller charts or kustomizations$"
    ):
        output(script)
    monkeypatch.setattr(isolated_run, "BOUNDS", msgspec.structs.replace(isolated_run.BOUNDS, output_bytes=(4 << 20) + 1))
    assert len(output(script.removesuffix(end) + "true")) == 4 << 20


@pytest.mark.usefixtures("confined")
def test_words_of_the_program_are_not_repeated() -> None:
    """They may quote any file. Places in the tree are named, however the program writes them."""
    words = "secret at $PWD/md.yaml:3: root:x:0:0 /etc/passwd.txt ../base/a.yaml"
    with pytest.raises(IsolatedRunError) as raised:
        output(f'echo "{words}" >&2; exit 7', **{"prod/md.yaml": "", "base/a.yaml": ""})
    assert str(raised.value) == "it ended with 7. The message names prod/md.yaml:3, base/a.yaml"
    with pytest.raises(IsolatedRunError, match=r"^it was killed by SIGKILL$"):
        output("kill -9 $$")


def test_a_machine_without_either_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says which mechanisms it lacks."""
    for name in ("_landlock", "_namespace"):
        monkeypatch.setattr(isolated_run, name, lambda *_: None)
    with pytest.raises(IsolatedRunError, match="neither Landlock nor mount namespaces"):
        output("echo")


def test_an_isolation_that_fails_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child ends before the program."""

    def refuse() -> None:
        raise OSError(1, "no")

    monkeypatch.setattr(isolated_run, "_landlock", lambda *_: refuse)
    with pytest.raises(IsolatedRunError, match="cannot start bash isolated from the network and from other files"):
        output("echo")


@pytest.mark.parametrize("name", ["a" * 256, "nul\0", "prod/script/below-a-file"])
def test_a_name_that_no_file_can_have(name: str) -> None:
    """git stores such names, so a pull request may have them."""
    with pytest.raises(IsolatedRunError, match="cannot be written here"):
        output("echo", **{name: "text"})
