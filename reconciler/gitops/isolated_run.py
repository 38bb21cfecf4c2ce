"""One run of a program of the user on a copy of a tree. The kernel isolates it: no sockets, bounded resources, few files to read.

The program can read its own file, the libraries of the system and the copy, and it can write to the copy only. Landlock
restricts it, or a mount namespace on kernels without Landlock. A machine that has neither runs nothing.

SOURCE: landlock(7), seccomp(2), mount_namespaces(7), and linux/audit.h for the names of machines. None of it needs a privilege.
"""

import ctypes
import os
import platform
import re
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from reconciler.gitops.bounded_child import ChildBounds
from reconciler.gitops.child_answer import hold_to_bounds
from reconciler.values.shown_text import shown

BOUNDS = ChildBounds(seconds=20, cpu_seconds=10, memory_bytes=4 << 30, output_bytes=16 << 20)
"""A small runner has two processors and 2 GiB. `memory_bytes` is address space, of which Go reserves more than it uses."""
_DATA_BYTES = 1 << 30
"""What the program may fill."""
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/nix/store")
_MOST_STDERR_BYTES, _MOST_PLACES = 1 << 16, 3
_PLACE = re.compile(r"[\w.@+/-]+\.[A-Za-z]+(?::\d+)*")


class IsolatedRunError(Exception):
    """The message states why there is no output."""


def isolated_output(files: Mapping[str, bytes], place: str, words: tuple[str, ...]) -> bytes:
    """The output of the program `words[0]` in `place` of a copy of `files` (by path with `/`). Raises `IsolatedRunError`."""
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile() as made, tempfile.TemporaryFile() as errors:
        copy = Path(scratch).resolve() / "copy"
        tree, empty = copy / "tree", copy / "home"
        empty.mkdir(parents=True)
        _write(files, tree)
        program = str(Path(words[0]).resolve())
        isolate = _isolation(program, copy, tree / place)
        environment = {"HOME": str(empty), "TMPDIR": str(empty), "PATH": "", "HELM_PLUGINS": str(empty), "GOMEMLIMIT": "768MiB"}
        try:
            with subprocess.Popen(  # noqa: S603 - a program that the user has on the PATH
                words, executable=program, cwd=tree / place, env=environment, stdin=subprocess.DEVNULL,
                stdout=made, stderr=errors, start_new_session=True,
                preexec_fn=isolate,  # noqa: PLW1509 - commands have one thread
            ) as child:  # fmt: skip
                try:
                    code = child.wait(BOUNDS.seconds)
                except BaseException:
                    os.killpg(child.pid, signal.SIGKILL)
                    raise
        except subprocess.TimeoutExpired:
            raise IsolatedRunError(f"it took more than {BOUNDS.seconds:g} s") from None
        except (OSError, subprocess.SubprocessError):
            raise IsolatedRunError(f"cannot start {Path(words[0]).name} isolated from the network and from other files") from None
        if made.seek(0, os.SEEK_END) >= BOUNDS.output_bytes:
            # Cut by the kernel. A program that ignores a failed write ends as if that were all.
            bound = f"its output reaches the bound of {BOUNDS.output_bytes >> 20} MiB"
            raise IsolatedRunError(f"{bound}. Split it into smaller charts or kustomizations")
        if code != 0:
            errors.seek(0)
            raise IsolatedRunError(_ended(code, errors.read(_MOST_STDERR_BYTES).decode("utf-8", "replace"), files, place))
        made.seek(0)
        return made.read()


def _ended(code: int, said: str, files: Mapping[str, bytes], place: str) -> str:
    """How it ended, with the places in the tree that it names. Its words are not repeated: they may quote any file."""
    named = dict.fromkeys(where for match in _PLACE.finditer(said) if (where := _in_tree(match[0], files, place)))
    how = f"it was killed by {signal.Signals(-code).name}" if code < 0 else f"it ended with {code}"
    return f"{how}. The message names {', '.join([*named][:_MOST_PLACES])}" if named else how


def _in_tree(text: str, files: Mapping[str, bytes], place: str) -> str:
    """The path of the tree that ends a path, such as `prod/md.yaml:3` of `/tmp/x/tree/prod/md.yaml:3`."""
    path, colon, line = text.partition(":")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for start in range(len(parts)):
        end = "/".join(parts[start:])
        for known in (end, f"{place}/{end}"):
            if known in files:
                return f"{known}{colon}{line}"
    return ""


def _write(files: Mapping[str, bytes], tree: Path) -> None:
    """Only paths that stay below the tree: those that were read do."""
    tree.mkdir()
    for path, body in files.items():
        file = tree / path
        if ".." in PurePosixPath(path).parts or PurePosixPath(path).is_absolute():
            continue
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(body)
        except (OSError, ValueError):
            raise IsolatedRunError(f"the file name {shown(path)} cannot be written here") from None


_ARCHITECTURES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""Machine -> its audit value and the number of `socket`."""
_RINGS, _FOREIGN = 425, 0x40000000
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050001, 0x80000000
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER, _SIGNAL_WITH_PARENT = 38, 22, 2, 1
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06


def _filter(audit: int, socket: int) -> bytes:
    steps = (
        (_LOAD, 0, 0, 4), (_EQUAL, 1, 0, audit), (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0), (_AT_LEAST, 0, 1, _FOREIGN), (_RETURN, 0, 0, _KILL),
        (_EQUAL, 1, 0, socket), (_EQUAL, 0, 1, _RINGS), (_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW),
    )  # fmt: skip
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _isolation(program: str, copy: Path, directory: Path) -> Callable[[], None]:
    """What a child does to itself before it starts the program. Raises `IsolatedRunError` on a machine that cannot do it."""
    known = _ARCHITECTURES.get(platform.machine())
    if sys.platform != "linux" or known is None:
        raise IsolatedRunError("this machine cannot isolate a program from the network")
    libc = ctypes.CDLL(None, use_errno=True)
    readable = [*(path for path in _LIBRARIES if Path(path).exists()), program]
    confine = _landlock(libc, readable, copy) or _namespace(libc, readable, copy, directory)
    if confine is None:
        raise IsolatedRunError("this machine has neither Landlock nor mount namespaces to restrict what a program reads")
    steps = ctypes.create_string_buffer(_filter(*known))
    rules = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps) // 8, ctypes.addressof(steps)))

    def isolate() -> None:
        _call(libc.prctl, _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        confine()
        _call(libc.prctl, _SIGNAL_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        _call(libc.prctl, _SET_SECCOMP, _FILTER, ctypes.addressof(rules), 0, 0)
        # Last, since this process may have more than the program gets.
        hold_to_bounds(BOUNDS.cpu_seconds, BOUNDS.memory_bytes, BOUNDS.output_bytes, _DATA_BYTES)
        _ = steps

    return isolate


def _call(function: Callable[..., int], *words: int | bytes | None) -> int:
    """A call of the C library, with whole registers. Raises `OSError`."""
    result = function(*(ctypes.c_ulong(word) if isinstance(word, int) else word for word in words))
    if result < 0:
        raise OSError(ctypes.get_errno(), "cannot isolate the program")
    return result


_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _READ_FILE = 1 << 0, 1 << 2
_RIGHTS_OF_VERSIONS = ((1, 13), (2, 14), (3, 15), (5, 16))
"""The version of Landlock's interface -> how many rights on files it knows."""


def _landlock(libc: ctypes.CDLL, readable: Sequence[str], copy: Path) -> Callable[[], None] | None:
    """Restrict the files by Landlock; None if the kernel has none."""
    version = libc.syscall(*map(ctypes.c_ulong, (_CREATE_RULESET, 0, 0, _VERSION)))
    if version < 1:
        return None
    every = (1 << max(rights for since, rights in _RIGHTS_OF_VERSIONS if version >= since)) - 1
    handled = ctypes.c_uint64(every)

    def confine() -> None:
        rules = _call(libc.syscall, _CREATE_RULESET, ctypes.addressof(handled), ctypes.sizeof(handled), 0)
        for path, rights in (*((path, _READ_FILE | _EXECUTE) for path in readable), (str(copy), every & ~_EXECUTE)):
            beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, beneath))
            _call(libc.syscall, _ADD_RULE, rules, _PATH_BENEATH, ctypes.addressof(rule), 0)
            os.close(beneath)
        _call(libc.syscall, _RESTRICT_SELF, rules, 0)
        os.close(rules)

    return confine


_NEW_USERS, _NEW_MOUNTS = 0x10000000, 0x00020000
_READ_ONLY, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 1 << 5, 1 << 12, 1 << 14, 1 << 18
_KEPT = 2 | 4 | 8
"""nosuid, nodev and noexec: a remount must repeat them."""


def _namespace(libc: ctypes.CDLL, readable: Sequence[str], copy: Path, directory: Path) -> Callable[[], None] | None:
    """A root directory that has these files alone; None if the kernel does not let this user have one."""
    if not _may_unshare(libc):
        return None
    root = copy.with_name("root")
    points = {path: root / path.lstrip("/") for path in (*readable, str(copy))}
    for path, point in points.items():
        point.parent.mkdir(parents=True, exist_ok=True)
        if Path(path).is_dir():
            point.mkdir(exist_ok=True)
        else:
            point.touch()

    def confine() -> None:
        _call(libc.unshare, _NEW_USERS | _NEW_MOUNTS)
        _call(libc.mount, None, b"/", None, _RECURSIVE | _PRIVATE, None)
        for path, point in points.items():
            _call(libc.mount, os.fsencode(path), os.fsencode(point), None, _BIND | _RECURSIVE, None)
            if path != str(copy):
                flags = _BIND | _REMOUNT | _READ_ONLY | (os.statvfs(point).f_flag & _KEPT)
                _call(libc.mount, None, os.fsencode(point), None, flags, None)
        os.chroot(root)
        os.chdir(directory)

    return confine


def _may_unshare(libc: ctypes.CDLL) -> bool:
    child = os.fork()
    if child == 0:
        os._exit(0 if libc.unshare(_NEW_USERS | _NEW_MOUNTS) == 0 else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
