"""What follows a write that was refused or failed: what the loop does next, and what the reader can do."""

import msgspec

from reconciler.plan.plan import ActionKind
from reconciler.values.instant import instant_text
from reconciler.values.two_sentences import two_sentences


class Aftermath(msgspec.Struct, frozen=True):
    """Two clauses without an end mark: `loop` is what the loop does, `reader` what a person can do."""

    loop: str
    reader: str


_READER = {
    "Conflict": "leave spec.replicas out of what that manager writes, or name it in spec.adoptFrom",
    "Stale": "nothing, unless it lasts: then find out what writes this object all the time",
    "NotFound": "if the target was deleted for good, remove its NodeGroup from git",
    "Refused": "the platform does not allow this size or change. Correct the value that the message names",
    "Denied": "grant the right that the message names. `reconciler doctor` lists the missing rights",
    "Unavailable": "nothing, unless it lasts: then check the API that the message names",
    "Unknown": "nothing: the next read of the target says whether it was written",
    "PassedOver": "find out what else deletes machines of this group",
    "Failed": "fix the cause that the message names. `reconciler hold GROUP` and then `--release` end the back-off",
}
"""By the code of the write (`providers.contract.WriteCode`)."""
_ANY = "read the message. The log lists every attempt"
_NODE_STAYS = "remove the obstacle that the message names, or do nothing: the node stays as long as it is needed"
_HELD = "the group is held while that manager owns spec.replicas"


def aftermath(kind: ActionKind, code: str, period_seconds: int, retry_seconds: int = 0) -> Aftermath:
    """What follows, by the code of the write. The loop decides again every `period_seconds`; `retry_seconds` is the instant until
    which it does not try again, 0 where nothing keeps it from trying.

    SOURCE: `decisions.remember.settle` says what backs off and which timers start again, `decisions.ownership` what is held.
    """
    again = f"retry at {instant_text(retry_seconds)}" if retry_seconds else f"retry in {period_seconds} s"
    if kind is ActionKind.REMOVE_NODE:
        timer = again if retry_seconds or code == "Unavailable" else "its unneeded time starts again"
        return Aftermath(two_sentences("the node takes pods again", timer), _READER.get(code, _NODE_STAYS))
    match code:
        case "Conflict":
            loop = two_sentences(again, _HELD)
        case "Unavailable" if not retry_seconds:
            loop = f"tried again every {period_seconds} s"
        case "Unknown":
            loop = f"the target is read again in {period_seconds} s"
        case "Refused" | "Failed" if retry_seconds:
            loop = two_sentences("the group backs off", again)
        case _:
            loop = again
    return Aftermath(loop, _READER.get(code, _ANY))
