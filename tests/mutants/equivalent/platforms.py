"""Changes of `reconciler/platforms` that change nothing that anybody could see."""

EQUIVALENT: dict[str, dict[str, str]] = {
    "reconciler/platforms/clusterapi/writing/resource.py": {
        "2 -> 3": "the rank of a version without a stage: any number above that of beta is the same order",
    },
    "reconciler/platforms/crusoe/facts/ownership.py": {
        "pool.reservation_id or '' -> pool.reservation_id": "reservations are looked up by their ids: none is called None or ''",
    },
}
