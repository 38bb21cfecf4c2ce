"""One git command as a child process that can only read objects, within bounds of time and output. git reads the repository's own
configuration, which cannot be switched off. So everything in it that could start a program or open a connection is overridden
here. SOURCE: git's manual: `git` (environment variables), `git-config` (`protocol.allow`, `core.hooksPath`, `core.fsmonitor`),
`gitprotocol-v2`. Lazy fetches of partial clones use the transports that `GIT_ALLOW_PROTOCOL` forbids.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

TIMEOUT_SECONDS = 30.0
MAX_OUTPUT_BYTES = 16 << 20
_MAX_ERROR_BYTES = 64 << 10
_CHUNK_BYTES = 1 << 16

_OVERRULED = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.warnAmbiguousRefs=true",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
)
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
    "LANGUAGE": "C",
}
# A limit that is set before git starts holds for everything that git starts; setting it in the forked child of a process
# with threads could block for ever.
_LIMITED = ("/bin/sh", "-c", 'ulimit -f "$1" && shift && exec "$@"', "sh")
_KEPT = ("PATH", "TMPDIR", "SYSTEMROOT")


class GitError(Exception):
    """git could not be run or failed; the text states why, in git's words if it has some."""


class GitTimeoutError(GitError):
    """The command took too long, and was stopped with everything that it had started."""


class GitOutputError(GitError):
    """The command printed more than is allowed, and was stopped."""


class Printed(msgspec.Struct, frozen=True):
    """What a finished command printed; `code` is its exit code."""

    out: bytes
    err: str
    code: int


def run_git(
    git_dir: Path,
    arguments: Sequence[str],
    *,
    given: bytes = b"",
    executable: str = "git",
    most_bytes: int = MAX_OUTPUT_BYTES,
    timeout_seconds: float = TIMEOUT_SECONDS,
    settings: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    most_file_bytes: int | None = None,
) -> Printed:
    """Run `git ARGUMENTS` on the repository at `git_dir` with `given` on its standard input.

    `settings` (`name=value`) and `environment` win over the overrides here: a fetch needs one transport, a signature check its
    keys. `most_file_bytes` is the size of the largest file, such as a pack. The kernel stops a process that writes more
    (RLIMIT_FSIZE, in steps of 512 bytes).

    The child has no terminal. Of the environment it inherits only `PATH` and the place for temporary files. It has its own
    process group, which is killed if it takes longer than `timeout_seconds` or prints more than `most_bytes`. Raises `GitError`
    in both cases, and if git is not installed.
    """
    command = [executable, "--no-pager", f"--git-dir={git_dir}"]
    for setting in (*_OVERRULED, *settings):
        command += ["-c", setting]
    if most_file_bytes is not None:
        command = [*_LIMITED, str(most_file_bytes // 512), *command]
    try:
        process = subprocess.Popen(  # noqa: S603 - a list of words, the program is git, no word of others is an option
            [*command, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env=_environment(os.environ) | dict(environment or {}),
            start_new_session=True,
        )
    except OSError as error:
        raise GitError(f"cannot run git: {error.strerror or error}") from None
    try:
        out, err = _exchange(process, given, most_bytes, timeout_seconds)
        code = process.wait(timeout=timeout_seconds)
    except subprocess.TimeoutExpired:
        raise GitTimeoutError(f"git {arguments[0]} did not end within {timeout_seconds:g} s") from None
    finally:
        _end(process)
    return Printed(out, err.decode("utf-8", "replace"), code)


def _environment(inherited: Mapping[str, str]) -> dict[str, str]:
    return {name: inherited[name] for name in _KEPT if name in inherited} | {"HOME": "/nonexistent"} | _ENVIRONMENT


def _exchange(process: "subprocess.Popen[bytes]", given: bytes, most_bytes: int, timeout_seconds: float) -> tuple[bytes, bytes]:
    """Feed standard input and drain both outputs at the same time, so that neither side waits for the other."""
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise GitError("git has no pipes")
    deadline = time.monotonic() + timeout_seconds
    printed: dict[int, bytearray] = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    bounds = {process.stdout.fileno(): most_bytes, process.stderr.fileno(): _MAX_ERROR_BYTES}
    left = memoryview(given)
    with selectors.DefaultSelector() as selector:
        for stream in (process.stdout, process.stderr):
            selector.register(stream, selectors.EVENT_READ)
        os.set_blocking(process.stdin.fileno(), False)
        selector.register(process.stdin, selectors.EVENT_WRITE)
        for key, _ in _ready(selector, deadline, timeout_seconds):
            if key.fileobj is process.stdin:
                left = _write(process.stdin.fileno(), left)
                if not left:
                    selector.unregister(process.stdin)
                    process.stdin.close()
                continue
            chunk = os.read(key.fd, _CHUNK_BYTES)
            if not chunk:
                selector.unregister(key.fileobj)
            room = bounds[key.fd] - len(printed[key.fd])
            if len(chunk) > room and key.fileobj is process.stdout:
                raise GitOutputError(f"git printed more than {most_bytes} bytes")
            printed[key.fd] += chunk[:room]
    out, err = (bytes(content) for content in printed.values())
    return out, err


def _ready(
    selector: selectors.BaseSelector, deadline: float, timeout_seconds: float
) -> Iterator[tuple[selectors.SelectorKey, int]]:
    while selector.get_map():
        left = deadline - time.monotonic()
        events = selector.select(left) if left > 0 else []
        if not events:
            raise GitTimeoutError(f"git did not end within {timeout_seconds:g} s")
        yield from events


def _write(descriptor: int, left: memoryview) -> memoryview:
    if not left:
        return left
    try:
        return left[os.write(descriptor, left[:_CHUNK_BYTES]) :]
    except BlockingIOError:
        return left
    except BrokenPipeError:
        return left[:0]


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill what is left of the process group, and close our ends.

    The number of a group stays reserved until its leader was waited for. So no other process is hit, and children that outlived
    the leader are.
    """
    if process.returncode is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            try:
                stream.close()
            except BrokenPipeError:
                continue
