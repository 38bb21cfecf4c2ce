"""Several sentences as one."""

import pytest

from reconciler.rendering.words.one_sentence import one_sentence


@pytest.mark.parametrize(
    ("sentences", "names", "told"),
    [
        (["a stays", "a stays"], (), "a stays"),
        (["n1 runs nothing, since 2026-01-01T00:00:00Z", "n2 runs nothing, since 2026-01-02T00:00:00Z"], ("n1", "n2"),
         "each runs nothing, since 2026-01-01T00:00:00Z..2026-01-02T00:00:00Z"),
        (["n1 is used at 10.2% (threshold 50%), 1 pod fits elsewhere", "n2 is used at 9% (threshold 50%), 12 pods fit elsewhere"],
         ("n1", "n2"), "each is used at 9%..10.2% (threshold 50%), 1..12 pods fit elsewhere"),
        (["needs 20 cpu (3.95 of 4 free)", "needs 20 cpu (7.75 of 7.8 free)"], (), "needs 20 cpu (3.95..7.75 of 4..7.8 free)"),
        (["1 cpu (0 of 4 free) and 8Gi memory (2Gi of 4Gi free)", "1 cpu (0 of 4 free) and 8Gi memory (3Gi of 4Gi free)"],
         (), "1 cpu (0 of 4 free) and 8Gi memory (2Gi..3Gi of 4Gi free)"),
        (["saves $1.20/h", "saves $0.30/h"], (), "saves $0.30/h..1.20/h"),
        (["held by kubectl", "held by argocd"], (), None),
        (["one", "one two"], (), None),
    ],
)  # fmt: skip
def test_one_sentence(sentences: list[str], names: tuple[str, ...], told: str | None):
    """Equal words stand, figures become spans in the order of numbers, anything else that differs is not told as one."""
    assert one_sentence(sentences, names) == told
