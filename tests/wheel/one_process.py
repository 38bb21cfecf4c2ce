"""Runs commands of the product that stands on the path, each in a fork of this process, which has imported it once.

A list of argument lists comes as JSON on standard input; a list of [exit code, output, errors] goes to standard output. A fork
has its own memory, folder and environment, as a process of its own has; what it does not show is that the interpreter starts.
"""

import json
import os
import sys
import tempfile
from typing import IO

import kubernetes
import kubernetes.client

import reconciler.decisions.decide
import reconciler.rendering.printers.html.plan
from reconciler.cli.main import main


def ran(words: list[str], into: tuple[IO[bytes], IO[bytes]]) -> int:
    """The exit code of one command that writes into two files."""
    child = os.fork()
    if child == 0:
        for number, file in enumerate(into, 1):
            os.dup2(file.fileno(), number)
        sys.argv = ["reconciler", *words]
        main()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


__all__ = ["kubernetes", "reconciler"]  # so many modules that a command asks for only where it needs them

answers = []
for one in json.load(sys.stdin):
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = ran(one, (out, err))
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode())
        answers.append([code, *said])
json.dump(answers, sys.stdout)
