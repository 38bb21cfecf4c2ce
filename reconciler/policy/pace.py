"""How fast plans may follow each other, and how large one may be."""

import msgspec


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """Cool-downs, the largest step of one plan, and how many nodes a group may lose in a day without approval (None: all)."""

    delay_after_add_seconds: int = 600
    delay_after_delete_seconds: int = 0
    delay_after_failure_seconds: int = 180
    max_added_nodes: int = 1000
    max_removed_percent: int = 100
    require_approval_above: int | None = None
