"""Where the lines of the policy are that keep waste."""

from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.groups.waste_places import placed
from reconciler.plan.waste import Waste, Wastes
from tests.builders import NOW, ClusterBuilder, node_group, policy


def _waste(group: str, setting: str) -> Waste:
    return Waste(
        code="Why", group=group, object=group, nodes=1, per_month="1.00", alone_per_month="1.00", setting=setting
    )  # fmt: skip


def test_a_setting_of_a_group_has_its_place() -> None:
    """A setting of the whole policy, none at all, and a group that left the policy have none."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    groups = effective_groups(cluster.world(), policy(node_group("general", min=1)), NOW)
    asked = [("general", "size.min"), ("general", "budgets"), ("general", ""), ("gone", "size.min")]
    table = placed(Wastes(rows=tuple(_waste(*one) for one in asked)), groups)
    first, *others = (row.place for row in table.rows)
    assert first == groups[0].chains["size.min"][0].source != ""
    assert others == ["", "", ""]
