"""The committed figures."""

import json
from pathlib import Path

from docs.generator.table import table

_COMMITTED = Path(__file__).resolve().parents[2] / "tests" / "benchmarks" / "committed.json"


def figures_page() -> str:
    """A line a case of `make bench`."""
    committed = json.loads(_COMMITTED.read_text(encoding="utf-8"))
    rows = (
        (name, f"{figure['multiple']:g}", f"{figure['peak_mib']:.0f} MiB" if "peak_mib" in figure else "")
        for name, figure in committed.items()
    )
    return (
        "# Figures\n\nWhat `make bench` measured last, as committed in `tests/benchmarks/committed.json`: processor time "
        "as a multiple "
        "of that of a fixed kernel, the yardstick, which the same run measures first. Times the yardstick of your machine "
        "(`make bench` "
        "prints it) is seconds there. `make bench-check` fails where a figure is above 1.5 times its multiple. In "
        "brackets: what the "
        "Cluster Autoscaler took for the same, measured earlier on a machine of the same kind; `loops`: how many of its own.\n\n"
        + table(["case", "multiple", "peak memory of the process"], rows)
    )
