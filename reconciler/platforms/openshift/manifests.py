"""MachineSets of OpenShift's Machine API in manifests.

SOURCE: its definition gives `spec.replicas` the default 1, and no webhook looks at size annotations. Measured on a real API
server: if the only owner of the field drops it from its apply, it becomes 1.
"""

from reconciler.policy.platform.manifests import PlatformManifests

MANIFESTS = PlatformManifests(
    provider="openshift",
    group="machine.openshift.io",
    sized=("MachineSet",),
    kind_suffix=".machine.openshift.io",
    unset="first let the loop own replicas (adoptFrom names who applies this): if their only owner drops them, they become 1",
)
