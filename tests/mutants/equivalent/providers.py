"""Changes of `reconciler/providers` that change nothing that anybody could see."""

_WIDEST = "return judge(facts, Terms(adopt_from=managers, human_hold_seconds=0, now_seconds=1 << 40, first_seen_seconds=0))"
_LONG_AGO = (
    "the instant is later than any write by ten thousands of years: a second more or less, or as many years, decide nothing"
)
_NOBODYS = "a target without replicas is nobody's to write: refused before"

EQUIVALENT: dict[str, dict[str, str]] = {
    "reconciler/providers/ownership_guard.py": {
        f"0 -> 1 in: {_WIDEST}": _LONG_AGO,
        f"1 -> 2 in: {_WIDEST}": _LONG_AGO,
        f"40 -> 41 in: {_WIDEST}": _LONG_AGO,
    },
    "reconciler/providers/target_mark.py": {
        "64 -> 65": "a thousandth more or less of what has room for four times as much",
        "1024 -> 1025": "a thousandth more or less of what has room for four times as much",
    },
    "reconciler/providers/machines/machine_rules.py": {
        "0 -> 1 in: replicas = (reading.facts.replicas or 0) - before": _NOBODYS,
    },
    "reconciler/providers/machines/removal.py": {
        "reading.facts.replicas or 0 -> reading.facts.replicas": _NOBODYS,
        "0 -> 1 in: replicas = (facts.replicas or 0) - fewer": _NOBODYS,
        "facts.replicas or 0 -> facts.replicas in: replicas = (facts.replicas or 0) - fewer": _NOBODYS,
        "0 -> 1 in: if asked < _WORTH_LISTING or asked * 2 < (reading.facts.replicas or 0):": (
            "eight are more than one, and than none"
        ),
        "outcome is None and answer is not None -> outcome is None": ("one that is gone is refused by `unfit`: it has ended"),
        (
            "current is not None and mark is not None and (current.deleting or self._lowered(reading, mark)) -> "
            "mark is not None and (current.deleting or self._lowered(reading, mark))"
        ): ("only what was found bears a mark"),
    },
    "reconciler/providers/machines/marks.py": {
        (
            "machine is None or machine.mark is None or self.own(machine) is not None -> "
            "machine.mark is None or self.own(machine) is not None"
        ): ("one that is gone was refused by `unfit` before"),
        "machine is None or mark is None -> mark is None": "nothing covers one that is gone",
        "0 -> 1 in: return DeleteMark(self._owner, reading.facts.generation, reading.facts.replicas or 0)": _NOBODYS,
        "reading.facts.replicas or 0 -> reading.facts.replicas": _NOBODYS,
    },
}
