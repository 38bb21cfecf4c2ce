"""The child process: bounded in time and output, and ended with everything that it started."""

import os
import select
import selectors
import signal
from pathlib import Path
from typing import NoReturn

import pytest

from reconciler.gitops.git import git_command
from reconciler.gitops.git.git_command import GitError, GitOutputError, GitTimeoutError, run_git
from tests.gitops.repositories import GitRepo


def program(path: Path, body: str) -> str:
    """A shell script in the place of git."""
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def ends(pid: int) -> bool:
    """Whether a process ends within ten seconds: a kill is delivered when the kernel comes to it."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], 10)[0])
    finally:
        os.close(watched)


def test_timeout_ends_the_whole_group(tmp_path: Path):
    """A child of the child that would go on for ever is killed too."""
    fake = program(tmp_path / "fake", f"sleep 1000 & echo $! > {tmp_path}/pid; wait")
    with pytest.raises(GitTimeoutError, match=r"did not end within 1 s"):
        run_git(tmp_path, ["rev-parse"], executable=fake, timeout_seconds=1)
    assert ends(int((tmp_path / "pid").read_text()))


def test_output_is_bounded(tmp_path: Path):
    """Endless output ends at the bound, on standard error it is only cut."""
    endless = program(tmp_path / "endless", "while :; do echo 0123456789; done")
    with pytest.raises(GitOutputError, match="more than 100000 bytes"):
        run_git(tmp_path, ["rev-parse"], executable=endless, most_bytes=100_000)
    noisy = program(tmp_path / "noisy", "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo done")
    printed = run_git(tmp_path, ["rev-parse"], executable=noisy)
    assert printed.out == b"done\n"
    assert printed.err == "x" * 65_536


def test_output_at_its_bound(tmp_path: Path):
    """So many bytes, and not one more."""
    five = program(tmp_path / "five", "printf 12345")
    assert run_git(tmp_path, ["rev-parse"], executable=five, most_bytes=5).out == b"12345"
    with pytest.raises(GitOutputError, match="more than 4 bytes"):
        run_git(tmp_path, ["rev-parse"], executable=five, most_bytes=4)


class Pipes(selectors.SelectSelector):
    """One pipe that has always something to say; how long anybody would wait for it is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float | None] = []

    def get_map(self):
        return {0: selectors.SelectorKey(0, 0, selectors.EVENT_READ, None)}

    def select(self, timeout: float | None = None):
        self.waits.append(timeout)
        return [(self.get_map()[0], selectors.EVENT_READ)]


@pytest.mark.parametrize(("now", "left"), [(0.0, 30.0), (29.0, 1.0), (29.5, 0.5)])
def test_what_is_left_of_the_time_is_waited_for(monkeypatch: pytest.MonkeyPatch, now: float, left: float):
    """To its end, and then nothing is looked at any more."""
    clock = iter([now, 30.0])
    monkeypatch.setattr(git_command.time, "monotonic", lambda: next(clock))
    pipes = Pipes()
    ready = git_command._ready(pipes, 30.0, 30.0)
    assert next(ready)[0].fd == 0
    with pytest.raises(GitTimeoutError, match="did not end within 30 s"):
        next(ready)
    assert pipes.waits == [left]


def test_large_input_and_output_at_once(tmp_path: Path):
    """Neither side waits for the other: more than any pipe holds, both ways."""
    echo = program(tmp_path / "echo", "exec cat")
    data = b"x" * (3 << 20)
    assert run_git(tmp_path, ["cat-file"], given=data, executable=echo).out == data


def test_a_child_that_writes_before_it_reads_on(tmp_path: Path):
    """It takes a page of what it is given, and the rest once its own megabyte was read: who waits until all is taken waits for
    ever."""
    writer = program(
        tmp_path / "writer", "dd bs=4096 count=1 of=/dev/null 2>/dev/null; head -c 1048576 /dev/zero; exec cat >/dev/null"
    )

    def too_late(*_: object) -> NoReturn:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(20)
    try:
        printed = run_git(tmp_path, ["cat-file"], given=b"x" * (1 << 20), executable=writer)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert len(printed.out) == 1 << 20


def test_input_that_nobody_reads(tmp_path: Path):
    """A child that ends without reading is no error of its own."""
    deaf = program(tmp_path / "deaf", "exec 0<&-; echo ok; exit 3")
    printed = run_git(tmp_path, ["cat-file"], given=b"x" * (3 << 20), executable=deaf)
    assert (printed.out, printed.code) == (b"ok\n", 3)


def test_no_git():
    """A program that is not there is said so."""
    with pytest.raises(GitError, match="cannot run git: No such file or directory"):
        run_git(Path("/nonexistent"), ["rev-parse"], executable="/nonexistent/git")


def test_environment_and_overrides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nothing is inherited but the path; prompts, system and user configuration, hooks and transports are switched off."""
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    show = program(tmp_path / "show", 'env; for word; do echo "argument $word"; done')
    lines = set(run_git(tmp_path, ["rev-parse"], executable=show).out.decode().splitlines())
    assert {
        "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ALLOW_PROTOCOL=none",
        "GIT_NO_LAZY_FETCH=1", "argument core.hooksPath=/dev/null", "argument protocol.allow=never",
    } <= lines  # fmt: skip
    assert not [line for line in lines if line.startswith(("GIT_EXTERNAL_DIFF", "AWS_"))]


def test_a_cat_that_answers_for_git_is_really_git(repo: GitRepo):
    """The same call with the real program reads an object."""
    printed = run_git(repo.root / ".git", ["cat-file", "-t", "HEAD"])
    assert (printed.out, printed.err, printed.code) == (b"commit\n", "", 0)
