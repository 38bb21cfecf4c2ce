"""Where the lines of the policy are that keep waste."""

from collections.abc import Iterable

import msgspec

from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.plan.waste import Waste, Wastes


def placed(table: Wastes, groups: Iterable[EffectiveGroup]) -> Wastes:
    """The table with the places of settings that each group has: where the value in effect comes from."""
    by_name = {group.name: group for group in groups}
    return msgspec.structs.replace(table, rows=tuple(_placed(row, by_name.get(row.group)) for row in table.rows))


def _placed(row: Waste, group: EffectiveGroup | None) -> Waste:
    chain = group.chains.get(row.setting, ()) if group is not None else ()
    return msgspec.structs.replace(row, place=chain[0].source) if chain else row
