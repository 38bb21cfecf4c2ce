"""Which platforms there are: one line each, and no other list of them or of their kinds anywhere.

A platform is a folder. Each layer asks it for one part, by the name of the module that holds it, and defines what that part
is made of. A part is looked up when it is first asked for, so that no layer needs what the parts of the layers above import. A
platform that lacks a part does not do what the part is for.

| part | type | says |
|---|---|---|
| `policy_keys.KEYS` | `policy.platform_parts.PolicyKeys` | the keys of target and discovery in policies |
| `autoscaler_flags.FLAGS` | `policy.platform_parts.PlatformFlags` | its targets in the Cluster Autoscaler's settings |
| `manifests.MANIFESTS` | `policy.platform_parts.PlatformManifests` | targets in manifests next to the policies |
| `declared_types.DECLARATIONS` | `policy.platform_parts.PlatformDeclarations` | targets in files of Terraform and other tools |
| `reading.READING` | `cluster.platform_reading.PlatformReading` | its kinds, and the verbs that they need |
| `objects.OBJECTS` | `cluster.platform_reading.PlatformObjects` | facts and machines from the JSON of its objects, evidence |
| `rules.RULES` | `decisions.platform_rules.PlatformRules` | discovery, the first policy |
| `lints.LINTS` | `decisions.lints.finding.PlatformLints` | what `doctor` finds |
| `handover.HANDOVER` | `decisions.platform_rules.PlatformHandover` | a target from another autoscaler to us, and back |
| `live.LIVE` | `providers.live_platforms.LivePlatform` | who writes, what is polled, what doctor looks at |

Outside its own folder, a part imports only what the layer of its type may import. Contracts of import-linter check that.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

PLATFORMS = (
    "reconciler.platforms.clusterapi",
    "reconciler.platforms.aws",
    "reconciler.platforms.openshift",
    "reconciler.platforms.crusoe",
)


def parts(module: str, name: str) -> tuple[Any, ...]:
    """The part `name` in `module` of every platform that has it, in the order of registration."""
    paths = (f"{platform}.{module}" for platform in PLATFORMS)
    return tuple(getattr(import_module(path), name) for path in paths if find_spec(path) is not None)


def part(number: int, module: str, name: str) -> Any:  # noqa: ANN401 - each part has its own type
    """The part `name` in `module` of one platform, by its place in the order of registration."""
    return getattr(import_module(f"{PLATFORMS[number]}.{module}"), name)
