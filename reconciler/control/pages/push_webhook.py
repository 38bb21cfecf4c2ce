"""The webhook of a git host. A push makes the next look at the source come sooner."""

from collections.abc import Callable

import msgspec

from reconciler.control.pages.route import JSON, Answer, Request, Route
from reconciler.gitops.sources.webhook import STATUSES, Verdict, judged

PATH = "/webhook"
MAX_BODY_BYTES = 1 << 20


def webhook_route(secret: Callable[[], bytes], notify: Callable[[], None]) -> Route:
    """`secret` is read for each notification, so that it can be changed while the loop runs."""

    def answer(request: Request) -> Answer:
        verdict = judged(request.headers, request.body, secret())
        if verdict is Verdict.ACCEPTED:
            notify()
        body = msgspec.json.encode({"result": verdict.value})
        return Answer(status=STATUSES[verdict], content_type=JSON, body=body)

    return Route(method="POST", path=PATH, answer=answer, max_body_bytes=MAX_BODY_BYTES)
