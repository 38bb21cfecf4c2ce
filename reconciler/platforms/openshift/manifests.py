"""MachineSets of OpenShift's Machine API in manifests.

SOURCE: its definition gives `spec.replicas` the default 1, and no webhook looks at size annotations: measured on a real API
server, an applier who owns the field alone and drops it sets 1.
"""

from reconciler.policy.platform_parts import PlatformManifests

MANIFESTS = PlatformManifests(
    provider="openshift",
    group="machine.openshift.io",
    sized=("MachineSet",),
    kind_suffix=".machine.openshift.io",
    unset="first let the loop own them (adoptFrom names who applies this): left out by their only owner they become 1",
)
