"""The replay of recorded demand in the report of a preview."""

import re

import msgspec
import pytest

from reconciler.plan.plan import Plan
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.plan.replay import GroupFigures, Replay, ReplayFigures, ReplaySeries, TargetNodes
from reconciler.rendering.printers.html.preview import preview_html
from reconciler.rendering.printers.html.replay import replay_html
from tests.rendering.printers.html.test_html import HOSTILE, Elements


def figures(policy: str, wait: int, cost: str, target: str = "MachineDeployment capi/general") -> ReplayFigures:
    group = GroupFigures(target=target, node_seconds=7200, peak_nodes=2, grown_nodes=1, removed_nodes=0, cost=cost)
    series = ReplaySeries(
        step_seconds=15, demand_cpu_milli=(1_500,) * 240, demand_memory_bytes=(2 << 30,) * 240,
        capacity_cpu_milli=(2_000,) * 100 + (4_000,) * 140, capacity_memory_bytes=(8 << 30,) * 240,
        pending_pods=(0,) * 98 + (3, 2) + (0,) * 140, nodes=(1,) * 100 + (2,) * 140,
        targets=(TargetNodes(target, (1,) * 100 + (2,) * 140),), evictions=(0,) * 239 + (2,), cost=("0.10",) * 239 + (cost,),
    )  # fmt: skip
    return ReplayFigures(
        policy=policy, source="", pods_placed=4, pods_never_placed=0, wait_p50_seconds=wait, wait_p95_seconds=wait,
        wait_p99_seconds=wait, wait_max_seconds=wait, pods_pending=0, unplaced_pod_seconds=wait * 4, served_ppm=990_000,
        node_seconds=7200, start_nodes=1, peak_nodes=2, cost=cost,
        lost_pod_seconds=0, lost_cost="0", lead_grown_nodes=0, grown_nodes=1, removed_nodes=0, evictions=0,
        machines_failed=0, writes_refused=0, zone_spread_permille=None, decisions=3,
        could_grow=True, held_groups=(), groups_without_template=(), unpriced=(), targets=(group,), series=series,
    )  # fmt: skip


def replay(*sides: ReplayFigures) -> Replay:
    return Replay(
        trace="night", cluster="prod", start="2026-11-21T00:00:00Z", end="2026-11-21T01:00:00Z", seconds=3600,
        unobserved_seconds=0, peak_demand_pods=4, currency="USD", sides=sides,
    )  # fmt: skip


@pytest.fixture
def preview(mixed_plan: Plan) -> Preview:
    return Preview(base=PreviewSide(source="main"), head=PreviewSide(source="topic"), plan=mixed_plan, no_base="none yet.")


def page(preview: Preview, *sides: ReplayFigures) -> Elements:
    return Elements(preview_html(msgspec.structs.replace(preview, replay=replay(*sides))))


def test_figures_of_both_policies(preview: Preview):
    """A section of its own with a column a policy and one of differences, reached from the navigation."""
    found = page(preview, figures("before", 90, "0.384"), figures("after", 30, "0.768"))
    text = " ".join(found.text)
    assert "Replay of recorded demand" in text
    assert "trace night · cluster prod · 1h from 2026-11-21T00:00:00Z · up to 4 pods" in text
    for cell in ("main", "this PR", "change", "90s", "30s", "-60s", "+100.0%", "2.0", "MachineDeployment capi/general"):
        assert any(cell in part for part in found.text), cell
    assert "#replay" in found.values("href")


def test_charts_of_a_page_of_their_own_are_there_too(preview: Preview):
    """The same drawings as `simulate -o html` has: CPU of either policy and cost at once, nodes and memory folded."""
    sides = figures("before", 90, "0.38"), figures("after", 30, "0.77")
    own = Elements(replay_html(replay(*sides)))
    drawings = [
        sorted(str(attributes["d"]) for tag, attributes in found.tags if tag == "path" and "d" in attributes)
        for found in (own, page(preview, *sides))
    ]
    assert len(drawings[0]) > 20
    assert [one for one in drawings[0] if one not in drawings[1]] == []
    assert "Nodes by group and memory over time" in page(preview, *sides).text


def test_one_policy_has_no_differences(preview: Preview):
    """Where there is no base, its column is not there."""
    found = page(preview, figures("after", 30, "0.768"))
    assert "30s" in found.text
    assert "change" not in found.text


def test_nothing_without_a_replay(preview: Preview):
    """The section is only there when it was asked for."""
    assert "#replay" not in Elements(preview_html(preview)).values("href")


def test_names_of_others_are_text(preview: Preview):
    """A policy or a target that looks like markup stays text."""
    found = page(preview, figures(HOSTILE, 1, "1", target=HOSTILE), figures("after", 1, "1"))
    names = [name for name, _ in found.tags]
    assert (names.count("script"), names.count("img")) == (1, 0)


def test_the_first_line_of_the_page_says_what_was_found():
    """What the second policy costs more, its evictions and longest wait, with those of the first. One policy has its own."""
    prod = msgspec.structs.replace(figures("prod", 90, "0.384"), evictions=48)
    spare = msgspec.structs.replace(figures("spare", 0, "0.768"), evictions=1)
    assert "spare: +$0.384, 1 eviction (48), longest wait 0s (90s)" in Elements(replay_html(replay(prod, spare))).text
    assert "prod: $0.384, 48 evictions, longest wait 90s" in Elements(replay_html(replay(prod))).text
    assert "Pods evicted" in Elements(replay_html(replay(prod))).text


def test_a_group_has_one_colour_in_all_charts():
    """The second policy has the groups in another order."""
    sides = []
    for order in (("a", "b"), ("b", "a")):
        side = figures("p", 1, "1")
        nodes = tuple(TargetNodes(f"MachineDeployment capi/{name}", (1,) * 240) for name in order)
        sides.append(
            msgspec.structs.replace(side, source="".join(order), series=msgspec.structs.replace(side.series, targets=nodes))
        )
    text = replay_html(replay(*sides))
    keys = re.findall(
        r'<rect class="([^"]*)"[^>]*></rect><text[^>]*>(\d)</text></svg><span>\d: (MachineDeployment capi/[ab])', text
    )
    assert len(keys) == 4
    assert len(set(keys)) == 2
