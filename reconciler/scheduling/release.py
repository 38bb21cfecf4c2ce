"""What one release of kube-scheduler does differently from another, as far as a verdict shows it."""

import msgspec

from reconciler.cluster.values.kubernetes_version import KubernetesVersion

# Verdicts are compared with this release; a cluster that does not tell its version is taken for one of these.
TESTED: KubernetesVersion = (1, 36, 3)


# By minor version, the patch release that evaluates negative namespace selectors again (kubernetes #141526, the fix is
# #141563 with its cherry-picks of September 2026). 1.34.0 was the first that did not; older ones never lost it.
_NAMESPACE_SELECTORS_MENDED = {34: 12, 35: 9, 36: 5, 37: 1}


class Release(msgspec.Struct, frozen=True):
    """Which rules are in force.

    `negation_selects_all` concerns a namespace selector of the pod's own affinity terms that matches empty labels (only `NotIn`
    and `DoesNotExist`). It then means every namespace, not only those that it selects. `declared_features`: plugin
    NodeDeclaredFeatures runs (on by default from 1.36). `device_classes`: device classes serve extended resources (gate
    DRAExtendedResource, on by default from 1.36).
    """

    negation_selects_all: bool
    declared_features: bool
    device_classes: bool


def release_of(version: KubernetesVersion | None) -> Release:
    """The rules of a version; of the tested one when it is not known."""
    major, minor, patch = version or TESTED
    mended = _NAMESPACE_SELECTORS_MENDED.get(minor)
    since_36 = (major, minor) >= (1, 36)
    return Release(
        negation_selects_all=major == 1 and mended is not None and patch < mended,
        declared_features=since_36,
        device_classes=since_36,
    )
