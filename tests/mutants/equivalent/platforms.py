"""Changes of `reconciler/platforms` that change nothing that anybody could see."""

EQUIVALENT: dict[str, dict[str, str]] = {}
