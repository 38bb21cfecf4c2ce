"""Build the programs that tests need before pytest starts: `python -m tests.testbed.components [NAME…]`.

A program that cannot be had is named here and then fails its own tests; the others still run.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tests.differential import oracle
from tests.testbed.build import built
from tests.testbed.manifests import cluster_api_manifests, machine_api_manifests
from tests.testbed.programs import PROGRAMS, kwok_stages, program
from tests.testbed.toolchain import NotAvailableError

COMPONENTS: dict[str, Callable[[], Path]] = {
    "oracle": lambda: built(oracle.PROGRAM),
    **{name: partial(program, name) for name in PROGRAMS},
    "kwok-stages": kwok_stages,
    "cluster-api-manifests": cluster_api_manifests,
    "machine-api-manifests": machine_api_manifests,
}


def main(names: Sequence[str]) -> int:
    """Build the named components, or all. The exit code is 0 unless a name is unknown."""
    unknown = [name for name in names if name not in COMPONENTS]
    if unknown:
        print(f"error: no component {unknown[0]!r}; there are {', '.join(COMPONENTS)}", file=sys.stderr)
        return 1
    for name in names or COMPONENTS:
        try:
            COMPONENTS[name]()
        except NotAvailableError as error:
            print(f"    {name}: not available, its tests will not run: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
