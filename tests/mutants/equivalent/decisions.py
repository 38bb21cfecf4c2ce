"""Changes of `reconciler/decisions` that change nothing that anybody could see."""

EQUIVALENT: dict[str, dict[str, str]] = {}
