"""The committed figures."""

import json
from pathlib import Path

from docs.generator.table import table

_COMMITTED = Path(__file__).resolve().parents[2] / "tests" / "benchmarks" / "committed.json"


def figures_page() -> str:
    """One line per case of `make bench`."""
    committed = json.loads(_COMMITTED.read_text(encoding="utf-8"))
    rows = (
        (name, f"{figure['multiple']:g}", f"{figure['peak_mib']:.0f} MiB" if "peak_mib" in figure else "")
        for name, figure in committed.items()
    )
    return (
        "# Figures\n\nThese are the latest results of `make bench`, as committed in `tests/benchmarks/committed.json`. "
        "Each multiple is processor time, divided by that of a fixed kernel. The same run measures this yardstick first. "
        "Multiply it by the yardstick of your machine (`make bench` prints it) to get seconds there. "
        "`make bench-check` fails if a figure is above 1.5 times its multiple.\n\n"
        "The Cluster Autoscaler's own time for the same is in brackets. It was measured "
        "earlier on a machine of the same kind; `loops` is the number of its loops.\n\n"
        + table(["case", "multiple", "peak memory of the process"], rows)
    )
