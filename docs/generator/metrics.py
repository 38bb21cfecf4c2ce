"""Every metric that the loop exposes, read from its own output."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import cast

from prometheus_client.parser import text_string_to_metric_families

from docs.generator.table import code, table
from reconciler.control.pages.fleet_metrics import fleet_exposition
from reconciler.control.pages.metrics import exposition
from reconciler.control.turn.figures import Figures, Seen
from reconciler.decisions.situation.lead_times import LearnedLeadTime
from reconciler.plan.plan import Plan
from reconciler.plan.saved import read_saved

_TOP = Path(__file__).resolve().parents[2]
_UPSTREAM = "cluster_autoscaler_"


class _Shown:
    """Figures with one example of everything."""

    def seen(self) -> Seen:
        return Seen(
            plan=_plan(), turns=(("decided", 1),), actions=(("Resize", "Done", 1),), failed_pages=(("/", 1),),
            policy_revision="r", turn_seconds=((1.0, 1),),
            lead_times=(("a", LearnedLeadTime(requests=2, late=1, median_seconds=60, p95_seconds=None)),),
        )  # fmt: skip


def metrics_page() -> str:
    """Our own names, those of a fleet, then those of the Cluster Autoscaler."""
    rows = _rows(exposition(cast(Figures, _Shown()), cluster_autoscaler_names=True))
    fleet = _rows(fleet_exposition({}, clusters=("Here",), instances=1))
    head = ["metric", "type", "labels", "meaning"]
    return (
        "# Metrics\n\n`/metrics` of the loop has Prometheus' text format. Only the leader counts iterations and shows groups. "
        "Series of groups that are gone disappear with them.\n\n"
        + table(head, (row for row in rows if _UPSTREAM not in row[0]))
        + "\n## Of a fleet\n\nWith `run --fleet`, each metric above has the label `cluster` (`namespace/name` of its Cluster). "
        "An instance shows the loops that it holds. `state` is `NoPolicy`, `Problem`, `NoHolder`, `Here` or `Elsewhere`, as "
        "this instance sees the cluster.\n\n"
        + table(head, fleet)
        + "\n## Under the Cluster Autoscaler's names\n\n`run --cluster-autoscaler-metrics` adds these if they mean the same. "
        "Dashboards and alerts keep working.\n\n" + table(head, (row for row in rows if _UPSTREAM in row[0]))
    )


def _rows(text: bytes) -> list[tuple[str, str, str, str]]:
    return [
        (
            code(family.name + ("_total" if family.type == "counter" else "")),
            family.type,
            ", ".join(_labels(family)),
            family.documentation,
        )
        for family in text_string_to_metric_families(text.decode())
    ]


def _labels(family: object) -> list[str]:
    samples = getattr(family, "samples", [])
    return sorted({name for sample in samples for name in sample.labels} - {"le"})


def _plan() -> Plan:
    """A plan with groups, pods, nodes, prices and problems: that of the example."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "plan.json"
        words = ["plan", "--policy", "policies", "--cluster", "examples/quickstart", "--no-settled", "--out", str(out)]
        subprocess.run([sys.executable, "-m", "reconciler", *words], cwd=_TOP, check=True, capture_output=True)
        plan = read_saved(out.read_bytes())
        assert json.loads(out.read_bytes())["groups"]
        return plan
