"""The page that explains one outcome of the last plan: `/explain/pod/NAMESPACE/NAME`, `/explain/node/NAME`,
`/explain/group/NAME`, `/explain/value/GROUP/FIELD`; told as far as `?group=`, `&node=` and `&namespace=` say, each of which may
stand there more than once.
"""

import hashlib
import threading
import traceback
from collections.abc import Callable
from urllib.parse import parse_qs

from reconciler.control.log import Log
from reconciler.control.pages.route import JSON, Answer, Request, Route
from reconciler.control.turn.loop import Decided
from reconciler.plan.narrowed import Chosen, nothing_matches
from reconciler.plan.plan import Plan
from reconciler.rendering.explanation.case import Case
from reconciler.rendering.explanation.document import document_json
from reconciler.rendering.explanation.question import KINDS, UnknownSubjectError, explained, explained_lines

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
        found = last()
        if found is None:
            return Answer(status=503, body=b"no plan yet: the leader has it, once its first turn has ended\n")
        plan, decided = found
        chosen = _chosen(request.query)
        if chosen is None:
            return Answer(status=400, body=f"what may be asked for: {', '.join(_FILTERS)}, at most {_MOST_FILTERS}\n".encode())
        if wrong := nothing_matches(chosen, plan, {shape.namespace for shape in decided.world.pod_shapes}):
            return Answer(status=404, body=f"{wrong}\n".encode())
        case = Case.of(decided.world, decided.policy, plan, decided.now_seconds, decided.memory, chosen)
        try:
            if request.headers.get("accept", "").startswith("text/plain"):
                return Answer(body=("\n".join(explained_lines(case, what, subject, _WIDTH)) + "\n").encode())
            return Answer(content_type=JSON, body=document_json(explained(case, what, subject)).encode())
        except UnknownSubjectError as error:
            return Answer(status=404, body=f"{error}\n".encode())

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


# Pages that could not be made: who asks is told nothing, the log is.


def request_digest(request: Request) -> str:
    """The same for the same request, and nothing can be read from it, as for a command that ends by a defect."""
    digest = hashlib.sha256("\0".join((request.method, request.path)).encode("utf-8", "surrogateescape"))
    digest.update(b"\0" + request.body)
    return f"sha256:{digest.hexdigest()[:12]}"


class PageFaults:
    """What an `HttpServer` calls for a page that broke: counts each by its path, logs it once until another defect breaks it."""

    def __init__(self, log: Log, count: Callable[[str], None] = lambda _: None) -> None:
        """`count` is given the path of the route."""
        self._log = log
        self._count = count
        self._lock = threading.Lock()
        self._said: dict[str, str] = {}

    def __call__(self, route: Route, request: Request, error: Exception) -> None:
        """One page of `route` broke for `request`."""
        self._count(route.path)
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{frame.name}:{frame.lineno}"
        message = f"{route.path} could not be made: {type(error).__name__}: {error}"
        with self._lock:
            if self._said.get(route.path) == f"{where} {message}":
                return
            self._said[route.path] = f"{where} {message}"
        self._log.error("PageFailed", message, path=route.path, where=where, inputs=request_digest(request))
