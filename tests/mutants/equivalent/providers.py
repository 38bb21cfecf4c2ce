"""Changes of `reconciler/providers` that change nothing that anybody could see."""

_WIDEST = "return judge(facts, Terms(adopt_from=managers, human_hold_seconds=0, now_seconds=1 << 40, first_seen_seconds=0))"
_LONG_AGO = (
    "the instant is later than any write by ten thousands of years: a second more or less, or as many years, decide nothing"
)

EQUIVALENT: dict[str, dict[str, str]] = {
    "reconciler/providers/ownership_guard.py": {
        f"0 -> 1 in: {_WIDEST}": _LONG_AGO,
        f"1 -> 2 in: {_WIDEST}": _LONG_AGO,
        f"40 -> 41 in: {_WIDEST}": _LONG_AGO,
    },
    "reconciler/providers/machines/refusals.py": {
        "found is None or found.mark is None -> found.mark is None": "one that is gone was refused by `unfit` before",
    },
}
