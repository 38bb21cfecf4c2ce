"""The page that explains one outcome of the last plan: `/explain/pod/NAMESPACE/NAME`, `/explain/node/NAME`,
`/explain/group/NAME`, `/explain/value/GROUP/FIELD`."""

from collections.abc import Callable

from reconciler.control.pages.route import JSON, Answer, Request, Route
from reconciler.control.turn.report import Decided
from reconciler.plan.plan import Plan
from reconciler.rendering.explanation.case import Case
from reconciler.rendering.explanation.document import document_json
from reconciler.rendering.explanation.question import KINDS, UnknownSubjectError, explained, explained_lines

PATH = "/explain/"
_WIDTH = 100


def explain_route(last: Callable[[], tuple[Plan, Decided] | None]) -> Route:
    """`last` gives the last plan with what it was decided from. The answer is the JSON of `explain -o json`, or its text where
    the asker accepts `text/plain` alone."""

    def answer(request: Request) -> Answer:
        what, _, subject = request.path.removeprefix(PATH).partition("/")
        if what not in KINDS or not subject:
            return Answer(status=404, body=f"explain one of {', '.join(KINDS)}: {PATH}pod/NAMESPACE/NAME\n".encode())
        found = last()
        if found is None:
            return Answer(status=503, body=b"no plan yet: the leader has it, once its first turn has ended\n")
        plan, decided = found
        case = Case.of(decided.world, decided.policy, plan, decided.now_seconds, decided.memory)
        try:
            if request.headers.get("accept", "").startswith("text/plain"):
                return Answer(body=("\n".join(explained_lines(case, what, subject, _WIDTH)) + "\n").encode())
            return Answer(content_type=JSON, body=document_json(explained(case, what, subject)).encode())
        except UnknownSubjectError as error:
            return Answer(status=404, body=f"{error}\n".encode())

    return Route(method="GET", path=PATH, answer=answer, details=True)
