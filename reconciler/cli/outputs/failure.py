"""How errors reach a user: one sentence for what they can fix, a place to report what they cannot."""

import errno
import os
import sys
from collections.abc import Sequence

import click

from reconciler import __version__

EXIT_OK, EXIT_ERROR, EXIT_CHANGES, EXIT_CONFLICT, EXIT_TESTS_FAILED = 0, 1, 2, 3, 4
EXIT_NOT_DECIDED, EXIT_POLICY_REFUSED = 5, 6
EXIT_INTERRUPTED = 130
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
REPORT_TO = "the project's issue tracker"


class InputError(click.ClickException):
    """Bad input that the message explains; printed as `error: …` on stderr, exit code 1."""

    exit_code = EXIT_ERROR

    def show(self, file: object = None) -> None:
        """Print the message to stderr."""
        from reconciler.cli.outputs.telling import tell

        tell(f"error: {self.message}")


class ReaderGoneError(Exception):
    """Nobody reads our output any more. Not an OSError: click would make exit code 1 of it, as if the command had failed."""


def guarded(command: click.Command, argv: Sequence[str] | None) -> int:
    """Run `command`; the exit code. No traceback reaches the terminal unless RECONCILER_DEBUG is set."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if sys.stdout is None:
        click.echo("error: standard output is closed. Send it to a file, a pipe or /dev/null", err=True)
        return EXIT_ERROR
    try:
        result = command.main(args=arguments, prog_name="reconciler", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        _shown_plain(error)
        return EXIT_ERROR
    except click.ClickException as error:
        _shown_plain(error)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as end:
        # click makes an Abort of Ctrl-C, and of an end of input or a "no" at a question.
        interrupted = isinstance(end, KeyboardInterrupt) or isinstance(end.__cause__, KeyboardInterrupt)
        click.echo("interrupted" if interrupted else "aborted", err=True)
        return EXIT_INTERRUPTED if interrupted else EXIT_ERROR
    except ReaderGoneError:
        # The reader of a pipe went away (`| head`): end quietly, and keep the interpreter from flushing once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except Exception as error:
        # Here, since every `--help` would wait for them too.
        import hashlib
        import traceback

        from reconciler.cli.outputs.telling import tell

        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            # What could not be written is dropped, or the interpreter tries once more at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            click.echo(f"error: the output could not be written: {error.strerror}", err=True)
            return EXIT_ERROR
        if os.environ.get("RECONCILER_DEBUG"):
            traceback.print_exc()
        where = traceback.extract_tb(error.__traceback__)[-1]
        digest = hashlib.sha256("\0".join(arguments).encode()).hexdigest()[:12]
        tell(
            f"error: unexpected {type(error).__name__}: {error}\n"
            f"This is a defect of reconciler {__version__} at {where.name}:{where.lineno} (inputs sha256:{digest}).\n"
            f"Please report it to {REPORT_TO}. To print the whole trace, set RECONCILER_DEBUG=1."
        )
        return EXIT_ERROR
    return result if isinstance(result, int) else EXIT_OK


def _shown_plain(error: click.ClickException) -> None:
    """As click does, with `error:` as everywhere; a word of the command line may be a branch's name, which somebody else gave."""
    import io

    from reconciler.cli.outputs.telling import tell

    message = io.StringIO()
    error.show(file=message)
    if text := message.getvalue().rstrip("\n"):
        head, mark, rest = text.rpartition("\n\nError: ")
        tell(f"{head}\n\nerror: {rest}" if mark else text)
