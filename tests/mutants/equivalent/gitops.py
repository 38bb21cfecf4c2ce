"""Changes of `reconciler/gitops` that change nothing that anybody could see."""

_AT_ONCE = "it is how much is read or unpacked at once: what comes out is the same bytes"
_AN_INSTANT = "no clock is read at the very instant of a deadline"
_THREE_PIPES = "all three are pipes, since that is how the process is made: the words are for the type checker"
_PIPES = ("process.stdin is None", "process.stdout is None", "process.stderr is None")
_ONE_MORE = "one byte more than is allowed is seen as well as two"
_HOW_HARD = "it is how hard the content is packed: what it unpacks to is the same"
EQUIVALENT: dict[str, dict[str, str]] = {
    "reconciler/gitops/git/repository.py": {
        "git.Git.GIT_PYTHON_GIT_EXECUTABLE or 'git' -> git.Git.GIT_PYTHON_GIT_EXECUTABLE and 'git'": (
            "the one that was found is the one of that name on the PATH"
        ),
    },
    "reconciler/gitops/git/git_command.py": {
        "1 -> 2 in: _CHUNK_BYTES = 1 << 16": _AT_ONCE,
        "16 -> 17 in: _CHUNK_BYTES = 1 << 16": _AT_ONCE,
    }
    | {
        f"{' or '.join(_PIPES)} -> {other}": _THREE_PIPES
        for other in (
            f"{_PIPES[0]} and {_PIPES[1]} and ({_PIPES[2]})",
            *(" or ".join(pipe for pipe in _PIPES if pipe != left) for left in _PIPES),
        )
    },
    "reconciler/gitops/pull_requests/job_outputs.py": {
        "900000 -> 900001": "a limit that keeps its distance from GitHub's own: the bytes are counted besides",
    },
    "reconciler/gitops/snapshots/publish.py": {
        "6 -> 7": _HOW_HARD,
    },
    "reconciler/gitops/snapshots/snapshot_archive.py": {
        "1 -> 2 in: data = unpacker.decompress(data, most + 1)  # for zlib a bound of zero means none": _ONE_MORE,
    },
    "reconciler/gitops/snapshots/committed_snapshot.py": {
        "1 -> 2": _ONE_MORE,
    },
    "reconciler/gitops/whole_file.py": {
        "True -> False": "a neighbour that could not be made is missed by the same error that is raised",
    },
    "reconciler/gitops/sources/archive.py": {
        "1048576 -> 1048577": _AT_ONCE,
    },
    "reconciler/gitops/sources/directory_source.py": {
        "1 -> 2": _ONE_MORE,
        "False -> True": "of links only those to files get here, and a file is no directory either way",
    },
    "reconciler/gitops/sources/download.py": {
        "65536 -> 65537": _AT_ONCE,
        "time.monotonic() > deadline -> time.monotonic() >= deadline": _AN_INSTANT,
    },
}
