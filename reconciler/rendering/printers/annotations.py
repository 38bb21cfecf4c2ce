"""Problems as workflow commands, which GitHub Actions shows as annotations on the lines of a pull request.

SOURCE: GitHub's workflow commands: `::error file=…,line=…,col=…::message`; in the message `%`, CR and LF are percent-encoded, in
properties `:` and `,` as well. Only a line that begins with `::` is a command. No text of a policy can begin a line, since line
breaks are encoded.
"""

from reconciler.policy.problems.problem import Problem


def render_github(problems: tuple[Problem, ...]) -> str:
    """One command per problem."""
    return "".join(_command(problem) for problem in problems)


def _command(problem: Problem) -> str:
    place = problem.place
    properties = {
        "file": place.path,
        "line": str(place.line),
        "endLine": str(place.line),
        "col": str(place.column),
        "endColumn": str(place.column + problem.width),
        "title": problem.code,
    }
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    message = [problem.message]
    if problem.hint:
        message.append(f"hint: {problem.hint}")
    message += (f"see {related}: {label}" for related, label in problem.related)
    return f"::{problem.severity.value} {written}::{_message(chr(10).join(message))}\n"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
