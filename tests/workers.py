"""Which tests share a real component that there is one of, and so run one after the other in one worker of pytest-xdist."""

CONTROL_PLANE = "control-plane"
_GROUPS = {
    "tests/benchmarks/live/": CONTROL_PLANE,
    "tests/browser/": "browser",
    "tests/deploy/": CONTROL_PLANE,
    "tests/kube/": CONTROL_PLANE,
    "tests/live/": CONTROL_PLANE,
    "tests/providers/": CONTROL_PLANE,
    "tests/rows/test_rows_live_": CONTROL_PLANE,
    "tests/schemas/test_crds_on_api_server.py": CONTROL_PLANE,
    "tests/testbed/": CONTROL_PLANE,
}


def group_of(test: str) -> str:
    """The real component that a test belongs to, by its path or id; empty for none."""
    return next((group for start, group in _GROUPS.items() if test.startswith(start)), "")
