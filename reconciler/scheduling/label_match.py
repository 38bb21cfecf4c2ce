"""Whether labels as shapes hold them are selected."""

from collections.abc import Callable, Iterable

from reconciler.values import label_selector
from reconciler.values.label_selector import LabelSelector

Labels = Callable[[str], str | None]


def selects(selector: LabelSelector | None, labels: Iterable[tuple[str, str]]) -> bool:
    """Does the selector match these labels? None matches nothing, an empty selector everything."""
    # Most selectors of storage are empty: no labels are gathered for them.
    return selector is not None and (not selector.requirements or label_selector.selects(selector, dict(labels)))
