"""Changes of `reconciler/gitops` that change nothing that anybody could see."""

_AT_ONCE = "it is how much is read or unpacked at once: what comes out is the same bytes"
_AN_INSTANT = "no clock is read at the very instant of a deadline"
EQUIVALENT: dict[str, dict[str, str]] = {
    "reconciler/gitops/sources/archive.py": {"1048576 -> 1048577": _AT_ONCE},
    "reconciler/gitops/sources/download.py": {
        "65536 -> 65537": _AT_ONCE,
        "time.monotonic() > deadline -> time.monotonic() >= deadline": _AN_INSTANT,
    },
}
