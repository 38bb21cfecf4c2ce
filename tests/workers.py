"""Which tests share a real component that there is one of, and so run one after the other in one worker of pytest-xdist.

What the steps of the action install is such a component too, it takes a minute, once; so is the wheel."""

CONTROL_PLANES = ("control-plane-1", "control-plane-2", "control-plane-3")
"""Three workers have one each: one after the other all these tests would take three times as long, and they wait more than they
work."""
_FIRST, _SECOND, _THIRD = CONTROL_PLANES
_GROUPS = {
    # One server of moto, and one day, for all tests of the file.
    "tests/aws/test_contract.py": "moto",
    "tests/aws/test_day.py": "aws-day",
    "tests/benchmarks/live/": _THIRD,
    "tests/browser/": "browser",
    "tests/crusoe/test_live": _FIRST,
    # These add OpenShift's kinds to the server, which tests of rights and of what is served must not meet.
    "tests/deploy/test_openshift.py": _THIRD,
    "tests/openshift/test_live": _THIRD,
    "tests/providers/test_contract.py": _THIRD,
    "tests/rows/test_rows_live_okd.py": _THIRD,
    "tests/deploy/": _SECOND,
    "tests/docs/test_first_hour.py": "first-hour",
    "tests/kube/": _SECOND,
    # On control planes of its own, since it begins with nothing.
    "tests/live/test_flux_controllers.py": "flux",
    # The longest of the folder that need nothing of it, so that the three take about as long.
    "tests/live/test_restart_killed_aws.py": _SECOND,
    "tests/live/test_run_aws.py": _SECOND,
    "tests/live/test_soak.py": _SECOND,
    "tests/live/": _FIRST,
    "tests/providers/": _SECOND,
    "tests/rows/test_rows_live_crusoe.py": _THIRD,
    "tests/rows/test_rows_live_": _SECOND,
    "tests/security/test_admitted_on_api_server.py": _SECOND,
    "tests/security/test_network_attack.py": _THIRD,
    "tests/security/test_own_account": _SECOND,
    "tests/security/test_own_events.py": _SECOND,
    "tests/security/test_published_snapshot.py": _FIRST,
    "tests/schemas/test_crds_on_api_server.py": _SECOND,
    "tests/security/test_pull_request_steps.py": "action",
    "tests/testbed/": _THIRD,
    # With MachineSets, as those of OpenShift above.
    "tests/wheel/test_on_cluster.py": _THIRD,
    "tests/wheel/": "wheel",
}
"""By how a test's path begins; the first that fits."""
GROUPS = frozenset(_GROUPS.values())
"""The names of all groups."""
_BY_PARAMETER = frozenset({"tests/properties/test_convergence.py"})
"""Files whose tests with the same parameter look at one thing that takes longer to make than to look at."""


def group_of(test: str) -> str:
    """The real component that a test belongs to, by its path or id; empty for none."""
    return next((group for start, group in _GROUPS.items() if test.startswith(start)), "")


def unit_of(test: str) -> str:
    """What is run by one worker without a break: the tests of a component, of one parameter, or the test alone."""
    path, _, name = test.partition("::")
    parameter = name.partition("[")[2]
    shared = f"{path}[{parameter}" if parameter and path in _BY_PARAMETER else test
    return group_of(test) or shared
