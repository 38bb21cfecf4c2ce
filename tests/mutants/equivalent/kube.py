"""Changes of `reconciler/kube` that change nothing that anybody could see."""

_AT_ONCE = "it is how much is read from a socket at once: what comes out is the same bytes"
_TOGETHER = "draft and document are None together, and both are asked for type checkers alone"
EQUIVALENT: dict[str, dict[str, str]] = {
    "reconciler/kube/connection/transport.py": {
        "1048576 -> 1048577": _AT_ONCE,
        "time.monotonic() > deadline -> time.monotonic() >= deadline": ("no clock is read at the very instant of a deadline"),
        "False -> True in: redirect=False,": "the client library follows no redirect without retries either",
        "256 -> 257": ("it is how many idle connections are kept, and a watch holds one each: far fewer are there at once"),
    },
    "reconciler/kube/connection/line_stream.py": {
        "262144 -> 262145": _AT_ONCE,
    },
    "reconciler/kube/connection/backoff.py": {
        '0 -> 1 in: self._failure: tuple[str, int] = ("", 0)': "no failure is told by an empty name",
        "0 -> 1 in: failure = type(error).__name__, error.status if isinstance(error, ApiError) else 0": (
            "failures that are no answers are told apart by what they are"
        ),
    },
    "reconciler/kube/watching/object_store.py": {
        "0 -> 1 in: joined.add(key, value, 0)": "objects of a server come from no file: its number is told to nobody",
    },
    "reconciler/kube/leading/state.py": {
        "1 -> 2 in: content = unpacking.decompress(packed, entry.size_bytes + 1)": ("one byte more than was written is not it"),
    },
    "reconciler/kube/custom/custom_in_force.py": {
        (
            "bool(draft.document.target.name) and draft.sound('spec.target') and draft.sound('metadata.name') -> "
            "draft.sound('spec.target') and draft.sound('metadata.name')"
        ): ("a target without a name was read with a problem"),
        (
            "read.draft is None or document is None or (not names_target(read.draft)) -> "
            "document is None or not names_target(read.draft)"
        ): _TOGETHER,
        (
            "read.draft is None or document is None or (not names_target(read.draft)) -> "
            "read.draft is None or not names_target(read.draft)"
        ): _TOGETHER,
    },
    "reconciler/kube/custom/custom_policy.py": {
        "policy is None or draft is None -> draft is None": "where there is no policy there is no draft of it either",
    },
    "reconciler/kube/drain.py": {
        "True -> False": "that a document is a list counts where pages of it are missing, and none is here",
        "False -> True": "the newest instant in the pods is looked for and not used: the clock's is given",
    },
}
