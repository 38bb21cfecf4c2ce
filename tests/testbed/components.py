"""Build the programs that tests need before pytest starts: `python -m tests.testbed.components [NAME…]`.

Without names, all but those that are built on request alone: the tests of those run where they are in the cache.
A program that cannot be had is named here and then fails its own tests; the others still run.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tests.differential import oracle
from tests.testbed.build import built
from tests.testbed.manifests import cluster_api_manifests, flux_manifests, machine_api_manifests
from tests.testbed.programs import PROGRAMS, kwok_stages, program
from tests.testbed.toolchain import NotAvailableError

COMPONENTS: dict[str, Callable[[], Path]] = {
    **{one.program.name: partial(built, one.program) for one in oracle.RELEASES},
    **{name: partial(program, name) for name in PROGRAMS},
    "kwok-stages": kwok_stages,
    "cluster-api-manifests": cluster_api_manifests,
    "machine-api-manifests": machine_api_manifests,
    "flux-manifests": flux_manifests,
}
ON_REQUEST = frozenset(
    {
        "flux-manifests",
        *(one.program.name for one in oracle.RELEASES if one.program.on_request),
        *(name for name, one in PROGRAMS.items() if one.on_request),
    }
)


def main(names: Sequence[str]) -> int:
    """Build the named components, or all that need no request. The exit code is 0 unless a name is unknown."""
    unknown = [name for name in names if name not in COMPONENTS]
    if unknown:
        print(f"error: no component {unknown[0]!r}; there are {', '.join(COMPONENTS)}", file=sys.stderr)
        return 1
    for name in names or (name for name in COMPONENTS if name not in ON_REQUEST):
        try:
            COMPONENTS[name]()
        except NotAvailableError as error:
            print(f"    {name}: not available, its tests will not run: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
