"""The page that explains one outcome of the last plan: `/explain/pod/NAMESPACE/NAME`, `/explain/node/NAME`,
`/explain/group/NAME`, `/explain/value/GROUP/FIELD`. `?group=`, `&node=` and `&namespace=` narrow it, and each may be given more
than once.
"""

from collections.abc import Callable
from urllib.parse import parse_qs

from reconciler.cluster.defects import judged
from reconciler.cluster.world import World
from reconciler.control.pages.route import JSON, Answer, Request, Route
from reconciler.control.turn.turn_report import Decided
from reconciler.plan.narrowed import Chosen, nothing_matches
from reconciler.plan.plan import Plan
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.explanation.document import explained
from reconciler.rendering.documents.explanation.subjects import KINDS, UnknownSubjectError
from reconciler.rendering.printers.json_text import json_text
from reconciler.rendering.printers.text.explanation.answer import explained_lines

PATH = "/explain/"
_WIDTH = 100
_FILTERS = ("group", "node", "namespace")
_MOST_FILTERS = 50


def explain_route(last: Callable[[], tuple[Plan, Decided] | None]) -> Route:
    """`last` gives the last plan with what it was decided from. The answer is the JSON of `explain -o json`, or its text where
    the asker accepts `text/plain` alone."""

    def answer(request: Request) -> Answer:
        what, _, subject = request.path.removeprefix(PATH).partition("/")
        if what not in KINDS or not subject:
            return Answer(status=404, body=f"explain one of {', '.join(KINDS)}: {PATH}pod/NAMESPACE/NAME\n".encode())
        latest = last()
        if latest is None:
            return Answer(status=503, body=b"no plan yet: the leader has it, once its first turn has ended\n")
        plan, decided = latest
        chosen = _chosen(request.query)
        if chosen is None:
            return Answer(status=400, body=f"what may be asked for: {', '.join(_FILTERS)}, at most {_MOST_FILTERS}\n".encode())
        if wrong := nothing_matches(chosen, plan, {shape.namespace for shape in decided.world.pod_shapes}):
            return Answer(status=404, body=f"{wrong}\n".encode())

        def explanation(world: World) -> Answer:
            case = Case.of(world, decided.policy, plan, decided.now_seconds, decided.memory, chosen)
            try:
                if request.headers.get("accept", "").startswith("text/plain"):
                    return Answer(body=("\n".join(explained_lines(case, what, subject, _WIDTH)) + "\n").encode())
                return Answer(content_type=JSON, body=json_text(explained(case, what, subject)).encode())
            except UnknownSubjectError as error:
                return Answer(status=404, body=f"{error}\n".encode())

        # The plan was made without objects that judging fails on.
        return judged(decided.world, explanation, decided.memory.defects)

    return Route(method="GET", path=PATH, answer=answer, details=True)


def _chosen(query: str) -> Chosen | None:
    """What a query asks about; None where it says anything else."""
    try:
        words = parse_qs(query, keep_blank_values=True, strict_parsing=bool(query), max_num_fields=_MOST_FILTERS)
    except ValueError:
        return None
    if not words.keys() <= set(_FILTERS):
        return None
    return Chosen(**{f"{name}s": tuple(words.get(name, ())) for name in _FILTERS})
