"""The exit codes of commands."""

import re

import click

from docs.generator.commands import commands
from docs.generator.table import code, table
from reconciler.cli.outputs.failure import (
    EXIT_CHANGES,
    EXIT_CONFLICT,
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_NOT_DECIDED,
    EXIT_OK,
    EXIT_POLICY_REFUSED,
    EXIT_TESTS_FAILED,
)

_MEANING = {
    EXIT_OK: "Done. Also if the reader of a pipe went away.",
    EXIT_ERROR: "An error or wrong usage; the verdicts below as well. Requested data may still be on stdout.",
    EXIT_CHANGES: "Only with `--detailed-exitcode`: done, and there are changes.",
    EXIT_CONFLICT: "Only `preview`: the change cannot be merged, so nothing was decided.",
    EXIT_TESTS_FAILED: "Only `test` and `preview`: a policy test failed.",
    EXIT_NOT_DECIDED: "Only `status`: nobody leads, or the last decision is too old.",
    EXIT_POLICY_REFUSED: "Only `status`: a newer policy is refused.",
    EXIT_INTERRUPTED: "Ctrl-C.",
}
_SENTENCE = re.compile(r"[^.]*\bexit code\b.*?(?:\.|$)(?=\s|$)", re.I | re.S)


def exit_codes_page() -> str:
    """The codes, and every command with more details about them."""
    text = "# Exit codes\n\n" + table(["code", "meaning"], ([code(str(number)), words] for number, words in _MEANING.items()))
    text += "\nNo command ends with another code, unless a signal ended it.\n\n## Details by command\n\n"
    return text + table(["command", "exit code"], _said())


def _said() -> list[tuple[str, str]]:
    rows = []
    for name, command in commands().items():
        told = [" ".join(found.split()) for found in _SENTENCE.findall((command.help or "").split("\b")[0])]
        told += [
            f"`{option.opts[0]}`: {option.help}"
            for option in command.params
            if isinstance(option, click.Option) and "exitcode" in option.opts[0]
        ]
        if told:
            rows.append((code(name), " ".join(told)))
    return rows
