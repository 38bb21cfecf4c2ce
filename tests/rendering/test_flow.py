"""Where pending pods go, as a flow."""

import re

import msgspec

from reconciler.plan.comparison import compare_plans
from reconciler.plan.plan import Plan, PodLine, PodOutcome
from reconciler.rendering.printers.html.flow import flow_of, flow_section

GROWS, FITS, STAYS = PodOutcome.TRIGGERS_SCALE_UP, PodOutcome.FITS_EXISTING, PodOutcome.UNPLACEABLE


def pods(owner: str, number: int, outcome: PodOutcome, group: str | None = None) -> tuple[PodLine, ...]:
    """Pods of one set, as a controller names them."""
    return tuple(PodLine(pod=f"{owner}-{at}", outcome=outcome, group=group) for at in range(number))


def test_each_pod_is_in_one_band() -> None:
    """Three of web go to a, one of web to b, two of db have room, one of job has none."""
    web = (*pods("shop/web", 3, GROWS, "a"), PodLine(pod="shop/web-7", outcome=GROWS, group="b"))
    flow = flow_of((*web, *pods("shop/db", 2, FITS, "a"), *pods("shop/job", 1, STAYS)))
    assert dict(flow.numbers) == {
        ("shop/web-*", "a"): 3, ("shop/web-*", "b"): 1, ("shop/db-*", "existing nodes"): 2, ("shop/job-*", "stay pending"): 1,
    }  # fmt: skip
    assert flow.sums(0) == {"shop/web-*": 4, "shop/db-*": 2, "shop/job-*": 1}
    assert list(flow.sums(1)) == ["a", "existing nodes", "b", "stay pending"]


def test_many_kinds_and_groups_are_bounded() -> None:
    """Thirty kinds, each for a group of its own, and one that stays: ten and the others on both sides, and all 465 + 40 pods."""
    many = [pod for at in range(1, 31) for pod in pods(f"n{at}/web", at, GROWS, f"g{at}")]
    flow = flow_of((*many, *pods("z/stuck", 40, STAYS)))
    assert (len(flow.sums(0)), list(flow.sums(0))[-1]) == (11, "other pods")
    assert "stay pending" in flow.sums(1)
    assert list(flow.sums(1))[-1] == "other groups"
    assert len(flow.sums(1)) <= 12
    assert sum(flow.numbers.values()) == 505


def test_both_sides_where_they_differ(mixed_plan: Plan) -> None:
    """A pod that loses its group is in another band under this PR. One drawing for equal sides; names are text."""
    first = msgspec.structs.replace(mixed_plan, pods=pods("shop/web", 2, GROWS, "<b>"))
    second = msgspec.structs.replace(mixed_plan, pods=pods("shop/web", 2, STAYS))
    section = flow_section(second, compare_plans(first, second), ("main", "this PR"))
    assert section is not None
    drawn = section.body.markup  # type: ignore[union-attr]
    assert re.findall("<title>(.*?)</title>", drawn) == [
        "shop/web-*: 2 pods, to &lt;b&gt;", "shop/web-*: 2 pods, stay pending",
    ]  # fmt: skip
    assert 'aria-label="main: shop/web-*: 2 to &lt;b&gt;"' in drawn
    assert "<li>shop/web-*: 2 stay pending</li>" in drawn
    same = flow_section(second, compare_plans(second, second), ("main", "this PR"))
    assert same is not None
    assert same.body.markup.count("<svg") == 1  # type: ignore[union-attr]
    assert flow_section(msgspec.structs.replace(mixed_plan, pods=())) is None
