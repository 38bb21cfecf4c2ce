"""What a workflow run of GitHub shows and hands on: annotations, step summary, outputs. Pure texts.

SOURCE: GitHub's workflow commands and limits. A step shows ten annotations of each severity and silently drops the rest. A step
has a summary of at most 1 MiB. Outputs of several lines are between delimiters that the value does not contain.
"""

from collections.abc import Mapping

from reconciler.policy.problems.problem import Problem, Severity
from reconciler.rendering.printers.annotations import render_github

SUMMARY_LIMIT = 900_000
"""UTF-16 units of a summary: below 1 MiB in bytes for all but exotic texts, see `summary_text`."""
_SUMMARY_BYTES = (1 << 20) - 4096
_MOST_ANNOTATIONS = 10


def annotations(problems: tuple[Problem, ...]) -> str:
    """Workflow commands for the first ten of each severity, and a line that counts the others."""
    shown: list[Problem] = []
    more = 0
    for severity in Severity:
        of_severity = [problem for problem in problems if problem.severity is severity]
        most = _MOST_ANNOTATIONS if len(of_severity) <= _MOST_ANNOTATIONS else _MOST_ANNOTATIONS - 1
        shown += of_severity[:most]
        more += len(of_severity) - most if len(of_severity) > most else 0
    notice = f"::notice title=reconciler::{more} more problems of the policy are in the log and in the summary\n" if more else ""
    return render_github(tuple(shown)) + notice


def summary_text(markdown: str) -> str:
    """The text for a step summary: whole lines within its bytes."""
    data = markdown.encode("utf-8", "replace")
    if len(data) <= _SUMMARY_BYTES:
        return markdown.rstrip("\n") + "\n"
    return data[:_SUMMARY_BYTES].decode("utf-8", "ignore").rpartition("\n")[0] + "\n"


def output_text(values: Mapping[str, str], delimiter: str) -> str:
    """Lines for GITHUB_OUTPUT. `delimiter` is random, so that no value can end itself and set another output.

    Raises `ValueError` if a value contains it nevertheless.
    """
    lines = []
    for name, value in values.items():
        if delimiter in value:
            raise ValueError(f"the output {name} contains the delimiter")
        lines += [f"{name}<<{delimiter}", value, delimiter]
    return "\n".join(lines) + "\n"
