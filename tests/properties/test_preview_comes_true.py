"""What a preview says about a merge is what two runs of the loop do, before and after: on random pairs of policies."""

import os
import secrets

from tests.properties.previewed_pairs import Pair, Told, random_pair, run, told

PAIRS = int(os.environ.get("RECONCILER_PREVIEW_PAIRS", "20"))
"""How many pairs are looked at."""


def test_a_preview_comes_true() -> None:
    """Actions now; nodes, evictions and waiting pods at rest."""
    wrong = []
    for _ in range(PAIRS):
        seed = secrets.randbits(32)
        pair = random_pair(seed)
        before, after = told(pair)
        for side, said, policy in (("before", before, pair.before), ("after", after, pair.after)):
            done = run(pair, policy)
            if _seen(pair, said) != _seen(pair, done):
                wrong.append(f"seed {seed}, {side} ({pair.words}):\n  said {said}\n  done {done}")
    assert not wrong, f"{len(wrong)} of {2 * PAIRS} sides differ:\n" + "\n".join(wrong)


def _seen(pair: Pair, side: Told) -> object:
    """Where one group alone only observes, that nothing is done to it. What the loop then counts on that group for, while the
    preview looks for room elsewhere, is another question."""
    if not pair.observing:
        return side
    actions = [action for action in side.actions if action.split(" ", 3)[1:3] in [one.split(" ") for one in pair.observing]]
    return actions, {target: side.sizes[target] for target in pair.observing}
