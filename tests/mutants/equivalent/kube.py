"""Changes of `reconciler/kube` that change nothing that anybody could see."""

EQUIVALENT: dict[str, dict[str, str]] = {}
