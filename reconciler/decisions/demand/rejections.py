"""How often each plugin says no: why pods of one shape have no place, over many nodes at once."""

from collections import Counter
from collections.abc import Sequence

from reconciler.decisions.draft import Draft

CLOSED = "leaving or not usable"


def rejections(draft: Draft, shape: int, nodes: Sequence[int]) -> tuple[str, ...]:
    """`8 NodeResourcesFit`, by falling number then name. A node that several plugins reject counts for each of them; one that
    takes no pods counts as such, whatever the plugins would say."""
    plugins = draft.state.rejecting_plugins(shape, max(nodes, default=-1) + 1)
    counts = Counter[str]()
    for node in nodes:
        if draft.state.closed(node):
            counts[CLOSED] += 1
        else:
            counts.update(plugins[node])
    return tuple(f"{many} {name}" for name, many in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
