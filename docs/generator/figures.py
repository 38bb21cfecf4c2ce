"""The figures of the benchmarks."""

import json
from pathlib import Path

from docs.generator.table import table

_HISTORY = Path(__file__).resolve().parents[2] / "tests" / "benchmarks" / "history.json"


def figures_page() -> str:
    """One line per case of `make bench`."""
    history = json.loads(_HISTORY.read_text(encoding="utf-8"))
    rows = (
        (
            name,
            f"{figures[-1]['multiple']:g}",
            f"{min(figure['multiple'] for figure in figures[-10:]):g}",
            f"{figures[-1]['date']} ({figures[-1]['commit']})",
            f"{figures[-1]['peak_mib']:.0f} MiB" if "peak_mib" in figures[-1] else "",
            figures[-1].get("why", ""),
        )
        for name, figures in history.items()
    )
    return (
        "# Figures\n\nThese are the latest results of `make bench`, the newest in `tests/benchmarks/history.json`. "
        "Each multiple is processor time, divided by that of a fixed kernel. The same run measures this yardstick first. "
        "Multiply it by the yardstick of your machine (`make bench` prints it) to get seconds there. "
        "Python's garbage collector runs as rarely as in the product. "
        "`make bench-check` fails if a figure is above 1.5 times its multiple. It also fails if a figure is above 1.2 times the "
        "best of its last ten, and the newest does not say why.\n\n"
        "The Cluster Autoscaler's own time for the same is in brackets. It was measured "
        "earlier on a machine of the same kind; `loops` is the number of its loops.\n\n"
        + table(["case", "multiple", "best of ten", "measured", "peak memory of the process", "why slower"], rows)
    )
